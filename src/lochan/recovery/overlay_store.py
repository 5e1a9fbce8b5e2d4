"""A store that reads from a lake and writes to a scratch store. A file that was written here hides the lake's file of
the same name."""

from collections.abc import AsyncIterable, AsyncIterator

from lochan.errors import AlreadyExists
from lochan.store.protocol import Stat, Store


class OverlayStore:
    def __init__(self, lake: Store, scratch: Store) -> None:
        self._lake = lake
        self.scratch = scratch
        self._own: set[str] = set()

    @property
    def url(self) -> str:
        return self._lake.url

    def has(self, path: str) -> bool:
        """Returns whether the file was written here."""
        return path in self._own

    async def forget(self, path: str) -> None:
        """Deletes a file that was written here, and never one of the lake."""
        self._own.discard(path)
        await self.scratch.delete(path)

    async def get(self, path: str) -> bytes:
        return await self._of(path).get(path)

    async def get_range(self, path: str, start: int, stop: int) -> bytes:
        return await self._of(path).get_range(path, start, stop)

    def get_stream(self, path: str) -> AsyncIterator[bytes]:
        return self._of(path).get_stream(path)

    async def head(self, path: str) -> Stat:
        return await self._of(path).head(path)

    async def put(self, path: str, data: bytes) -> None:
        await self.scratch.put(path, data)
        self._own.add(path)

    async def put_if_absent(self, path: str, data: bytes) -> None:
        if path in self._own:
            raise AlreadyExists(f"{path} is there already")
        await self.put(path, data)

    async def put_stream(self, path: str, chunks: AsyncIterable[bytes]) -> int:
        size = await self.scratch.put_stream(path, chunks)
        self._own.add(path)
        return size

    async def delete(self, path: str) -> None:
        await self.forget(path)

    def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        return self._lake.list(prefix, after)

    def _of(self, path: str) -> Store:
        return self.scratch if path in self._own else self._lake
