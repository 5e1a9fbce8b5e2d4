"""The files of a workspace made into entries: each is read once, for its SHA-256 and MD5, several at a time.

The bytes stay where they are. What is read is remembered by the ETag, so that a second try reads only what has changed.
"""

import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import aclosing
from typing import NamedTuple

from lochan.errors import ConcurrentCommit, NotFound, Transient
from lochan.formats.entry import STORE_ETAG, Block, Entry
from lochan.store.os_errors import translated
from lochan.store.protocol import Stat
from lochan.store.threads import Threads
from lochan.versioning.bodies.hashing import Feed, Hashing
from lochan.versioning.bodies.listed import plain_etag
from lochan.versioning.bodies.paths import check_key
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.workspaces.folder import Folder
from lochan.versioning.workspaces.several import several

_WIDTH = 8
_MD5 = re.compile("[0-9a-f]{32}")


class Vanished(ConcurrentCommit):
    """A file that was listed is not there any more, or is another; the folder is to be listed again."""


class Files:
    def __init__(self, repository: OpenRepository, folder: Folder) -> None:
        self._store = repository.store
        self._folder = folder
        self._hashing = Hashing()
        self._threads = Threads()
        self._disk: _Disk | None = None
        self._known: dict[tuple[str, str, int], Entry] = {}

    async def entries(self, stats: Sequence[Stat]) -> list[Entry]:
        """In the same order. Raises Vanished."""
        # From the folder of all workspaces on: above it lies what the lake itself has made durable.
        self._disk = _Disk(os.path.dirname(self._folder.place().rstrip("/"))) if self._folder.is_local else None  # noqa: PTH120
        return await several(self._entry, stats, _WIDTH)

    async def _entry(self, stat: Stat) -> Entry:
        key = (stat.path, stat.etag, stat.size)
        if key not in self._known:
            self._known[key] = await self._read(stat)
        return self._known[key]

    async def _read(self, stat: Stat) -> Entry:
        path = stat.path[len(self._folder.root) :]
        check_key(path)
        try:
            if self._disk is not None:
                await self._threads.run(self._disk.make_durable, self._folder.place(path))
            found = await self._agreed(stat, path)
        except NotFound as error:
            raise Vanished(f"{path!r} is gone since the workspace was listed") from error
        return Entry(
            path=path,
            blocks=(Block(stat.path, 0, stat.size, found.sha256),),
            size=stat.size,
            checksum=found.md5,
            etag=found.md5,
            mtime=int(stat.modified * 1e6),
            checksums={STORE_ETAG: plain_etag(stat.etag)},
        )

    async def _agreed(self, stat: Stat, path: str) -> "_Digests":
        """What came damaged over the network would be committed with the digest of the damage, and be unreadable for
        ever. An ETag that looks like an MD5 and is another one says that it may be so; or that the bucket encrypts, and
        then all reads agree with each other."""
        found = await self._digests(stat, path)
        etag = plain_etag(stat.etag)
        if not _MD5.fullmatch(etag) or found.md5 == etag:
            return found
        again = await self._digests(stat, path)
        if again.md5 == etag or again == found:
            return again
        raise Transient(f"{path!r} is not read the same twice", hint="try again")

    async def _digests(self, stat: Stat, path: str) -> "_Digests":
        md5, sha256, size = hashlib.md5(usedforsecurity=False), hashlib.sha256(), 0
        feed = Feed(self._hashing, [md5, sha256])
        async with aclosing(self._store.get_stream(stat.path)) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                await feed.add(piece)
                size += len(piece)
        await feed.done()
        if size != stat.size:
            raise Vanished(f"{path!r} has changed since the workspace was listed")
        return _Digests(md5.hexdigest(), sha256.digest())


class _Digests(NamedTuple):
    md5: str
    sha256: bytes


class _Disk:
    """Whoever wrote a file need not have synced it; a commit may only name what a power cut will not take. A folder is
    synced once, when all the names that count were in it already."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._synced: set[str] = set()

    def make_durable(self, file: str) -> None:
        with translated(file):
            try:
                _sync(file)
                folder = os.path.dirname(file)  # noqa: PTH120
                while folder not in self._synced and len(folder) >= len(self._root):
                    _sync(folder)
                    self._synced.add(folder)
                    folder = os.path.dirname(folder)  # noqa: PTH120
            except FileNotFoundError:
                raise NotFound(f"{file} is gone") from None


def _sync(name: str) -> None:
    descriptor = os.open(name, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
