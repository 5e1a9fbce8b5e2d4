"""A store that fails on purpose. What fails is chosen from outside, call by call, and the choices can be replayed."""

from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from contextlib import suppress

from lochan.clock import Clock
from lochan.errors import AlreadyExists, DiskFull, NotFound, Transient
from lochan.store.faultplan import FITTING, Chooser, Fault, Shot
from lochan.store.protocol import Stat, Store
from lochan.store.spoil import corrupted, shortened, without_end
from lochan.store.wrapper import Wrapper

_REMEMBERED = 16  # puts and deletes that a stale answer may not know of


class FaultStore(Wrapper):
    def __init__(self, inner: Store, clock: Clock, choose: Chooser, *, wait_s: float = 2.0) -> None:
        super().__init__(inner)
        self._clock = clock
        self._choose = choose
        self._wait_s = wait_s
        self._put: deque[str] = deque(maxlen=_REMEMBERED)
        self._deleted: deque[Stat] = deque(maxlen=_REMEMBERED)
        self.shots: list[Shot] = []

    async def get(self, path: str) -> bytes:
        fault = await self._begin("get", path)
        data = await self.inner.get(path)
        if fault is Fault.SHORT:
            return shortened(data, len(self.shots))
        return corrupted(data, len(self.shots)) if fault is Fault.CORRUPT else data

    async def get_range(self, path: str, start: int, stop: int) -> bytes:
        fault = await self._begin("get_range", path)
        data = await self.inner.get_range(path, start, stop)
        return corrupted(data, len(self.shots)) if fault is Fault.CORRUPT else data

    async def get_stream(self, path: str) -> AsyncIterator[bytes]:
        fault = await self._begin("get_stream", path)
        number = len(self.shots)
        stream = self.inner.get_stream(path)
        async for chunk in without_end(stream) if fault is Fault.SHORT else stream:
            yield corrupted(chunk, number) if fault is Fault.CORRUPT else chunk
            if fault is Fault.BROKEN:
                raise Transient(f"{path}: the connection broke (injected)")

    async def head(self, path: str) -> Stat:
        fault = await self._begin("head", path)
        if fault is Fault.HIDDEN and path in self._put:
            raise NotFound(f"{path} is not to be seen yet (injected)")
        return await self.inner.head(path)

    async def put(self, path: str, data: bytes) -> None:
        fault = await self._begin("put", path)
        await self.inner.put(path, data)
        self._end(fault, path)

    async def put_if_absent(self, path: str, data: bytes) -> None:
        fault = await self._begin("put_if_absent", path)
        if fault is Fault.CONFLICT:
            raise AlreadyExists(f"{path}: 409, two writers met (injected)")
        try:
            await self.inner.put_if_absent(path, data)
        except AlreadyExists:
            if fault is not Fault.LOST:
                raise
        self._end(fault, path)

    async def put_stream(self, path: str, chunks: AsyncIterable[bytes]) -> int:
        fault = await self._begin("put_stream", path)
        size = await self.inner.put_stream(path, chunks)
        self._end(fault, path)
        return size

    async def delete(self, path: str) -> None:
        fault = await self._begin("delete", path)
        with suppress(NotFound):
            self._deleted.append(await self.inner.head(path))
        await self.inner.delete(path)
        if fault is Fault.LOST:
            raise Transient(f"{path}: the answer was lost (injected)")

    async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        fault = await self._begin("list", prefix)
        hidden = set(self._put) if fault is Fault.HIDDEN else set()
        shown = await _ghosts(self.inner, self._deleted, prefix, after) if fault is Fault.SHOWN else []
        async for stat in self.inner.list(prefix, after):
            while shown and shown[0].path < stat.path:
                yield shown.pop(0)
            if stat.path not in hidden:
                yield stat
            if fault is Fault.BROKEN:
                raise Transient(f"{prefix}: the connection broke (injected)")
        for stat in shown:
            yield stat

    async def _begin(self, verb: str, path: str) -> Fault | None:
        fault = self._choose(verb, path)
        if fault is not None and fault not in FITTING[verb]:
            raise ValueError(f"{fault} does not fit {verb}")
        self.shots.append(Shot(verb, path, fault))
        if fault in (Fault.SLOW, Fault.TIMEOUT):
            await self._clock.sleep(self._wait_s)
        if fault in (Fault.UNAVAILABLE, Fault.TIMEOUT):
            raise Transient(f"{path}: {fault} (injected)")
        if fault is Fault.FULL:
            raise DiskFull(f"{path}: no room (injected)")
        return fault

    def _end(self, fault: Fault | None, path: str) -> None:
        self._put.append(path)
        if fault is Fault.LOST:
            raise Transient(f"{path}: the answer was lost (injected)")


async def _ghosts(store: Store, deleted: Iterable[Stat], prefix: str, after: str) -> list[Stat]:
    """The deleted objects that a stale list would still show, in order."""
    by_path = {stat.path: stat for stat in deleted if stat.path.startswith(prefix) and stat.path > after}
    for path in list(by_path):
        with suppress(NotFound):
            await store.head(path)
            del by_path[path]  # it was put again since
    return sorted(by_path.values())
