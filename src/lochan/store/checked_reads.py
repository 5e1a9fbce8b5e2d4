"""Bytes that fail a check are read again before the file counts as damaged: they may have changed on the network.

A file is damaged if the same wrong bytes came twice. A store that returns other bytes each time is asked a few more
times, and usually one of its answers is right.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import TypeVar

from lochan.errors import Corrupt, FutureFormat, Gone, NotFound
from lochan.store.protocol import Store

READS_MAX = 8

T = TypeVar("T")


class ReadDoubt:
    """The wrong bytes that were read from one file so far."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()

    def again(self, wrong: bytes) -> bool:
        """Returns whether to read the file again. `wrong` are the bytes that came last, or their digest."""
        digest = sha256(wrong).digest()
        is_known = digest in self._digests
        self._digests.add(digest)
        return not is_known and len(self._digests) < READS_MAX


async def read_checked(read: Callable[[], Awaitable[bytes]], decode: Callable[[bytes], Awaitable[T]]) -> T:
    """Reads and decodes, and returns the result of `decode`. Raises the error of `decode` for the last attempt."""
    doubt = ReadDoubt()
    while True:
        data = await read()
        try:
            return await decode(data)
        except (Corrupt, FutureFormat):  # a flipped bit in the version looks like either
            if not doubt.again(data):
                raise


async def get_checked(store: Store, path: str, decode: Callable[[bytes], Awaitable[T]]) -> T:
    """Reads an object by `read_checked`."""
    return await read_checked(lambda: store.get(path), decode)


@contextmanager
def is_named(what: str) -> Iterator[None]:
    """Raises Gone in place of NotFound, around the read of a file that an event or another file names. Its absence does
    not mean that the things in it do not exist."""
    try:
        yield
    except NotFound as error:
        raise Gone(
            f"{what} is gone", hint="its commit has expired meanwhile, or it was deleted by hand or by a lifecycle rule"
        ) from error


async def get_decoded(store: Store, path: str, decode: Callable[[bytes], T]) -> T:
    """Reads an object by `get_checked`, for a decoder that does not wait."""

    async def decoded(data: bytes) -> T:
        return decode(data)

    return await get_checked(store, path, decoded)
