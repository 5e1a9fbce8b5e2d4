"""What the wrappers share: a store that passes every call on. A wrapper overrides the verbs it is about."""

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from copy import copy
from typing import Any, Self

from lochan.store.capabilities import tagged
from lochan.store.protocol import Stat, Store


class Wrapper:
    passes_on: tuple[Any, ...] = ()  # capabilities of the store inside that the wrapper leaves as they are

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    @property
    def url(self) -> str:
        return self.inner.url

    async def get(self, path: str) -> bytes:
        return await self.inner.get(path)

    async def get_range(self, path: str, start: int, stop: int) -> bytes:
        return await self.inner.get_range(path, start, stop)

    def get_stream(self, path: str) -> AsyncIterator[bytes]:
        return self.inner.get_stream(path)

    async def head(self, path: str) -> Stat:
        return await self.inner.head(path)

    async def put(self, path: str, data: bytes) -> None:
        await self.inner.put(path, data)

    async def put_if_absent(self, path: str, data: bytes) -> None:
        await self.inner.put_if_absent(path, data)

    async def put_stream(self, path: str, chunks: AsyncIterable[bytes]) -> int:
        return await self.inner.put_stream(path, chunks)

    async def delete(self, path: str) -> None:
        await self.inner.delete(path)

    def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        return self.inner.list(prefix, after)

    def tagged(self, tags: Mapping[str, str]) -> Self:
        """A copy of the wrapper around the tagged store; the two share all that they count, keep and remember."""
        other = copy(self)
        other.inner = tagged(self.inner, tags)
        return other
