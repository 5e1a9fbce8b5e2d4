"""Objects as files in a local folder: the store behind `file://`. Every write is synced, file and folder, before it
returns. obstore's own local store never syncs, so Lochan has its own.

    <root>/<path>     the object
    <root>/.tmp/      files being written; the only place where a half-written one can be

A small read is done at once and never suspends. Syncs and large transfers run in threads."""

# ruff: noqa: PTH100, PTH108, PTH112, PTH116
# Paths are bytes here: a key is UTF-8, whatever the locale says.
import errno
import os
import stat as modes
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

from lochan.clock import Clock, SystemClock
from lochan.errors import AlreadyExists, NotFound, Transient, Unknown
from lochan.failpoints import fp
from lochan.store import local_files
from lochan.store.disk import close_to_others, translate, translate_errors
from lochan.store.folders import Folders, list_objects, next_batch, to_stat
from lochan.store.local_files import LocalFile, TemporaryFile
from lochan.store.protocol import Stat, check_path, check_span
from lochan.store.threads import INLINE_BYTES_MAX, Threads
from lochan.store.verified_files import identity_of, stamp_of

if TYPE_CHECKING:
    from lochan.store.scribe import Scribe  # only a server has a scribe
    from lochan.store.spare_files import SpareFiles  # only a scribe has these

PUT: Final = 0  # the verbs of a request to a scribe
PUT_IF_ABSENT: Final = 1
DELETE_FOR_REUSE: Final = 2
SCRIBE_BYTES_MAX: Final = 128 << 10  # longer data is not worth the copies, and a socket may not take it
NAME_END: Final = b"\0"  # no path has one
_DELETED_AT_ONCE = 256
_CHUNK = 4 << 20
_GATHERED_BYTES = 2 << 20  # bytes of a stream that one call in a thread writes
_DAY_S = 86_400.0
_ROOT_S = 0.05  # how long a poll for news may miss that the folder has vanished
_IN_THE_WAY = (errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)  # no file can ever have that name here
_ATTEMPTS = 16  # others may remove an empty folder after we have created it and before we write to it

T = TypeVar("T")


class LocalStore:
    """Raises NotFound if the folder is missing. With `create`, creates it and removes old temporary files."""

    def __init__(self, root: str, *, create: bool = False, clock: Clock | None = None) -> None:
        self._root = os.path.abspath(os.fsencode(root))
        self._url = "file://" + os.fsdecode(self._root).replace("%", "%25")
        self._folders = Folders(self._root, create=create)
        self._threads = Threads()
        self._scribe: Scribe | None = None
        self._spares: SpareFiles | None = None
        self._clock = clock or SystemClock()
        self._root_seen = float("-inf")  # when `absence` last checked it
        if create:
            self.sweep_temp(_DAY_S, self._clock)

    @property
    def url(self) -> str:
        return self._url

    async def get(self, path: str) -> bytes:
        file = self._open(path)
        return await self._read(file, 0, file.size)

    async def get_range(self, path: str, start: int, stop: int) -> bytes:
        file = self._open(path)
        check_span(path, start, stop, file.size)
        return await self._read(file, start, stop)

    def get_range_now(self, path: str, start: int, stop: int) -> bytes:
        """Reads like `get_range`, for a span that is so small that reading it blocks no other work."""
        name = self._name(path)
        self._folders.check_readable(name)
        try:
            fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
            try:
                data = os.pread(fd, stop - start, start) if 0 <= start <= stop else b""
            finally:
                os.close(fd)
        except OSError as error:
            raise self._unreadable(error, path) from error
        if len(data) == stop - start:
            return data
        file = self._open(path)  # `_open` raises the precise error
        check_span(path, start, stop, file.size)
        return file.read(start, stop)

    def stamp(self, path: str) -> tuple[int, ...] | None:
        """Returns a value that changes when the file is written to or replaced. Returns None if there is no file, or if
        it is so new that a write now could leave the same stamp."""
        try:
            stat = os.stat(self._name(path))
        except OSError:
            return None
        return stamp_of(stat, self._clock.wall())

    def identity(self, path: str) -> tuple[int, ...] | None:
        """Returns a value like `stamp`, but also for a new file."""
        try:
            return identity_of(os.stat(self._name(path)))
        except OSError:
            return None

    async def get_stream(self, path: str) -> AsyncIterator[bytes]:
        file = self._open(path)
        for start in range(0, file.size, _CHUNK):
            yield await self._read(file, start, min(start + _CHUNK, file.size))

    async def head(self, path: str) -> Stat:
        name = self._name(path)
        self._folders.check_readable(name)
        try:
            stat = os.stat(name)
        except OSError as error:
            raise self._unreadable(error, path) from error
        if not modes.S_ISREG(stat.st_mode):
            raise NotFound(f"{path} is not in {self.url}")
        return to_stat(path, stat)

    def absence(self, *paths: str) -> Callable[[], bool]:
        """Returns a function to call often: it returns True if none of them exists, looked up in order. It is much
        cheaper than a `get` of each. False proves nothing."""
        names = [self._name(path) for path in paths]

        def are_absent() -> bool:
            try:
                for name in names:
                    self._folders.check_readable(name)
                    try:
                        os.stat(name)
                        return False
                    except FileNotFoundError:
                        continue
            except OSError:
                return False
            now = self._clock.boot()
            if not self._root_seen <= now < self._root_seen + _ROOT_S:
                self._folders.check_root()
                self._root_seen = now
            return True

        return are_absent

    async def put(self, path: str, data: bytes) -> None:
        if not await self._beside(PUT, path, data):
            await self._threads.run(self.put_now, path, data)

    async def put_if_absent(self, path: str, data: bytes) -> None:
        if not await self._beside(PUT_IF_ABSENT, path, data):
            await self._threads.run(self.put_if_absent_now, path, data)

    async def put_stream(self, path: str, chunks: AsyncIterable[bytes]) -> int:
        name = self._writable(path)

        def finish(file: TemporaryFile, *rest: bytes) -> None:
            self._append(path, file, *rest)
            self._replace(path, name, file)

        _, size = await self._stream(path, chunks, finish)
        return size

    async def put_stream_if_absent(self, path: str, otherwise: str, chunks: AsyncIterable[bytes]) -> tuple[str, int]:
        """Writes to `path`, if nothing is there and no file or folder is in the way; else to `otherwise`, a name that
        is used for nothing else. Returns which of the two, and the size. The stream is read once, so nothing has to be
        sent again."""
        name, other = self._writable(path), self._writable(otherwise)

        def finish(file: TemporaryFile, *rest: bytes) -> str:
            self._append(path, file, *rest)
            with translate_errors(self._where(path)):
                file.seal()
                fp("local.after_temp_sync")
                try:
                    if self._publish(name, file.link):
                        return path
                except OSError as error:
                    if error.errno not in _IN_THE_WAY:
                        raise
                self._publish(other, file.rename)
            return otherwise

        return await self._stream(path, chunks, finish)

    async def _stream(self, path: str, chunks: AsyncIterable[bytes], finish: Callable[..., T]) -> tuple[T, int]:
        """Writes a temporary file, to which `finish` gives its name."""
        size = gathered_bytes = 0
        gathered: list[bytes] = []
        with self._temp(path) as file:
            async for chunk in chunks:
                gathered.append(chunk)
                gathered_bytes += len(chunk)
                if gathered_bytes >= _GATHERED_BYTES:
                    await self._threads.run(self._append, path, file, *gathered)
                    size, gathered_bytes, gathered = size + gathered_bytes, 0, []
            return await self._threads.run(finish, file, *gathered), size + gathered_bytes

    async def delete(self, path: str) -> None:
        await self._threads.run(self._delete, path)

    async def delete_for_reuse(self, paths: Sequence[str]) -> None:
        """Deletes files, without an error for missing ones. A scribe may write other files over them a second later."""
        for at in range(0, len(paths), _DELETED_AT_ONCE):
            part = paths[at : at + _DELETED_AT_ONCE]
            if not await self._beside(DELETE_FOR_REUSE, part[0], NAME_END.join(path.encode() for path in part)):
                await self._threads.run(self.delete_for_reuse_now, part)

    async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        self._folders.check_root()
        objects = list_objects(self._root, _text(prefix), _text(after))
        while batch := await self._threads.run(next_batch, objects):
            for stat in batch:
                yield stat

    def write_beside(self) -> Callable[[], None]:
        """Starts a separate process that writes small files for the running event loop. Returns a function that ends
        it."""
        from lochan.store.scribe import Scribe, keep_scribe

        def use(scribe: Scribe) -> None:
            self._scribe = scribe

        return keep_scribe(self._root, use) if Scribe.suits() else lambda: None

    def keep_private(self) -> None:
        """Keeps other users of the machine out of the lake's folder."""
        close_to_others(self._root)

    @property
    def broken(self) -> str:
        """The reason why nothing can be written any more, empty if writing works."""
        return self._folders.failure

    def sweep_temp(self, older_than: float, clock: Clock) -> int:
        """Removes files that killed processes left in `.tmp` and that were not written for `older_than` seconds.
        Returns how many."""
        with translate_errors(self.url):
            return local_files.sweep(self._root, clock.wall() / 1e6 - older_than)

    def temporary_files(self) -> Sequence[Stat]:
        with translate_errors(self.url):
            return local_files.leftover_files(self._root)

    async def _beside(self, verb: int, path: str, data: bytes) -> bool:
        """Lets the scribe write a file. Returns True if it is done, and False if it may or may not be done."""
        if self._scribe is None or len(data) > SCRIBE_BYTES_MAX:
            return False
        name = self._writable(path)
        done = await self._scribe.wrote(verb, path.encode(), data)
        if isinstance(done, bool):
            return done
        error = done.error()
        if done.broken:  # if the scribe cannot write any more, neither can this process
            self._folders.fail(done.broken, name if isinstance(error, Unknown) else None)
        raise error

    def put_if_absent_now(self, path: str, data: bytes) -> None:
        """Writes like `put_if_absent`, in the caller's thread."""
        name = self._writable(path)
        with self._temp(path) as file, translate_errors(self._where(path)):
            file.write(data)
            fp("local.temp_written")
            file.seal()
            fp("local.after_temp_sync")
            if not self._publish(name, file.link):
                if os.path.isdir(name):
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
                raise AlreadyExists(f"{path} is already in {self.url}")

    def put_now(self, path: str, data: bytes) -> None:
        """Writes like `put`, in the caller's thread."""
        name = self._writable(path)
        with self._temp(path) as file:
            self._append(path, file, data)
            self._replace(path, name, file)

    def delete_for_reuse_now(self, paths: Sequence[str]) -> None:
        """Deletes like `delete_for_reuse`, in the caller's thread."""
        spares: dict[bytes, bytes] = {}  # the spare files, by their old names
        for path in paths:
            if self._spares is None:
                self._delete(path)
                continue
            name = self._writable(path)
            with translate_errors(self._where(path)), suppress(FileNotFoundError, NotADirectoryError):
                spares[name] = self._spares.give(name)
        if self._spares is not None and spares:
            with translate_errors(self.url):
                self._folders.sync_above(spares)
            self._spares.add(spares.values())

    def reuse_files(self) -> Callable[[], None]:
        """Starts to write small files over those of `delete_for_reuse`. Returns a function that removes those that are
        left."""
        from lochan.store.spare_files import SpareFiles

        self._spares = SpareFiles(self._root, self._clock)
        return self._spares.drop

    def _append(self, path: str, file: TemporaryFile, *pieces: bytes) -> None:
        with translate_errors(self._where(path)):
            for data in pieces:
                file.write(data)

    def _replace(self, path: str, name: bytes, file: TemporaryFile) -> None:
        with translate_errors(self._where(path)):
            file.seal()
            fp("local.after_temp_sync")
            self._publish(name, file.rename)

    def _publish(self, name: bytes, move: Callable[[bytes], None]) -> bool:
        """Gives the file its final name, durably. Returns False if the name was taken. The folder is synced then too,
        because the other writer may not have synced it yet, and our caller relies on it."""
        for _ in range(_ATTEMPTS):
            try:
                with self._folders.opened(name) as folder:
                    try:
                        move(name)
                        moved = True
                    except FileExistsError:
                        moved = False
                    fp("local.after_link")
                    self._folders.sync(folder, name)
                    fp("local.after_folder_sync")
                    return moved
            except FileNotFoundError:
                self._folders.make(name)
                fp("local.folder_made")
        raise Transient(f"{os.fsdecode(name)}: its folder disappears as often as it is made")

    def _delete(self, path: str) -> None:
        name = self._writable(path)
        try:
            os.unlink(name)
        except (FileNotFoundError, NotADirectoryError):
            self._folders.check_root()
        except OSError as error:
            if not os.path.isdir(name):  # a folder is not an object, so the object is absent
                raise translate(error, self._where(path)) from error
        else:
            fp("local.deleted")
            self._folders.prune(name)

    def _temp(self, path: str) -> TemporaryFile:
        fp("local.before_temp")
        with translate_errors(self._where(path)):
            try:
                return TemporaryFile(self._root, None if self._spares is None else self._spares.take())
            except FileNotFoundError:
                self._folders.make(self._root + b"/" + local_files.FOLDER + b"/any")
                return TemporaryFile(self._root)

    async def _read(self, file: LocalFile, start: int, stop: int) -> bytes:
        if stop - start <= INLINE_BYTES_MAX:
            return file.read(start, stop)
        return await self._threads.run(file.read, start, stop)

    def _open(self, path: str) -> LocalFile:
        name = self._name(path)
        self._folders.check_readable(name)
        try:
            return LocalFile(name, path)
        except OSError as error:
            raise self._unreadable(error, path) from error

    def _unreadable(self, error: OSError, path: str) -> Exception:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            self._folders.check_root()
            return NotFound(f"{path} is not in {self.url}")
        return translate(error, self._where(path))

    def _name(self, path: str) -> bytes:
        return self._root + b"/" + check_path(path)

    def _writable(self, path: str) -> bytes:
        self._folders.check_writable()
        return self._name(path)

    def _where(self, path: str) -> str:
        return f"{self.url}/{path}"


def _text(text: str) -> bytes:
    return text.encode(errors="surrogatepass")  # invalid Unicode is no prefix of any path, and no error
