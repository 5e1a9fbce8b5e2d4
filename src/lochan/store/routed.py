"""One view of the files of a lake whose repositories may lie in other stores. The first part of a path is the id of a
repository, which decides the store; the path is the same in each.

This is for work on a whole lake: checks, backups, the removal of deleted repositories. An open repository uses its own
store directly, with all its capabilities."""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from typing import NamedTuple

from lochan.store.capabilities import Wrapper
from lochan.store.protocol import Stat, Store


class RoutedStore(Wrapper):
    """Routes calls. `route` returns the store of a repository that has one of its own, `routed` the ids of all such
    repositories."""

    def __init__(self, inner: Store, route: Callable[[str], Store | None], routed: Callable[[], Sequence[str]]) -> None:
        super().__init__(inner)
        self._route = route
        self._routed = routed

    def at(self, path: str) -> Store:
        return self._route(path.partition("/")[0]) or self.inner

    async def get(self, path: str) -> bytes:
        return await self.at(path).get(path)

    async def get_range(self, path: str, start: int, stop: int) -> bytes:
        return await self.at(path).get_range(path, start, stop)

    def get_stream(self, path: str) -> AsyncIterator[bytes]:
        return self.at(path).get_stream(path)

    async def head(self, path: str) -> Stat:
        return await self.at(path).head(path)

    async def put(self, path: str, data: bytes) -> None:
        await self.at(path).put(path, data)

    async def put_if_absent(self, path: str, data: bytes) -> None:
        await self.at(path).put_if_absent(path, data)

    async def put_stream(self, path: str, chunks: AsyncIterable[bytes]) -> int:
        return await self.at(path).put_stream(path, chunks)

    async def delete(self, path: str) -> None:
        await self.at(path).delete(path)

    def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        first, slash, _ = prefix.partition("/")
        if slash:
            return self.at(prefix).list(prefix, after)
        return self._list_all(first, after)

    async def _list_all(self, prefix: str, after: str) -> AsyncIterator[Stat]:
        """Lists all stores in the order of the paths. The files of one repository follow each other."""
        ids = sorted(id for id in self._routed() if id.startswith(prefix))
        async for stat in self.inner.list(prefix, after):
            while ids and ids[0].encode() < stat.path.encode():
                async for own in self._list_own(ids.pop(0), after):
                    yield own
            yield stat
        for id in ids:
            async for own in self._list_own(id, after):
                yield own

    def _list_own(self, id: str, after: str) -> AsyncIterator[Stat]:
        return self.at(id).list(f"{id}/", after)


class StorageName(NamedTuple):
    """The place of the files of a repository: a URL, and the name of the credentials that open it."""

    url: str
    credentials: str = ""  # empty for those of the lake
