"""Bytes by name: the few verbs that the rest of Lochan uses on an object store.

Paths are relative to the store's own root, `/`-separated, and otherwise opaque. All stores accept the same paths, so a
lake can move between stores without surprises. Abilities of some stores beyond these verbs are in `capabilities.py`.

Every implementation and every wrapper (retry, count, latency, faults, cache) keeps this contract; they all pass the
tests in `tests/store_contract.py`."""

import re
from collections.abc import AsyncIterable, AsyncIterator
from functools import lru_cache
from typing import NamedTuple, Protocol

from lochan.errors import Invalid

PATH_BYTES_MAX = 1024  # S3's limit for a key, which counts the lake's own prefix too

# Empty, `.` and `..` segments (a leading or trailing slash makes an empty one) could leave the root of a local lake,
# and obstore drops or refuses them; it refuses control characters as well. `.tmp` is the local store's own folder.
_REFUSED = re.compile(r"(?:^|/)\.{0,2}(?:/|$)|[\x00-\x1f\x7f]|^\.tmp")
_RULE = "a path is UTF-8, without control characters, without empty, `.` or `..` segments, and does not begin with .tmp"


class Stat(NamedTuple):
    path: str
    size: int
    modified: float  # seconds since 1970, by the store's clock
    etag: str


class Store(Protocol):
    @property
    def url(self) -> str:
        """The store's name in messages: scheme, bucket or folder, prefix; never a secret."""

    async def get(self, path: str) -> bytes:
        """Returns the whole object. Raises NotFound; a short read is an error, never a short result."""

    async def get_range(self, path: str, start: int, stop: int) -> bytes:
        """Returns the bytes from start up to stop, exclusive: exactly stop - start of them. Raises NotFound, or Invalid
        past the end."""

    def get_stream(self, path: str) -> AsyncIterator[bytes]:
        """Yields the object in chunks of a few MiB at most, so that memory stays bounded. The first chunk raises
        NotFound."""

    async def head(self, path: str) -> Stat:
        """Returns the size, time and ETag of an object. Raises NotFound."""

    async def put(self, path: str, data: bytes) -> None:
        """Creates or replaces the object, completely or not at all. When it returns, the bytes are durable."""

    async def put_if_absent(self, path: str, data: bytes) -> None:
        """Creates the object. Raises AlreadyExists if something is there. When it returns, the bytes are durable.

        AlreadyExists may mean our own write, whose answer was lost. After Transient and Unknown the object may or may
        not be created, even later: only reading it back decides. No wrapper repeats this call by itself.
        """

    async def put_stream(self, path: str, chunks: AsyncIterable[bytes]) -> int:
        """Creates or replaces the object from chunks, completely or not at all, in bounded memory. Returns the size."""

    async def delete(self, path: str) -> None:
        """Deletes the object. There is no error if it is absent."""

    def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        """Yields the objects whose path starts with `prefix` (any text, not only a folder) and is greater than `after`,
        in the order of the paths' UTF-8 bytes. The list may be stale, so correctness must not depend on it."""


@lru_cache(maxsize=8192)  # for files that are read repeatedly: the expression takes longer than opening one
def check_path(path: str) -> bytes:
    """Returns the path in UTF-8. Raises Invalid for a path that some store cannot hold, or that could leave its
    root."""
    if _REFUSED.search(path):
        raise Invalid(f"the path {path!r} cannot be stored", hint=_RULE)
    try:
        name = path.encode()
    except UnicodeEncodeError:
        raise Invalid(f"the path {path!r} is not valid Unicode text", hint=_RULE) from None
    if len(name) > PATH_BYTES_MAX:
        raise Invalid(f"a path of {len(name)} bytes is too long, {PATH_BYTES_MAX} is the limit: {path[:80]!r}…")
    return name


def check_span(path: str, start: int, stop: int, size: int | None = None) -> None:
    """Raises Invalid for a span that is reversed, negative or past the end of an object of this size."""
    if not 0 <= start <= stop:
        raise Invalid(f"{start} to {stop} is not a span of bytes ({path})")
    if size is not None and stop > size:
        raise Invalid(f"bytes {start} to {stop} are past the end of {path}, which has {size}")
