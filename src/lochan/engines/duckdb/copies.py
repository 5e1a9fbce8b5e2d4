"""Objects of other stores, copied once into a folder on this machine.

Each is checked against its SHA-256 and kept as long as the folder has room. A query holds its own links to what it
reads, so that nobody can take a file away from under it.
"""

# ruff: noqa: PTH104, PTH108, PTH116
from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from itertools import count

from lochan.errors import Corrupt, NotFound
from lochan.query.sources.snapshot import DataObject
from lochan.store.private import FILE_MODE, make_private_folder
from lochan.store.protocol import Store
from lochan.store.threads import Threads

_AT_ONCE = 8
_numbers = count()


class CopiedFiles:
    folders: list[str] = []  # noqa: RUF012  each query has its own links

    def __init__(self, store: Store, folder: str | None, bytes_max: int) -> None:
        self._store = store
        self._folder = folder
        self._bytes_max = bytes_max
        self._threads = Threads()

    async def place(self, objects: Sequence[DataObject], work: str) -> list[str]:
        gate = asyncio.Semaphore(_AT_ONCE)

        async def placed(each: DataObject) -> str:
            async with gate:
                return await self._placed(each, work)

        paths = list(await asyncio.gather(*map(placed, objects)))
        if self._folder is not None:
            await self._threads.run(_evict, self._folder, self._bytes_max)
        return paths

    async def _placed(self, each: DataObject, work: str) -> str:
        own = f"{work}/{each.id}.parquet"
        if self._folder is None:
            return own if await self._copy(each, own) else ""
        name = hashlib.sha256(f"{self._store.url}\0{each.address}".encode()).hexdigest()
        kept = f"{self._folder}/{name[:2]}/{name[:40]}.parquet"
        if not _linked(kept, own, each.size):
            make_private_folder(kept.rpartition("/")[0])
            if not await self._copy(each, kept):
                return ""
            if not _linked(kept, own, each.size):
                return own if await self._copy(each, own) else ""
        return own

    async def _copy(self, each: DataObject, to: str) -> bool:
        """False: it is gone."""
        part = f"{to}.{os.getpid()}-{next(_numbers)}"
        try:
            digest = await self._written(self._store.get_stream(each.address), part)
            if digest != each.sha256:
                raise Corrupt(f"{each} is damaged: its SHA-256 is not the one it was written with")
            os.rename(part, to)
        except NotFound:
            return False
        finally:
            with suppress(OSError):
                os.unlink(part)
        return True

    async def _written(self, chunks: AsyncIterator[bytes], part: str) -> bytes:
        digest = hashlib.sha256()
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)

        def take(chunk: bytes) -> None:
            digest.update(chunk)
            left = memoryview(chunk)
            while left:
                left = left[os.write(file, left) :]

        try:
            async for chunk in chunks:
                await self._threads.run(take, chunk)
        finally:
            os.close(file)
        return digest.digest()


def _linked(kept: str, own: str, size: int) -> bool:
    """Whether there is a whole copy, now held under a name of our own."""
    try:
        os.link(kept, own)
    except FileExistsError:
        pass
    except OSError:
        return False
    with suppress(OSError):
        if os.stat(own).st_size == size:
            os.utime(kept)
            return True
        os.unlink(own)
        os.unlink(kept)
    return False


def _evict(folder: str, bytes_max: int) -> None:
    """Those that were longest unused go until the rest has room."""
    found = []
    with suppress(OSError), os.scandir(folder) as folders:
        for each in folders:
            with suppress(OSError), os.scandir(each.path) as files:
                found += [(file.stat().st_mtime, file.stat().st_size, file.path) for file in files]
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= bytes_max:
            return
        with suppress(OSError):
            os.unlink(path)
        total -= size
