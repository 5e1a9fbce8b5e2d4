"""Copies of objects that never change, kept on a local disk and read from there. Everything else passes through.

A copy is used only after its digest was checked, and not if it has changed since. A bad one is fetched again.
"""

# ruff: noqa: PTH104, PTH108, PTH116
# Files are opened by descriptor here, for one stat, one read and one touch.
import os
from collections.abc import AsyncIterable, Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import count

from lochan.clock import Clock
from lochan.store.capabilities import Wrapper
from lochan.store.disk import FILE_MODE, make_private_folder
from lochan.store.protocol import Store, check_path
from lochan.store.threads import INLINE_BYTES_MAX, Threads
from lochan.store.verified_files import identity_of

_WHOLE = "all"
_LARGEST = 1 << 30  # a copy is checked as a whole, and one system call reads at most 2 GiB
_LARGEST_SHARE = 8  # an object larger than an eighth of the cache would drive out too much else
_MAGIC = b"LOCHANC1"
_HEADER = len(_MAGIC) + 32
_TOUCH_S = 60.0  # how exactly the order of use is kept
_SLACK = 16  # the folder is counted again when a sixteenth of its limit was added; each process may exceed it by that

_numbers = count()


class CacheStore(Wrapper):
    """`immutable` tells which paths are written once. `check` raises for a whole object whose bytes are not what its
    path promises; such an object is not kept. A reader who finds later that bytes are wrong calls `forget`."""

    def __init__(
        self,
        inner: Store,
        folder: str,
        bytes_max: int,
        clock: Clock,
        immutable: Callable[[str], bool],
        check: Callable[[str, bytes], None] | None = None,
    ) -> None:
        super().__init__(inner)
        self._files = CacheFiles(folder, bytes_max, clock)
        self._bytes_max = min(bytes_max // _LARGEST_SHARE, _LARGEST)
        self._immutable = immutable
        self._check = check
        self._threads = Threads()

    async def get(self, path: str) -> bytes:
        if not self._immutable(path):
            return await self.inner.get(path)
        kept = await self._read(path, _WHOLE)
        if kept is not None:
            return kept
        data = await self.inner.get(path)
        if self._check is not None:
            self._check(path, data)
        await self._keep(path, _WHOLE, data)
        return data

    async def get_range(self, path: str, start: int, stop: int) -> bytes:
        """From a copy of the whole, or of exactly this range: readers of columnar files read the same ranges again."""
        if not self._immutable(path) or not 0 <= start < stop:
            return await self.inner.get_range(path, start, stop)
        kept = await self._read_part(path, start, stop)
        if kept is None:
            kept = await self._read(path, f"{start}-{stop}")
        if kept is not None:
            return kept
        data = await self.inner.get_range(path, start, stop)
        await self._keep(path, f"{start}-{stop}", data)
        return data

    async def put(self, path: str, data: bytes) -> None:
        await self.inner.put(path, data)
        self.forget(path)

    async def put_stream(self, path: str, chunks: AsyncIterable[bytes]) -> int:
        size = await self.inner.put_stream(path, chunks)
        self.forget(path)
        return size

    async def delete(self, path: str) -> None:
        await self.inner.delete(path)
        self.forget(path)

    def forget(self, path: str) -> None:
        """The next read asks the store again."""
        if self._immutable(path):
            self._files.forget(self._name(path))

    async def _read(self, path: str, span: str) -> bytes | None:
        return await self._with_size(path, span, self._files.read, self._name(path), span)

    async def _read_part(self, path: str, start: int, stop: int) -> bytes | None:
        return await self._with_size(path, _WHOLE, self._files.read_part, self._name(path), _WHOLE, start, stop)

    async def _with_size(
        self, path: str, span: str, read: Callable[..., bytes | None], *arguments: object
    ) -> bytes | None:
        """Reads at once, or in a thread if the copy is large: it may have to be read and checked as a whole."""
        size = self._files.size(self._name(path), span)
        if size is None or size <= INLINE_BYTES_MAX:
            return None if size is None else read(*arguments)
        return await self._threads.run(read, *arguments)

    async def _keep(self, path: str, span: str, data: bytes) -> None:
        if len(data) <= self._bytes_max:
            await self._threads.run(self._files.write, self._name(path), span, data)

    def _name(self, path: str) -> str:
        check_path(path)
        return f"{self.inner.url}\0{path}"


class BoundedFolder:
    """Copies in a local folder, bounded in size: those that were unused for longest are removed first.

        <folder>/<2 hex>/<40 hex of the name>.<ending>

    Nothing is synced: a crash may leave a torn copy, so each kind of copy has a checksum. Several processes share a
    folder without a lock: files appear by rename, and whoever reads a file that another process removes reads it to the
    end."""

    def __init__(self, folder: str, bytes_max: int, clock: Clock) -> None:
        self._folder = folder
        self._bytes_max = bytes_max
        self._clock = clock
        self._verified: dict[str, tuple[int, ...]] = {}  # file -> its identity when its checksum was right
        self._added = bytes_max  # so that the first addition counts what is there

    def evict(self) -> int:
        """Removes the copies that were unused for longest until the folder is within its limit. Returns the bytes that
        are left."""
        files = sorted(self._files())
        total = sum(size for _, size, _ in files)
        limit = self._bytes_max - self._bytes_max // _SLACK
        for _, size, file in files:
            if total <= limit:
                break
            self._remove(file)
            total -= size
        self._added = 0
        listed = {file for _, _, file in files}
        self._verified = {file: identity for file, identity in self._verified.items() if file in listed}
        return total

    def _write(self, file: str, write: Callable[[int], int]) -> bool:
        """Lets `write` fill a new file, by its descriptor, and gives it its name. `write` returns the size. Without
        room or permission there is no copy, and no error: then it returns False."""
        temporary = f"{file}.{os.getpid()}-{next(_numbers)}"
        self._verified.pop(file, None)
        try:
            make_private_folder(file.rpartition("/")[0])
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
            try:
                size = write(fd)
                self._touch(fd, 0.0)
            finally:
                os.close(fd)
            os.rename(temporary, file)
        except OSError:
            self._remove(temporary)
            return False
        self._added += size
        if self._added > self._bytes_max // _SLACK:
            self.evict()
        return True

    def _files(self) -> Iterator[tuple[float, int, str]]:
        """Last use, size and name of every file, including half-written ones of dead processes."""
        with suppress(OSError), os.scandir(self._folder) as folders:
            for folder in folders:
                with suppress(OSError), os.scandir(folder.path) as entries:
                    for entry in entries:
                        with suppress(OSError):
                            stat = entry.stat(follow_symlinks=False)
                            yield stat.st_mtime, stat.st_size, entry.path

    def _touch(self, file: str | int, last: float) -> None:
        now = self._clock.wall()
        if now / 1e6 - last > _TOUCH_S:
            os.utime(file, ns=(now * 1000, now * 1000))

    def _remove(self, file: str) -> None:
        self._verified.pop(file, None)
        with suppress(OSError):
            os.unlink(file)

    def _file(self, name: str, ending: str) -> str:
        # Hashed, because a name has slashes, and to spread the files over folders.
        hashed = sha256(name.encode()).hexdigest()
        return f"{self._folder}/{hashed[:2]}/{hashed[:40]}.{ending}"


class CacheFiles(BoundedFolder):
    """Whole objects, and spans of their bytes: "LOCHANC1", the SHA-256 of name, span and content, then the content. The
    span is the ending of the file's name."""

    def size(self, name: str, span: str) -> int | None:
        """The size of the content. None: there is no copy."""
        with suppress(OSError):
            return max(os.stat(self._file(name, span)).st_size - _HEADER, 0)
        return None

    def read(self, name: str, span: str) -> bytes | None:
        """The content. None: there is no copy that can be trusted. A bad one is removed."""
        return self._opened(self._file(name, span), lambda fd, file: self._checked(fd, file, name, span))

    def read_part(self, name: str, span: str, start: int, stop: int) -> bytes | None:
        """Bytes of the content, which is checked first unless that was done since the file last changed."""

        def part(fd: int, file: str) -> bytes | None:
            verified = self._verified.get(file) == identity_of(os.fstat(fd))
            if not verified and self._checked(fd, file, name, span) is None:
                return None
            data = os.pread(fd, stop - start, _HEADER + start)
            return data if len(data) == stop - start else None

        return self._opened(self._file(name, span), part)

    def write(self, name: str, span: str, content: bytes) -> None:
        """Keeps a copy, if there is room and permission."""

        def write(fd: int) -> int:
            write_all(fd, memoryview(_MAGIC + _digest(name, span, content)))
            write_all(fd, memoryview(content))
            return len(content) + _HEADER

        self._write(self._file(name, span), write)

    def forget(self, name: str) -> None:
        """Removes every copy of this object, or of parts of it."""
        folder, _, stem = self._file(name, "").rpartition("/")
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(stem):
                    self._remove(entry.path)

    def _opened(self, file: str, use: Callable[[int, str], bytes | None]) -> bytes | None:
        with suppress(OSError):
            fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
            try:
                return use(fd, file)
            finally:
                os.close(fd)
        return None

    def _checked(self, fd: int, file: str, name: str, span: str) -> bytes | None:
        stat = os.fstat(fd)
        data = os.pread(fd, stat.st_size, 0)
        content = data[_HEADER:]
        if data[:_HEADER] != _MAGIC + _digest(name, span, content):
            self._remove(file)
            return None
        self._touch(fd, stat.st_mtime)
        self._verified[file] = identity_of(os.fstat(fd))
        return content


def write_all(fd: int, view: memoryview) -> None:
    while view:
        view = view[os.write(fd, view) :]


def _digest(name: str, span: str, content: bytes) -> bytes:
    """The name is hashed too, so that an exchange of two files is detected."""
    digest = sha256(f"{name}\0{span}\0".encode())
    digest.update(content)
    return digest.digest()
