"""Keeps copies of objects that never change on a local disk, and answers from there. Everything else passes through.

A copy is only believed after its digest was checked, and never when it changed since; a bad one is fetched again.
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

_WHOLE = "all"
_LARGEST = 1 << 30  # a copy is checked as a whole, and one system call reads at most 2 GiB
_LARGEST_SHARE = 8  # an object larger than an eighth of the cache would drive out too much else
_MAGIC = b"LOCHANC1"
_HEADER = len(_MAGIC) + 32
_TOUCH_S = 60.0  # how exactly the order of use is kept
_SLACK = 16  # the folder is counted anew when a sixteenth of its limit was added; so much each process may exceed it

_numbers = count()


class CacheStore(Wrapper):
    """`immutable` says which paths are written once. `check` raises for whole objects whose bytes are not what their
    path promises; those are not kept. A reader who finds bytes wrong later says so with `forget`."""

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
        """From a copy of the whole, or of exactly this range: readers of columnar files ask for the same ones again."""
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
        """At once, or in a thread when the copy is large: it may have to be read and checked as a whole."""
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


class CacheFiles:
    """Copies of objects in a local folder, bounded in size, checked before they are believed.

        <folder>/<2 hex>/<40 hex of the name>.<span>    "LOCHANC1", SHA-256 of name, span and content, then the content

    Nothing is synced: after a crash a copy may be torn, and is found out by its digest. Several processes share a
    folder without a lock: files appear by rename, and one who reads a file that another removes reads it to the end.
    """

    def __init__(self, folder: str, bytes_max: int, clock: Clock) -> None:
        self._folder = folder
        self._bytes_max = bytes_max
        self._clock = clock
        self._verified: dict[str, tuple[int, int, int]] = {}  # file -> its identity when its digest was right
        self._added = bytes_max  # so that the first addition counts what is there

    def size(self, name: str, span: str) -> int | None:
        """The size of the content; None: no copy."""
        with suppress(OSError):
            return max(os.stat(self._file(name, span)).st_size - _HEADER, 0)
        return None

    def read(self, name: str, span: str) -> bytes | None:
        """The content; None: no copy that could be believed. A bad one is removed."""
        return self._opened(self._file(name, span), lambda fd, file: self._checked(fd, file, name, span))

    def read_part(self, name: str, span: str, start: int, stop: int) -> bytes | None:
        """Bytes of the content, which is checked first if that has not been done since the file last changed."""

        def part(fd: int, file: str) -> bytes | None:
            if self._verified.get(file) != _identity(fd) and self._checked(fd, file, name, span) is None:
                return None
            data = os.pread(fd, stop - start, _HEADER + start)
            return data if len(data) == stop - start else None

        return self._opened(self._file(name, span), part)

    def write(self, name: str, span: str, content: bytes) -> None:
        """Keep a copy. Where there is no room or no permission there is no copy, and no error."""
        file = self._file(name, span)
        temporary = f"{file}.{os.getpid()}-{next(_numbers)}"
        self._verified.pop(file, None)
        try:
            make_private_folder(file.rpartition("/")[0])
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
            try:
                _write_all(fd, _MAGIC + _digest(name, span, content))
                _write_all(fd, content)
                self._touch(fd, 0.0)
            finally:
                os.close(fd)
            os.rename(temporary, file)
        except OSError:
            self._remove(temporary)
            return
        self._added += len(content) + _HEADER
        if self._added > self._bytes_max // _SLACK:
            self.evict()

    def forget(self, name: str) -> None:
        """Remove every copy of this object, or of parts of it."""
        whole = self._file(name, "")
        folder, _, stem = whole.rpartition("/")
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(stem):
                    self._remove(entry.path)

    def evict(self) -> int:
        """Remove the copies that were longest unused until the folder is within its limit; returns the bytes left."""
        files = sorted(self._files())
        total = sum(size for _, size, _ in files)
        limit = self._bytes_max - self._bytes_max // _SLACK
        for _, size, file in files:
            if total <= limit:
                break
            self._remove(file)
            total -= size
        self._added = 0
        kept = {file for _, _, file in files}
        self._verified = {file: identity for file, identity in self._verified.items() if file in kept}
        return total

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
        self._verified[file] = _identity(fd)
        return content

    def _files(self) -> Iterator[tuple[float, int, str]]:
        """Last use, size and name of every file, half-written ones of dead processes included."""
        with suppress(OSError), os.scandir(self._folder) as folders:
            for folder in folders:
                with suppress(OSError), os.scandir(folder.path) as entries:
                    for entry in entries:
                        with suppress(OSError):
                            stat = entry.stat(follow_symlinks=False)
                            yield stat.st_mtime, stat.st_size, entry.path

    def _touch(self, fd: int, last: float) -> None:
        now = self._clock.wall()
        if now / 1e6 - last > _TOUCH_S:
            os.utime(fd, ns=(now * 1000, now * 1000))

    def _remove(self, file: str) -> None:
        self._verified.pop(file, None)
        with suppress(OSError):
            os.unlink(file)

    def _file(self, name: str, span: str) -> str:
        hashed = sha256(name.encode()).hexdigest()
        return f"{self._folder}/{hashed[:2]}/{hashed[:40]}.{span}"


def _identity(fd: int) -> tuple[int, int, int]:
    """Changes with every change of the file; its ctime cannot be set back."""
    stat = os.fstat(fd)
    return stat.st_ino, stat.st_size, stat.st_ctime_ns


def _digest(name: str, span: str, content: bytes) -> bytes:
    """Of the name too, so that two files exchanged are found out."""
    digest = sha256(f"{name}\0{span}\0".encode())
    digest.update(content)
    return digest.digest()


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
