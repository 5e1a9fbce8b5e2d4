"""Keeps copies of objects that never change on a local disk, and answers from there. Everything else passes through.

A copy is only believed after its digest was checked, and never when it changed since; a bad one is fetched again.
"""

from collections.abc import AsyncIterable, Callable

from lochan.clock import Clock
from lochan.store.cachefiles import CacheFiles
from lochan.store.paths import check_path
from lochan.store.protocol import Store
from lochan.store.threads import INLINE_BYTES_MAX, Threads
from lochan.store.wrapper import Wrapper

_WHOLE = "all"
_LARGEST = 1 << 30  # a copy is checked as a whole, and one system call reads at most 2 GiB
_LARGEST_SHARE = 8  # an object larger than an eighth of the cache would drive out too much else


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
