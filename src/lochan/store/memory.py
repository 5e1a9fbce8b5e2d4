"""Objects in a dict: the store behind `memory://`, for tests, the simulator and trying things out.

It never suspends, so each call is one atomic step. Stores opened by the same name in one process share their objects.
"""

from bisect import bisect_right, insort
from collections.abc import AsyncIterable, AsyncIterator
from typing import NamedTuple

from lochan.clock import Clock, SystemClock
from lochan.errors import AlreadyExists, NotFound
from lochan.store.protocol import Stat, check_path, check_span

_CHUNK = 4 << 20


class _Object(NamedTuple):
    data: bytes
    modified: float
    etag: str


class _Objects:
    def __init__(self) -> None:
        self.by_path: dict[str, _Object] = {}
        self.paths: list[str] = []  # sorted: code points order text as UTF-8 bytes do
        self.puts = 0


_shared: dict[str, _Objects] = {}


class MemoryStore:
    """A store in memory. A store without a name does not share its objects."""

    def __init__(self, name: str = "", clock: Clock | None = None) -> None:
        self._name = name
        self._clock = clock or SystemClock()
        self._objects = _shared.setdefault(name, _Objects()) if name else _Objects()

    @property
    def url(self) -> str:
        return f"memory://{self._name}"

    async def get(self, path: str) -> bytes:
        return self._find(path).data

    async def get_range(self, path: str, start: int, stop: int) -> bytes:
        data = self._find(path).data
        check_span(path, start, stop, len(data))
        return data[start:stop]

    async def get_stream(self, path: str) -> AsyncIterator[bytes]:
        data = self._find(path).data
        for start in range(0, len(data), _CHUNK):
            yield data[start : start + _CHUNK]

    async def head(self, path: str) -> Stat:
        return _stat(path, self._find(path))

    async def put(self, path: str, data: bytes) -> None:
        check_path(path)
        self._keep(path, data)

    async def put_if_absent(self, path: str, data: bytes) -> None:
        check_path(path)
        if path in self._objects.by_path:
            raise AlreadyExists(f"{path} is already in {self.url}")
        self._keep(path, data)

    async def put_stream(self, path: str, chunks: AsyncIterable[bytes]) -> int:
        check_path(path)
        data = b"".join([bytes(chunk) async for chunk in chunks])
        self._keep(path, data)
        return len(data)

    async def delete(self, path: str) -> None:
        check_path(path)
        if self._objects.by_path.pop(path, None) is not None:
            paths = self._objects.paths
            del paths[bisect_right(paths, path) - 1]

    async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        paths = self._objects.paths
        at = max(bisect_right(paths, after), bisect_right(paths, prefix) - 1, 0)
        while at < len(paths):
            path = paths[at]
            if path.startswith(prefix) and path > after:
                yield _stat(path, self._objects.by_path[path])
            elif path > prefix and not path.startswith(prefix):
                return
            at = bisect_right(paths, path)  # paths may have been added or removed while the caller held this one

    def _find(self, path: str) -> _Object:
        check_path(path)
        found = self._objects.by_path.get(path)
        if found is None:
            raise NotFound(f"{path} is not in {self.url}")
        return found

    def _keep(self, path: str, data: bytes) -> None:
        objects = self._objects
        objects.puts += 1
        if path not in objects.by_path:
            insort(objects.paths, path)
        objects.by_path[path] = _Object(bytes(data), self._clock.wall() / 1e6, f"{objects.puts}")


def _stat(path: str, found: _Object) -> Stat:
    return Stat(path, len(found.data), found.modified, found.etag)
