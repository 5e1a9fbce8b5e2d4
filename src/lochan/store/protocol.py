"""Bytes by name: the handful of verbs that the rest of Lochan asks of an object store.

Paths are relative to the store's own root, `/`-separated, and opaque otherwise. Every implementation and every wrapper
(retry, count, latency, faults, cache) keeps this contract; `tests/store_contract.py` is the suite they all adopt.
"""

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from typing import NamedTuple, Protocol, runtime_checkable


class Stat(NamedTuple):
    path: str
    size: int
    modified: float  # seconds since 1970 by the store's clock
    etag: str


class Store(Protocol):
    @property
    def url(self) -> str:
        """What to call this store in a message: scheme, bucket or folder, prefix; never a secret."""

    async def get(self, path: str) -> bytes:
        """The whole object. Raises NotFound; a short read is an error, never a short result."""

    async def get_range(self, path: str, start: int, stop: int) -> bytes:
        """Bytes start to stop, exclusive: exactly stop - start of them. Raises NotFound, or Invalid past the end."""

    def get_stream(self, path: str) -> AsyncIterator[bytes]:
        """The object in chunks of a few MiB at most, so that memory stays bounded. Raises NotFound at the first."""

    async def head(self, path: str) -> Stat:
        """Raises NotFound."""

    async def put(self, path: str, data: bytes) -> None:
        """Create or replace, whole or not at all. When it returns the bytes are durable."""

    async def put_if_absent(self, path: str, data: bytes) -> None:
        """Create; raises AlreadyExists if something is there. When it returns the bytes are durable.

        AlreadyExists may be our own write, whose answer was lost. Transient and Unknown both leave it open whether the
        object was or will be created: only reading it back decides. No wrapper repeats this call by itself.
        """

    async def put_stream(self, path: str, chunks: AsyncIterable[bytes]) -> int:
        """Create or replace from chunks, whole or not at all, in bounded memory; returns the size."""

    async def delete(self, path: str) -> None:
        """Absent is fine."""

    def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        """Objects whose path starts with `prefix` (any text, not only a folder) and is greater than `after`, in the
        order of the paths' UTF-8 bytes. May be stale: nothing correct rests on it."""


@runtime_checkable
class Tagging(Protocol):
    """A store that can mark objects with tags, or a wrapper that may have one inside. Ask through `tags.tagged`."""

    def tagged(self, tags: Mapping[str, str]) -> Store:
        """The same store; but objects that are put through what is returned here (`put`, `put_stream`) carry tags."""
