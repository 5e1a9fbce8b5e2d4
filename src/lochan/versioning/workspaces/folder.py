"""The folder of a workspace: plain files on the store, which anybody with the store's credentials can write.

    <repository>/workspaces/<id>/<logical path>      a file
    <repository>/workspaces/_committed/<id>          the lock: the commit that the workspace became

None of this uses the journal. A view can read the folder as a base, from its listing alone. Files that the workspace's
events have hidden are not shown, and never deleted. For a commit the files become entries: each is read once, and the
bytes stay where they are."""

import hashlib
import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from lochan.concurrency import map_concurrently
from lochan.errors import ConcurrentCommit, Invalid, NotFound, Transient
from lochan.formats.entry import STORE_ETAG, Block, Entry
from lochan.formats.entry_table import as_batch
from lochan.store.disk import translate_errors
from lochan.store.protocol import Stat, Store, check_path
from lochan.store.stat_tables import table_of_stats
from lochan.store.threads import Threads
from lochan.versioning.bodies.digests import Feed, Hashing
from lochan.versioning.bodies.outside_files import entries_table, entry_of, markers, plain_etag
from lochan.versioning.names import check_key
from lochan.versioning.state.workspaces import NO_FILES, HiddenFiles, file_stamp

if TYPE_CHECKING:
    from lochan.versioning.open_repository import OpenRepository  # it has the folders of its workspaces

FOLDER = "workspaces"
LOCKS = "_committed"
_BATCH = 1_000  # files listed together: one page of a store's listing
_HEADS_AT_ONCE = 32
_LAST = "\U0010ffff"  # no character is greater
_WIDTH = 8
_MD5 = re.compile("[0-9a-f]{32}")


class WorkspaceFolder:
    def __init__(self, store: Store, repository: str, workspace: str, hidden: HiddenFiles = NO_FILES) -> None:
        self._store = store
        self._hidden = hidden
        self.root = f"{repository}/{FOLDER}/{workspace}/"
        self.lock = f"{repository}/{FOLDER}/{LOCKS}/{workspace}"
        self.is_local = store.url.startswith("file://")

    def address(self, path: str) -> str:
        """Returns the address of the file for a path, which is kept byte for byte. Raises Invalid if no file can have
        that name."""
        check_key(path)
        try:
            check_path(self.root + path)
        except Invalid as error:
            raise Invalid(
                f"{path!r} cannot be a file of a workspace: {error.message}",
                hint="use no control characters and no empty, `.` or `..` segments; write other paths to the branch",
            ) from None
        return self.root + path

    def place(self, path: str = "") -> str:
        """Returns the place for other programs to write to: a file or folder on this machine, or a URL. A slash at the
        end stays."""
        if path.removesuffix("/"):
            self.address(path.removesuffix("/"))
        url = f"{self._store.url}/{self.root}"
        return unquote(url.removeprefix("file://")) + path if self.is_local else url + path

    # --- as a base ---------------------------------------------------------------------------------------------------
    async def get(self, path: str) -> Entry | None:
        """Returns the entry of a visible file, or None; also None for a path that no file can have."""
        stat = await self._find(path)
        if stat is None or (self._hidden.get(path) is not None and not await self._stamp(path, stat)):
            return None
        return entry_of(path, "", stat)

    async def stamps(self, paths: Sequence[str]) -> dict[str, str]:
        """Returns the paths with a visible file, and the file's stamp."""

        async def stamp(path: str) -> str:
            stat = await self._find(path)
            return "" if stat is None else await self._stamp(path, stat)

        found = await map_concurrently(stamp, paths, _HEADS_AT_ONCE)
        return {path: stamp for path, stamp in zip(paths, found, strict=True) if stamp}

    async def _find(self, path: str) -> Stat | None:
        try:
            return await self._store.head(self.address(path))
        except (Invalid, NotFound):
            return None

    async def _stamp(self, path: str, stat: Stat) -> str:
        """Returns the stamp of a file, or an empty text if it is hidden. A bucket's listing shows the time of a file
        more precisely than the answer to a HEAD, so in a bucket stamps always come from listings."""
        if not self.is_local:
            address = self.address(path)
            async for listed in self._store.list(address):
                if listed.path != address:
                    break
                stamp = file_stamp(listed)
                return "" if self._hidden.hides(path, stamp) else stamp
            return ""  # it was deleted meanwhile
        stamp = file_stamp(stat)
        return "" if self._hidden.hides(path, stamp) else stamp

    async def scan(self, prefix: str = "", after: str = "") -> AsyncIterator[pa.RecordBatch]:
        """Yields entries after `after`, one request of the listing at a time. Raises Invalid for a name that cannot be
        stored."""
        async for stats in self.stats(prefix, after):
            yield as_batch(entries_table(table_of_stats(stats), "", self.root, ""))

    async def stats(self, prefix: str = "", after: str = "") -> AsyncIterator[list[Stat]]:
        """Yields non-empty lists of files in path order. Their paths are those on the store."""
        batch: list[Stat] = []
        least = self.root + after
        async for stat in self._store.list(self.root + prefix, self.root + _shorten(after)):
            if stat.path > least:
                batch.append(stat)
            if len(batch) == _BATCH:
                found, batch = await self._files(batch), []
                if found:
                    yield found
        if batch := await self._files(batch):
            yield batch

    async def _files(self, batch: list[Stat]) -> list[Stat]:
        """Returns the files without hidden ones, and without the empty objects with which other programs mark
        folders."""
        if len(self._hidden):
            at = len(self.root)
            batch = [stat for stat in batch if not self._hidden.hides(stat.path[at:], file_stamp(stat))]
        empty = [stat.path for stat in batch if stat.size == 0]
        if self.is_local or not empty:
            return batch
        found = await markers(self._store, empty)
        return [stat for stat in batch if stat.path not in found]


def _shorten(after: str) -> str:
    """Shortens the start of a listing. To skip a folder, callers append the last character very often: too often for
    the name of a file."""
    return after.rstrip(_LAST) + _LAST if after.endswith(_LAST) else after


class FileVanished(ConcurrentCommit):
    """A listed file is gone or has changed. The folder must be listed again."""


class WorkspaceFiles:
    def __init__(self, repository: "OpenRepository", folder: WorkspaceFolder) -> None:
        self._store = repository.store
        self._folder = folder
        self._hashing = Hashing()
        self._threads = Threads()
        self._disk: _Disk | None = None
        self._known: dict[tuple[str, str, int], Entry] = {}

    async def entries(self, stats: Sequence[Stat]) -> list[Entry]:
        """Returns the entries in the same order. Raises FileVanished."""
        # Up to the folder of all workspaces: the lake itself has made the folders above it durable.
        self._disk = _Disk(os.path.dirname(self._folder.place().rstrip("/"))) if self._folder.is_local else None  # noqa: PTH120
        return await map_concurrently(self._entry, stats, _WIDTH)

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
            found = await self._read_agreed(stat, path)
        except NotFound as error:
            raise FileVanished(f"{path!r} is gone since the workspace was listed") from error
        return Entry(
            path=path,
            blocks=(Block(stat.path, 0, stat.size, found.sha256),),
            size=stat.size,
            checksum=found.md5,
            etag=found.md5,
            mtime=int(stat.modified * 1e6),
            checksums={STORE_ETAG: plain_etag(stat.etag)},
        )

    async def _read_agreed(self, stat: Stat, path: str) -> "_Digests":
        """Reads a file, and again if it does not fit its ETag. A file that was damaged on the network would be
        committed with the digest of the damaged bytes, and be unreadable for ever. An ETag that looks like an MD5 may
        also be another digest, or the bucket encrypts; then all reads agree."""
        found = await self._digests(stat, path)
        etag = plain_etag(stat.etag)
        if not _MD5.fullmatch(etag) or found.md5 == etag:
            return found
        again = await self._digests(stat, path)
        if again.md5 == etag or again == found:
            return again
        raise Transient(f"{path!r} is read differently each time", hint="try again")

    async def _digests(self, stat: Stat, path: str) -> "_Digests":
        md5, sha256, size = hashlib.md5(usedforsecurity=False), hashlib.sha256(), 0
        feed = Feed(self._hashing, [md5, sha256])
        async with aclosing(self._store.get_stream(stat.path)) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                await feed.add(piece)
                size += len(piece)
        await feed.done()
        if size != stat.size:
            raise FileVanished(f"{path!r} has changed since the workspace was listed")
        return _Digests(md5.hexdigest(), sha256.digest())


class _Digests(NamedTuple):
    md5: str
    sha256: bytes


class _Disk:
    """Makes files durable. The program that wrote a file may not have synced it, but a commit may only name files that
    survive a power cut. A folder is synced once, after all the names that matter are in it."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._synced: set[str] = set()

    def make_durable(self, file: str) -> None:
        with translate_errors(file):
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
