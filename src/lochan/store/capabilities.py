"""Capabilities of some stores beyond the nine verbs, as small protocols, and the base class of all wrappers.

A caller asks for a capability once, when it gets its store, and does without it if the answer is None. A wrapper
changes what a store does, so it hides the capabilities of the store inside, except those that it lists in `passes_on`.

    local disk     PrivateRoot, SmallReads, Stamps, AbsenceTest, FileReuse, StreamIfAbsent, TemporaryFiles,
                   WriterProcess
    S3, Azure      Tagging
    S3, GCS, Azure BulkDelete, SignedUrls, ServerCopies, TableLists"""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, runtime_checkable

from lochan.clock import Clock
from lochan.store.protocol import Stat, Store

if TYPE_CHECKING:
    import pyarrow as pa

FileStamp = tuple[int, ...]
C = TypeVar("C")


def capability(store: Store, kind: type[C]) -> C | None:
    """Returns the store, or the one inside it, if it has this capability; else None."""
    if isinstance(store, kind):
        return store
    if isinstance(store, _PassingOn) and kind in store.passes_on:
        return capability(store.inner, kind)
    return None


def with_tags(store: Store, tags: Mapping[str, str]) -> Store:
    """Returns the same store, whose `put` and `put_stream` tag objects with these tags, if it can."""
    tagging = capability(store, Tagging)
    return store if tagging is None else tagging.tagged(tags)


@runtime_checkable
class Tagging(Protocol):
    """A store that can tag objects, or a wrapper that may have one inside. Use `tagged`. Local disk, memory and Google
    Cloud Storage cannot."""

    def tagged(self, tags: Mapping[str, str]) -> Store:
        """Returns the same store, but objects that are put through the result (`put`, `put_stream`) have these tags."""


@runtime_checkable
class BulkDelete(Protocol):
    """A store that can delete many objects at once. Use `store.bulk_delete.delete_all`, which also works without
    this."""

    async def delete_many(self, paths: Sequence[str]) -> None:
        """Deletes objects, without an error for absent ones. After an error, some of them may be deleted."""


@runtime_checkable
class TableLists(Protocol):
    """A store that can list tables. Use `store.stat_tables.stat_tables`, which also works without this."""

    def list_tables(self, prefix: str = "", after: str = "") -> "AsyncIterator[pa.Table]":
        """Yields the objects like `list`, as tables of `STAT_SCHEMA`, none of which is empty."""


@runtime_checkable
class SignedUrls(Protocol):
    async def signed_url(self, method: str, path: str, expires_s: float) -> str:
        """Returns a URL that answers GET, or takes PUT, for so long from anybody who has it. It is empty if the store's
        credentials cannot sign. Does not check whether the object exists."""


@runtime_checkable
class ServerCopies(Protocol):
    async def copy(self, source: str, target: str) -> None:
        """Copies an object within the store; an object at the target is replaced. Raises NotFound."""


@runtime_checkable
class SmallReads(Protocol):
    def get_range_now(self, path: str, start: int, stop: int) -> bytes:
        """Reads like `get_range`, for a span that is so small that reading it blocks no other work."""


@runtime_checkable
class Stamps(Protocol):
    def stamp(self, path: str) -> FileStamp | None:
        """Returns a value that changes when the file is written to or replaced. Returns None if there is no file, or if
        it is so new that a write now could leave the same stamp."""

    def identity(self, path: str) -> FileStamp | None:
        """Returns a value like `stamp`, but also for a new file."""


@runtime_checkable
class AbsenceTest(Protocol):
    def absence(self, *paths: str) -> Callable[[], bool]:
        """Returns a function to call often: it returns True if none of them exists, looked up in order. It is much
        cheaper than a `get` of each. False proves nothing."""


@runtime_checkable
class FileReuse(Protocol):
    async def delete_for_reuse(self, paths: Sequence[str]) -> None:
        """Deletes files, without an error for missing ones. Other files may be written over them a second later, so
        who has one open by then may read something else. It is only for files whose readers look elsewhere whether what
        they read counts."""


@runtime_checkable
class StreamIfAbsent(Protocol):
    async def put_stream_if_absent(self, path: str, otherwise: str, chunks: AsyncIterable[bytes]) -> tuple[str, int]:
        """Writes to `path`, if nothing is there and no file or folder is in the way; else to `otherwise`, a name that
        is used for nothing else. Returns which of the two, and the size. The stream is read once."""


@runtime_checkable
class PrivateRoot(Protocol):
    def keep_private(self) -> None:
        """Keeps other users of the machine out of the store's folder."""


@runtime_checkable
class TemporaryFiles(Protocol):
    def temporary_files(self) -> Sequence[Stat]:
        """Returns files that are being written, or that killed processes have left half-written. No listing shows
        them."""

    def sweep_temp(self, older_than: float, clock: Clock) -> int:
        """Removes files that killed processes left half-written and that were not written for so many seconds. Returns
        how many."""


@runtime_checkable
class WriterProcess(Protocol):
    def write_beside(self) -> Callable[[], None]:
        """Starts a separate process that writes small files for the running event loop. Returns a function that ends
        it."""


@runtime_checkable
class _PassingOn(Protocol):
    inner: Store
    passes_on: tuple[Any, ...]  # protocols of this module


class Wrapper:
    passes_on: tuple[Any, ...] = ()  # capabilities of the store inside that the wrapper does not change

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
        """Returns a copy of the wrapper around the tagged store; the two share their counts, caches and other state."""
        other = copy(self)
        other.inner = with_tags(self.inner, tags)
        return other
