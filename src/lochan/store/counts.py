"""Counts the requests to a store, by verb. Tests and benchmarks check the cost as well as the answer."""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from lochan.store.capabilities import BulkDelete, ServerCopies, SignedUrls, Stamps, Wrapper
from lochan.store.protocol import Stat, Store

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


@dataclass(slots=True)
class Tally:
    requests: int = 0  # calls; one list is one call, however many pages it takes
    errors: int = 0  # calls that raised, including NotFound and AlreadyExists
    bytes_in: int = 0  # bytes read from the store
    bytes_out: int = 0  # bytes written to the store


@dataclass(slots=True)
class RequestCounts:
    get: Tally = field(default_factory=Tally)
    get_range: Tally = field(default_factory=Tally)
    get_stream: Tally = field(default_factory=Tally)
    head: Tally = field(default_factory=Tally)
    put: Tally = field(default_factory=Tally)
    put_if_absent: Tally = field(default_factory=Tally)
    put_stream: Tally = field(default_factory=Tally)
    delete: Tally = field(default_factory=Tally)
    list: Tally = field(default_factory=Tally)

    @property
    def verbs(self) -> dict[str, Tally]:
        return {name: getattr(self, name) for name in self.__slots__}

    @property
    def total(self) -> Tally:
        tallies = self.verbs.values()
        return Tally(
            sum(tally.requests for tally in tallies),
            sum(tally.errors for tally in tallies),
            sum(tally.bytes_in for tally in tallies),
            sum(tally.bytes_out for tally in tallies),
        )


class CountingStore(Wrapper):
    passes_on = (
        Stamps,
        BulkDelete,
        SignedUrls,
        ServerCopies,
    )  # only the client knows the number of requests of a bulk delete

    def __init__(self, inner: Store, counts: RequestCounts) -> None:
        super().__init__(inner)
        self.counts = counts

    async def get(self, path: str) -> bytes:
        data = await _count(self.counts.get, self.inner.get(path))
        self.counts.get.bytes_in += len(data)
        return data

    async def get_range(self, path: str, start: int, stop: int) -> bytes:
        data = await _count(self.counts.get_range, self.inner.get_range(path, start, stop))
        self.counts.get_range.bytes_in += len(data)
        return data

    async def get_stream(self, path: str) -> AsyncIterator[bytes]:
        async for chunk in _counted_stream(self.counts.get_stream, self.inner.get_stream(path)):
            self.counts.get_stream.bytes_in += len(chunk)
            yield chunk

    async def head(self, path: str) -> Stat:
        return await _count(self.counts.head, self.inner.head(path))

    async def put(self, path: str, data: bytes) -> None:
        self.counts.put.bytes_out += len(data)
        await _count(self.counts.put, self.inner.put(path, data))

    async def put_if_absent(self, path: str, data: bytes) -> None:
        self.counts.put_if_absent.bytes_out += len(data)
        await _count(self.counts.put_if_absent, self.inner.put_if_absent(path, data))

    async def put_stream(self, path: str, chunks: AsyncIterable[bytes]) -> int:
        size = await _count(self.counts.put_stream, self.inner.put_stream(path, chunks))
        self.counts.put_stream.bytes_out += size
        return size

    async def delete(self, path: str) -> None:
        await _count(self.counts.delete, self.inner.delete(path))

    async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        async for stat in _counted_stream(self.counts.list, self.inner.list(prefix, after)):
            yield stat

    async def list_tables(self, prefix: str = "", after: str = "") -> "AsyncIterator[pa.Table]":
        from lochan.store.stat_tables import stat_tables

        async for table in _counted_stream(self.counts.list, stat_tables(self.inner, prefix, after)):
            yield table


def counts_of(store: Store) -> RequestCounts | None:
    """Returns the requests so far, or None if they are not counted."""
    while isinstance(store, Wrapper):
        if isinstance(store, CountingStore):
            return store.counts
        store = store.inner
    return None


async def _count(tally: Tally, call: Awaitable[T]) -> T:
    tally.requests += 1
    try:
        return await call
    except Exception:
        tally.errors += 1
        raise


async def _counted_stream(tally: Tally, items: AsyncIterator[T]) -> AsyncIterator[T]:
    tally.requests += 1
    try:
        async for item in items:
            yield item
    except Exception:
        tally.errors += 1
        raise
