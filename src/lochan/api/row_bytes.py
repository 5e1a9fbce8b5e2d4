"""Rows that come as bytes of some format, such as the body of a request, and are loaded as one commit when their end
has arrived. Bytes that break off load nothing.

    few, and they may share a commit   ──▶  in memory, to a group of loads
    with a key, or an archive          ──▶  to the disk first: the hash of all of them is compared by the key (J8)
    any others                         ──▶  read as they come, in bounded memory
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, BinaryIO, TypeGuard, cast

import msgspec

from lochan.api.load import LoadOptions, LoadRequest, load_files
from lochan.api.load_sources import Stream
from lochan.errors import Refused
from lochan.journal.keys import with_key

if TYPE_CHECKING:
    import asyncio

    from lochan.api.bodies import Body
    from lochan.api.load_sources import LoadSource
    from lochan.api.options import CommitOptions, EngineOptions
    from lochan.api.results import LoadResult
    from lochan.api.session import Session
    from lochan.formats.record import Actor
    from lochan.versioning.heads.moves import CommitMessage
    from lochan.versioning.repositories import Repository

    RowBytes = bytes | bytearray | memoryview | AsyncIterable[bytes]

_NAME = "the body"


def is_row_bytes(rows: Any) -> TypeGuard[RowBytes]:
    """Returns whether these are bytes of some format, and not rows."""
    return isinstance(rows, bytes | bytearray | memoryview | AsyncIterable) and not hasattr(rows, "read")


async def load_bytes(
    session: Session,
    pool: str,
    body: Body,
    load_options: LoadOptions,
    options: CommitOptions,
    engine: EngineOptions,
    *,
    branch: str = "",
    shared: bool = False,
    name: str = "",
    archive: bool = False,
) -> LoadResult:
    """Loads a body. With `shared`, the commit of a small body may have other loads of the same moment. `name` is the
    body's name in messages. With `archive`, the body is a tar of files of rows. Raises the errors of `Pool.load`, and
    of the body."""
    from lochan.api.branch import message_of
    from lochan.api.results import LoadResult

    pieces = _pieces(body)
    if shared and load_options.on_error == "fail":
        from lochan.api.load_group import SMALL_BYTES

        first = await _up_to(pieces, SMALL_BYTES)
        if len(first) <= SMALL_BYTES:
            return await load_small(session, await session.repository(pool), first, load_options, options, branch)
        pieces = _with_first(first, pieces)
    message = message_of(options)
    if options.key or archive:
        from lochan.api.spooled_files import spool_body  # it needs temporary folders, which reads do not

        async with spool_body(pieces, name or _NAME, archive=archive) as found:
            actor = session.acting(options.key, "load body", pool, branch, load_options, message, found.sha256)
            sources = cast("Sequence[LoadSource]", found.files)
            here = msgspec.structs.replace(engine, engine="duckdb")  # because only this machine has the files
            done = await load_files(session, LoadRequest(pool, branch, sources, load_options, message, actor, here))
        return LoadResult.of(done.loaded, done.note)
    with AsyncFile(pieces, name or _NAME) as file:
        stream = [Stream(cast("BinaryIO", file))]
        request = LoadRequest(pool, branch, stream, load_options, message, session.actor, engine)
        try:
            done = await load_files(session, request)
        except Exception:
            if file.error is not None:  # the cause, whatever a reader has made of it
                raise file.error from None
            raise
    return LoadResult.of(done.loaded, done.note)


async def load_small(
    session: Session,
    pool: Repository,
    data: bytes,
    load_options: LoadOptions,
    options: CommitOptions,
    branch: str,
) -> LoadResult:
    """Loads a small body in a commit with other loads of the moment. Raises the errors of `Pool.load`."""
    from lochan.api.branch import message_of

    place = SmallLoadPlace(session, pool, load_options, message_of(options), branch)
    return await place.load(session.actor, options.key, data)


class SmallLoadPlace:
    """The place of small loads, and how they are read, which is the same for many of them. Raises Refused if the place
    is no pool."""

    def __init__(
        self, session: Session, pool: Repository, load_options: LoadOptions, message: CommitMessage, branch: str
    ) -> None:
        from lochan.api.load_group import LoadTarget, add_to_group
        from lochan.engines.duckdb.load.load import LoaderOptions
        from lochan.engines.duckdb.load.small_inputs import SmallInput

        if pool.kind != "pool":
            raise Refused(f"{pool.name!r} holds files, and is no pool", hint="put files there instead")
        reading = LoaderOptions(
            load_options.format, unpacked_bytes_max=load_options.unpacked_max_bytes, row_tag=load_options.row_tag
        )
        self._session = session
        self._target = LoadTarget(pool, branch or pool.default_branch, message, reading)
        self._request = "load body", pool.name, branch, load_options, message
        self._add, self._input = add_to_group, SmallInput

    def load(self, actor: Actor, key: str, data: bytes) -> asyncio.Future[LoadResult]:
        """Loads a small body. The result is there when the load is durable. Raises Invalid for an invalid key."""
        if key:
            actor = with_key(actor, key, *self._request, sha256(data).hexdigest())
        return self._add(self._session, self._target, self._input(_NAME, data), actor)


def _pieces(body: Body) -> AsyncIterator[bytes]:
    if isinstance(body, AsyncIterable):
        return aiter(body)
    from lochan.api.bodies import chunks_of

    return chunks_of(body)


async def _up_to(pieces: AsyncIterator[bytes], size: int) -> bytes:
    """Returns the whole body if it is not larger than `size`. Otherwise returns a beginning that is larger."""
    found = bytearray()
    async for piece in pieces:
        found += piece
        if len(found) > size:
            break
    return bytes(found)


async def _with_first(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece


class AsyncFile:
    """Pieces that come on the event loop, as a file that another thread reads. Each read takes the bytes that have
    come, at most one piece, so no more is held. It must be created on the loop."""

    def __init__(self, pieces: AsyncIterator[bytes], name: str) -> None:
        import asyncio

        self.name = name
        self.error: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self._pieces = pieces
        self._left = b""
        self._ended = False

    def __enter__(self) -> AsyncFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True

    def read(self, size: int = -1) -> bytes:
        """Reads on another thread. Raises what the pieces raise."""
        if size < 0:
            found = []
            while piece := self.read(1 << 20):
                found.append(piece)
            return b"".join(found)
        while not self._left and not self._ended:
            self._left = self._next()
        data, self._left = self._left[:size], self._left[size:]
        return data

    def _next(self) -> bytes:
        import asyncio

        if self.error is not None:
            raise self.error
        try:
            return asyncio.run_coroutine_threadsafe(_next_of(self._pieces), self._loop).result()
        except StopAsyncIteration:
            self._ended = True
            return b""
        except BaseException as error:
            self.error = error
            raise

    def close(self) -> None:
        pass


async def _next_of(pieces: AsyncIterator[bytes]) -> bytes:
    return await anext(pieces)
