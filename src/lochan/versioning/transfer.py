"""Copies objects from one repository to another. The bytes are copied, because two repositories never share an address.

Each has its own garbage collection, which sees only its own references; a shared address would die with its home."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import TypeVar

import pyarrow as pa
from msgspec.structs import replace

from lochan.errors import NotFound
from lochan.formats.entry import STORE_ETAG, Entry
from lochan.formats.entry_table import entries_of
from lochan.formats.record import Actor
from lochan.journal.keys import CarriedOut, without_key
from lochan.versioning import objects
from lochan.versioning.bodies.write import Batch
from lochan.versioning.bulk import scan
from lochan.versioning.copy import SAME, CopyChanges, CopyResult, with_checksum, with_options
from lochan.versioning.idempotency import check_first, count_first, entry_first
from lochan.versioning.names import check_key
from lochan.versioning.objects import Check
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.workspaces.write import workspace_id

T = TypeVar("T")

_WIDTH = 8  # objects that are copied at the same time
_BATCH = 500  # objects that are staged together, as in an upload
_BATCH_BYTES = 1 << 30

Advance = Callable[[int], None]  # gets the size of each piece


def silent(size_bytes: int) -> None:
    pass


async def transfer(
    source: OpenRepository,
    source_ref: str,
    path: str,
    target: OpenRepository,
    branch: str,
    to: str,
    *,
    actor: Actor,
    options: CopyChanges = SAME,
    check: Check | None = None,
    check_source: Check | None = None,
    advance: Advance = silent,
) -> Entry:
    """Copies an object to another repository. `check` may refuse because of the object at the target, before bytes are
    moved and at the very moment of the copy; `check_source` may refuse because of the source. Raises NotFound, Gone for
    bytes that have vanished."""
    check_key(to)
    try:
        await check_first(target, actor)
        entry = await objects.stat(source, source_ref, path)
        if check_source is not None:
            check_source(entry)
        if check is not None:
            check(await objects.find(target, branch, to))
        entry = await with_checksum(source.reader, entry, entry, options.checksum)
        [written] = await _write_bodies(source, target, branch, [(entry, to)], options, advance)
        await objects.append_one(target, branch, written, actor=actor, check=check)
    except CarriedOut as before:
        return await entry_first(target, before)
    return written


async def transfer_folder(
    source: OpenRepository,
    source_ref: str,
    prefix: str,
    target: OpenRepository,
    branch: str,
    to: str,
    *,
    actor: Actor,
    advance: Advance = silent,
) -> CopyResult:
    """Copies every object under the prefix, as of one moment, in batches. If it is interrupted, the first batches have
    landed. The last batch enters the idempotency key: a request that is repeated before that copies everything
    again."""
    try:
        await check_first(target, actor)
        return await _transfer_folder(source, source_ref, prefix, target, branch, to, actor, advance)
    except CarriedOut as before:
        return CopyResult(*await count_first(target, before))


async def _transfer_folder(
    source: OpenRepository,
    source_ref: str,
    prefix: str,
    target: OpenRepository,
    branch: str,
    to: str,
    actor: Actor,
    advance: Advance,
) -> CopyResult:
    resolved = await source.resolve(source_ref, workspaces=True)
    count, size = 0, 0
    async for batch, is_last in with_last(_batches(scan(source, resolved, prefix))):
        pairs = [(entry, to + entry.path[len(prefix) :]) for entry in batch]
        by = actor if is_last else without_key(actor)  # the last append decides
        written = await _write_bodies(source, target, branch, pairs, SAME, advance)
        await objects.put_many(target, branch, written, actor=by)
        count, size = count + len(written), size + sum(entry.size for entry in written)
    if not count:
        raise NotFound(f"no objects in {prefix or '/'!r} at {source_ref}")
    return CopyResult(count, size)


async def _write_bodies(
    source: OpenRepository,
    target: OpenRepository,
    branch: str,
    pairs: Sequence[tuple[Entry, str]],
    options: CopyChanges,
    advance: Advance,
) -> list[Entry]:
    for _, to in pairs:
        check_key(to)
    refs, mint = await target.refs()
    if not await workspace_id(target, branch):
        refs.branch(branch)  # fails before the bytes are sent if there is no such branch
    return await copy_bodies(source, target, mint, pairs, options, advance)


async def copy_bodies(
    source: OpenRepository,
    target: OpenRepository,
    mint: int,
    pairs: Sequence[tuple[Entry, str]],
    options: CopyChanges = SAME,
    advance: Advance = silent,
) -> list[Entry]:
    """Returns the objects with blocks of the target, in no particular order. Nothing names them yet."""
    batch = Batch(target.bodies, mint)
    waiting = iter(pairs)

    async def worker() -> None:
        for entry, to in waiting:  # the iterator is shared, and each worker takes the next object
            await _write(source, batch, with_options(entry, options), to, advance)

    tasks = [asyncio.ensure_future(worker()) for _ in range(min(_WIDTH, len(pairs)))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    sources = {to: with_options(entry, options) for entry, to in pairs}
    return [with_new_blocks(sources[each.path], each) for each in await batch.finish()]


def with_new_blocks(entry: Entry, written: Entry) -> Entry:
    """Returns the object with its new blocks. The bytes are the same, and so are its ETag, checksums and parts. A file
    outside the lake is the exception: only what its store reported was known."""
    if not all(block.sha256 for block in entry.blocks):
        return replace(written, content_type=entry.content_type, headers=entry.headers, metadata=entry.metadata)
    checksums = {name: value for name, value in entry.checksums.items() if name != STORE_ETAG}
    return replace(entry, path=written.path, blocks=written.blocks, mtime=written.mtime, checksums=checksums)


async def _write(source: OpenRepository, batch: Batch, entry: Entry, to: str, advance: Advance) -> None:
    async with aclosing(_read(source, entry, advance)) as pieces:
        await batch.write(to, pieces, content_type=entry.content_type, headers=entry.headers, metadata=entry.metadata)


async def _read(source: OpenRepository, entry: Entry, advance: Advance) -> AsyncGenerator[bytes, None]:
    async with aclosing(source.reader.read(entry)) as pieces:
        async for piece in pieces:
            advance(len(piece))
            yield piece


async def _batches(found: AsyncIterator[pa.RecordBatch]) -> AsyncIterator[list[Entry]]:
    held: list[Entry] = []
    size = 0
    async for rows in found:
        for start in range(0, rows.num_rows, _BATCH):
            for entry in entries_of(pa.Table.from_batches([rows.slice(start, _BATCH)])):
                if held and (len(held) == _BATCH or size + entry.size > _BATCH_BYTES):
                    yield held
                    held, size = [], 0
                held.append(entry)
                size += entry.size
    if held:
        yield held


async def with_last(batches: AsyncIterator[T]) -> AsyncIterator[tuple[T, bool]]:
    """Yields each batch, and whether it is the last."""
    held: list[T] = []
    async for batch in batches:
        if held:
            yield held.pop(), False
        held.append(batch)
    for batch in held:
        yield batch, True
