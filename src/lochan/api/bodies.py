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
    """Yields the bytes: texts as UTF-8, and for a path the file's bytes, piece by piece."""
    if is_sized(body):
        return body.pieces()
    match body:
        case str():
            return _single_piece(body.encode())
        case bytes() | bytearray() | memoryview():
            return _single_piece(bytes(body))
        case PathLike():
            return _path_pieces(Path(body))
        case AsyncIterable():
            return _async_pieces(body)
    if hasattr(body, "read"):
        return _file_pieces(cast(BinaryIO, body))
    if isinstance(body, Iterable):
        return _iterable_pieces(body)
    raise Invalid(f"{type(body).__name__} is not the bytes of an object", hint="give bytes, a text, a path or a file")


def is_sized(body: Body | SizedBody) -> TypeGuard[SizedBody]:
    """Returns whether the body has a length and declared checksums."""
    return hasattr(body, "check_trailer")


async def _single_piece(data: bytes) -> AsyncIterator[bytes]:
    if data:
        yield data


async def _path_pieces(path: Path) -> AsyncIterator[bytes]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}") from None
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}") from None
    with file:
        async for piece in _file_pieces(file):
            yield piece


async def _file_pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    import asyncio

    while piece := await asyncio.to_thread(file.read, _CHUNK_BYTES):
        if not isinstance(piece, bytes):
            raise Invalid("the file gives texts, not bytes", hint='open it with mode "rb"')
        yield piece


async def _async_pieces(pieces: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    async for piece in pieces:
        yield piece


async def _iterable_pieces(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
