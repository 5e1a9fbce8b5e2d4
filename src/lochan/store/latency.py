"""Makes a near store answer like a far one: each call waits first, for as long as a function says."""

from collections.abc import AsyncIterable, AsyncIterator, Callable

from lochan.clock import Clock
from lochan.store.protocol import Stat, Store
from lochan.store.wrapper import Wrapper


class LatencyStore(Wrapper):
    """`delay(verb)` is in seconds, the verb one of the protocol's names."""

    def __init__(self, inner: Store, clock: Clock, delay: Callable[[str], float]) -> None:
        super().__init__(inner)
        self._clock = clock
        self._delay = delay

    async def get(self, path: str) -> bytes:
        await self._wait("get")
        return await self.inner.get(path)

    async def get_range(self, path: str, start: int, stop: int) -> bytes:
        await self._wait("get_range")
        return await self.inner.get_range(path, start, stop)

    async def get_stream(self, path: str) -> AsyncIterator[bytes]:
        await self._wait("get_stream")
        async for chunk in self.inner.get_stream(path):
            yield chunk

    async def head(self, path: str) -> Stat:
        await self._wait("head")
        return await self.inner.head(path)

    async def put(self, path: str, data: bytes) -> None:
        await self._wait("put")
        await self.inner.put(path, data)

    async def put_if_absent(self, path: str, data: bytes) -> None:
        await self._wait("put_if_absent")
        await self.inner.put_if_absent(path, data)

    async def put_stream(self, path: str, chunks: AsyncIterable[bytes]) -> int:
        await self._wait("put_stream")
        return await self.inner.put_stream(path, chunks)

    async def delete(self, path: str) -> None:
        await self._wait("delete")
        await self.inner.delete(path)

    async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        await self._wait("list")
        async for stat in self.inner.list(prefix, after):
            yield stat

    async def _wait(self, verb: str) -> None:
        delay = self._delay(verb)
        if delay > 0:
            await self._clock.sleep(delay)
