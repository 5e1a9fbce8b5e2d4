"""The kinds of values that can be given as the bytes of an object."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeGuard, cast

from lochan.errors import Invalid, NotFound

if TYPE_CHECKING:
    from lochan.versioning.objects import SizedBody

Body = bytes | bytearray | memoryview | str | PathLike[str] | BinaryIO | Iterable[bytes] | AsyncIterable[bytes]

_CHUNK_BYTES = 1 << 20


def chunks_of(body: Body | SizedBody) -> AsyncIterator[bytes]:
    """Yields the bytes: texts as UTF-8; for a path the file's bytes, piece by piece."""
    if is_sized(body):
        return body.pieces()
    match body:
        case str():
            return _one(body.encode())
        case bytes() | bytearray() | memoryview():
            return _one(bytes(body))
        case PathLike():
            return _of_path(Path(body))
        case AsyncIterable():
            return _pass_on(body)
    if hasattr(body, "read"):
        return _of_file(cast(BinaryIO, body))
    if isinstance(body, Iterable):
        return _each(body)
    raise Invalid(f"{type(body).__name__} is not the bytes of an object", hint="give bytes, a text, a path or a file")


def is_sized(body: Body | SizedBody) -> TypeGuard[SizedBody]:
    """Returns whether the body has a length and declared checksums."""
    return hasattr(body, "check_trailer")


async def _one(data: bytes) -> AsyncIterator[bytes]:
    if data:
        yield data


async def _of_path(path: Path) -> AsyncIterator[bytes]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}") from None
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}") from None
    with file:
        async for piece in _of_file(file):
            yield piece


async def _of_file(file: BinaryIO) -> AsyncIterator[bytes]:
    import asyncio

    while piece := await asyncio.to_thread(file.read, _CHUNK_BYTES):
        if not isinstance(piece, bytes):
            raise Invalid("the file gives texts, not bytes", hint='open it with mode "rb"')
        yield piece


async def _pass_on(pieces: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    async for piece in pieces:
        yield piece


async def _each(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
