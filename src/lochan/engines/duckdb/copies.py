"""Copies objects of other stores into a folder on this machine.

Each is checked against its SHA-256 while it is copied, and again if the copy has changed since. A damaged copy is made
again. Copies are kept as long as the folder has room. A query has its own links to the files it reads, so that no other
process can remove them.
"""

# ruff: noqa: PTH104, PTH108, PTH116
from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from itertools import count

from lochan.engines.duckdb.files import ObjectCheck, PlacedObject, damaged_error
from lochan.errors import Corrupt, LochanError, NotFound
from lochan.pools.snapshot import DataObject
from lochan.store.checked_reads import ReadDoubt
from lochan.store.disk import FILE_MODE, make_private_folder
from lochan.store.protocol import Store
from lochan.store.threads import Threads
from lochan.store.verified_files import YOUNG_NS, Stamp, VerifiedFiles

_AT_ONCE = 8
_numbers = count()


class CopiedFiles:
    folders: list[str] = []  # noqa: RUF012  each query has its own links

    def __init__(self, store: Store, folder: str | None, bytes_max: int, verified: VerifiedFiles) -> None:
        self._store = store
        self._folder = folder
        self._bytes_max = bytes_max
        self._threads = Threads()
        self._verified = verified
        self._check = _CopyCheck(verified)

    async def place(self, objects: Sequence[DataObject], work: str, *, recheck: bool = False) -> list[str]:
        gate = asyncio.Semaphore(_AT_ONCE)

        async def placed(each: DataObject) -> str:
            async with gate:
                return await self._place_object(each, work, recheck)

        try:
            paths = list(await asyncio.gather(*map(placed, objects)))
        finally:
            self._verified.save()
        if self._folder is not None:
            await self._threads.run(_evict, self._folder, self._bytes_max)
        return paths

    def failure(self, placed: Sequence[PlacedObject]) -> LochanError | None:
        return self._check.failure(placed)

    async def _place_object(self, each: DataObject, work: str, recheck: bool) -> str:
        own = f"{work}/{each.id}.parquet"
        if self._folder is None:
            return own if await self._copy(each, own) else ""
        name = hashlib.sha256(f"{self._store.url}\0{each.address}".encode()).hexdigest()
        kept = f"{self._folder}/{name[:2]}/{name[:40]}.parquet"
        if not await self._link_copy(each, kept, own, recheck):
            make_private_folder(kept.rpartition("/")[0])
            if not await self._copy(each, kept):
                return ""
            if not _link_copy(kept, own, self._verified.clock.wall()):
                return own if await self._copy(each, own) else ""
        return own

    async def _link_copy(self, each: DataObject, kept: str, own: str, recheck: bool) -> bool:
        """Links a valid copy under `own`. Returns False if there is none; removes a damaged one."""
        if not _link_copy(kept, own, self._verified.clock.wall()):
            return False
        try:
            if await self._check.check([PlacedObject(each, own)], recheck=recheck) == [own]:
                return True
        except Corrupt:
            pass
        for path in (own, kept):
            with suppress(OSError):
                os.unlink(path)
        return False

    async def _copy(self, each: DataObject, to: str) -> bool:
        """Copies an object. Returns False if it is gone."""
        part = f"{to}.{os.getpid()}-{next(_numbers)}"
        try:
            doubt = ReadDoubt()
            while (digest := await self._write_part(self._store.get_stream(each.address), part)) != each.sha256:
                if not doubt.again(digest):
                    raise damaged_error(each, "its SHA-256 is not the one it was written with")
                os.unlink(part)
            os.rename(part, to)
        except NotFound:
            return False
        finally:
            with suppress(OSError):
                os.unlink(part)
        return True

    async def _write_part(self, chunks: AsyncIterator[bytes], part: str) -> bytes:
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


class _CopyCheck(ObjectCheck):
    """Checks copies. Queries link to them, which changes the ctime, so the stamp does not include it. If a program
    writes to a copy and sets its mtime back, that is not detected; only the owner may write to the cache folder."""

    def _name(self, placed: PlacedObject) -> str:
        return f"{placed.object.address}\0copy"

    def _stamp(self, stat: os.stat_result) -> Stamp | None:
        if abs(self._verified.clock.wall() * 1_000 - stat.st_mtime_ns) < YOUNG_NS:
            return None
        return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def _link_copy(kept: str, own: str, now_us: int) -> bool:
    """Links a copy under `own`. Returns False if there is none. Its atime is the time of its last use."""
    try:
        with suppress(FileExistsError):
            _link_or_copy(kept, own)
        stat = os.stat(kept)
        os.utime(kept, ns=(now_us * 1_000, stat.st_mtime_ns))
    except OSError:
        return False
    return True


def _link_or_copy(kept: str, own: str) -> None:
    """Links a file, or copies it if the query's folder is on another disk than the cache, such as a /tmp in memory."""
    try:
        os.link(kept, own)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copyfile(kept, own)


def _evict(folder: str, bytes_max: int) -> None:
    """Removes the least recently used copies until the rest has room."""
    found = []
    with suppress(OSError), os.scandir(folder) as folders:
        for each in folders:
            with suppress(OSError), os.scandir(each.path) as files:
                found += [(file.stat().st_atime, file.stat().st_size, file.path) for file in files]
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= bytes_max:
            return
        with suppress(OSError):
            os.unlink(path)
        total -= size
