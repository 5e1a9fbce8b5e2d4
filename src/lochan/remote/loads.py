"""Loads files of this machine into a pool of a remote lake: one file is sent as it is, several as an archive, in one
request that is one commit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lochan.api.load import DEFAULT_LOAD, Advance, BytesProgress, LoadOptions
from lochan.api.load_sources import Given, LoadSource, Stream, local_sources
from lochan.api.local_files import Report
from lochan.api.options import CommitOptions
from lochan.api.results import LoadResult
from lochan.api.spooled_files import ARCHIVE_END, archive_head, archive_padding
from lochan.errors import LochanError, NotFound, Refused

if TYPE_CHECKING:
    from lochan.remote.nouns import RemotePool

_PIECE_BYTES = 1 << 20


async def load_sources(given: Sequence[Given], follow_links: bool, report: Report) -> list[LoadSource]:
    """Returns the sources. Raises Refused for a URL, because a client cannot choose the keys with which the server
    would open it."""
    found: list[LoadSource] = []
    for each in given:
        if not isinstance(each, str | PathLike):
            found.append(Stream(each))
            continue
        if "://" in fspath(each) and not fspath(each).startswith("file://"):
            raise Refused(f"a server does not load from {fspath(each)}", hint="download it, and load the file")
        found += await asyncio.to_thread(local_sources, fspath(each), follow_links, report)
    return found


async def load_paths(pool: RemotePool, rows: Any, message: str, options: CommitOptions, branch: str) -> LoadResult:
    if message:
        options = msgspec.structs.replace(options, message=message)
    paths = rows if isinstance(rows, list | tuple) else [rows]
    return await load_files(pool, await load_sources(paths, True, lambda *_: None), DEFAULT_LOAD, options, branch, None)


async def load_files(
    pool: RemotePool,
    sources: Sequence[LoadSource],
    load_options: LoadOptions,
    options: CommitOptions,
    branch: str,
    progress: BytesProgress | None,
) -> LoadResult:
    """Loads the files. A new pool is made first, and deleted again if its rows cannot be loaded."""
    note = await _make_pool(pool, sources[0], load_options, branch)
    plain = msgspec.structs.replace(load_options, create=False, key=(), times=())
    try:
        done = await _send(pool, sources, plain, options, branch, progress)
    except LochanError:
        if note:
            await _with_verbs(pool).delete()
        raise
    return msgspec.structs.replace(done, note=note)


async def _send(
    pool: RemotePool,
    sources: Sequence[LoadSource],
    load_options: LoadOptions,
    options: CommitOptions,
    branch: str,
    progress: BytesProgress | None,
) -> LoadResult:
    sizes = [each.size for each in sources]
    total = sum(size or 0 for size in sizes) if None not in sizes else None
    with (progress or _no_progress)(total) as advance:
        one = len(sources) == 1
        body = _pieces(sources[0], advance) if one else _archive(sources, advance)
        name = sources[0].name if one else ""
        found: LoadResult = await _with_verbs(pool).load_body(
            body, load_options, options, branch=branch, name=name, archive=not one
        )
    return found


async def _make_pool(pool: RemotePool, first: LoadSource, options: LoadOptions, branch: str) -> str:
    """Returns the note about the pool that was made, or an empty text if it existed. Raises NotFound if none may be
    made."""
    try:
        await _with_verbs(pool).show()
    except NotFound:
        pass
    else:
        return ""
    from lochan.api.load import no_pool, suggested_pool

    if not options.create and not options.key:
        raise await no_pool(pool.name, first.as_input(), options)
    settings = await suggested_pool(pool.name, first.as_input(), options)
    lake: Any = pool.lake()
    await lake.create_pool(pool.name, key=list(settings.keys), times=options.times, default_branch=branch or "main")
    return settings.note


def _with_verbs(pool: Any) -> Any:
    """Returns the pool, typed with the verbs that its class gets from the table."""
    return pool


async def _pieces(source: LoadSource, advance: Advance) -> AsyncIterator[bytes]:
    file = await asyncio.to_thread(source.as_input().open)
    try:
        while piece := await asyncio.to_thread(file.read, _PIECE_BYTES):
            advance(len(piece))
            yield piece
    finally:
        file.close()


async def _archive(sources: Sequence[LoadSource], advance: Advance) -> AsyncIterator[bytes]:
    for each in sources:
        if each.size is None:
            raise Refused(f"{each.name} cannot be loaded together with other files", hint="load it by itself")
        size = 0
        yield archive_head(Path(each.name).name, each.size)
        async for piece in _pieces(each, advance):
            size += len(piece)
            yield piece
        if size != each.size:
            raise Refused(f"{each.name} has changed while it was read", hint="nothing was loaded; load it again")
        yield archive_padding(size)
    yield ARCHIVE_END


def _no_progress(_: int | None) -> AbstractContextManager[Advance]:
    return nullcontext(lambda _: None)
