"""Bytes that fail a check are read again before anybody calls the file damaged: they may have changed on the way.

A file is damaged when the same wrong bytes came twice. A store that gives other bytes each time is asked a few times
more, and most often one of its answers is right.
"""

from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import TypeVar

from lochan.errors import Corrupt, FutureFormat
from lochan.store.capabilities import Forgetting, capability
from lochan.store.protocol import Store

READS_MAX = 8

T = TypeVar("T")


class ReadDoubt:
    """What came of one file so far, and was wrong."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()

    def again(self, wrong: bytes) -> bool:
        """Whether it is to be read again; these bytes, or this digest of them, came last."""
        digest = sha256(wrong).digest()
        is_known = digest in self._digests
        self._digests.add(digest)
        return not is_known and len(self._digests) < READS_MAX


async def read_checked(
    read: Callable[[], Awaitable[bytes]],
    decode: Callable[[bytes], Awaitable[T]],
    forget: Callable[[], None] = lambda: None,
) -> T:
    """What `decode` makes of the bytes that are read. Raises what it raises, when they are read for the last time. A
    cache is told to `forget` those that were wrong."""
    doubt = ReadDoubt()
    while True:
        data = await read()
        try:
            return await decode(data)
        except (Corrupt, FutureFormat):  # of a flipped bit in the version nobody knows which it is
            if not doubt.again(data):
                raise
        forget()


async def get_checked(store: Store, path: str, decode: Callable[[bytes], Awaitable[T]]) -> T:
    """`read_checked` of an object."""

    def forget() -> None:
        cache = capability(store, Forgetting)
        if cache is not None:
            cache.forget(path)

    return await read_checked(lambda: store.get(path), decode, forget)


async def get_decoded(store: Store, path: str, decode: Callable[[bytes], T]) -> T:
    """`get_checked`, for what is decoded at once."""

    async def decoded(data: bytes) -> T:
        return decode(data)

    return await get_checked(store, path, decoded)
