"""The store as one machine sees it: the verbs of `lochan.store.protocol`, each a request sent by that machine."""

from asyncio import CancelledError
from collections.abc import AsyncIterable, AsyncIterator
from typing import TYPE_CHECKING, Any

from lochan.store.protocol import Stat, check_path
from tests.sim.request import Request
from tests.sim.violation import Crashed

if TYPE_CHECKING:
    from tests.sim.machine import Machine
    from tests.sim.store import SimStore

_CHUNK = 64 * 1024


class View:
    def __init__(self, store: "SimStore", machine: "Machine") -> None:
        self._store = store
        self._machine = machine

    @property
    def url(self) -> str:
        return self._store.url

    async def get(self, path: str) -> bytes:
        data: bytes = await self.send("get", path)
        return data

    async def get_range(self, path: str, start: int, stop: int) -> bytes:
        data: bytes = await self.send("get_range", path, more=(start, stop))
        return data

    async def get_stream(self, path: str) -> AsyncIterator[bytes]:
        """Read at one moment, as objects are replaced whole; only handed over in pieces."""
        data: bytes = await self.send("get", path)
        for start in range(0, len(data), _CHUNK):
            yield data[start : start + _CHUNK]

    async def head(self, path: str) -> Stat:
        stat: Stat = await self.send("head", path)
        return stat

    async def put(self, path: str, data: bytes) -> None:
        await self.send("put", path, data)

    async def put_if_absent(self, path: str, data: bytes) -> None:
        await self.send("put_if_absent", path, data)

    async def put_stream(self, path: str, chunks: AsyncIterable[bytes]) -> int:
        check_path(path)
        data = b"".join([chunk async for chunk in chunks])
        await self.send("put", path, data)
        return len(data)

    async def delete(self, path: str) -> None:
        await self.send("delete", path)

    def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        return _Listing(self, self._store.page, prefix, after)

    async def send(self, verb: str, path: str, data: bytes | None = None, more: Any = None) -> Any:
        machine = self._machine
        if not machine.alive:
            raise Crashed(machine.name)
        if verb != "list":
            check_path(path)
        request = Request(self._store, machine, verb, path, data, more)
        machine.pending.append(request)
        try:
            return await request.future
        except CancelledError:
            request.abandon()
            raise


class _Listing:
    """Page by page, each a request of its own: what happens in between is seen or not, as on a real store."""

    def __init__(self, view: View, page: int, prefix: str, after: str) -> None:
        self._view = view
        self._page = page
        self._prefix = prefix
        self._after = after
        self._stats: list[Stat] = []  # of this page, last first
        self._more = True

    def __aiter__(self) -> AsyncIterator[Stat]:
        return self

    async def __anext__(self) -> Stat:
        if not self._stats and self._more:
            self._stats = (await self._view.send("list", self._prefix, more=self._after))[::-1]
            self._more = len(self._stats) == self._page
        if not self._stats:
            raise StopAsyncIteration
        stat = self._stats.pop()
        self._after = stat.path
        return stat
