"""Copies, moves and deletes where one end is a workspace.

Committed and staged objects are named again, and no bytes are copied. A file of a workspace belongs to that workspace:
it may be overwritten or deleted with it, so copying one copies the bytes. Unlike on a branch, such work is not one
event."""

from collections.abc import Sequence
from contextlib import aclosing
from typing import NamedTuple

import msgspec

from lochan.concurrency import map_concurrently
from lochan.errors import Invalid, NotFound
from lochan.formats.entry import Entry
from lochan.formats.entry_table import entries_of, table_of
from lochan.formats.record import Actor
from lochan.journal.keys import without_key
from lochan.versioning import bulk, objects
from lochan.versioning.bodies.address import is_workspace_file
from lochan.versioning.bulk import check_present, visible
from lochan.versioning.copy import SAME, CopyChanges, CopyResult, with_checksum, with_options
from lochan.versioning.names import check_key
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.resolve import resolve
from lochan.versioning.workspaces import write

_WIDTH = 8  # files whose bytes are copied at the same time


class CopyTarget(NamedTuple):
    repository: OpenRepository
    ref: str  # a branch, or a workspace
    actor: Actor


async def copy(
    target: CopyTarget,
    source_ref: str,
    source: str,
    to: str,
    options: CopyChanges = SAME,
    check_source: objects.Check | None = None,
) -> Entry:
    """Copies an object and returns its new entry. Raises NotFound, Gone, or Invalid for a copy onto itself that changes
    nothing."""
    if (source_ref, source) == (target.ref, to) and options == SAME:
        raise Invalid("source and target are the same", hint="a copy onto itself can have other notes")
    _, read_at = await target.repository.refs()
    entry = await objects.stat(target.repository, source_ref, source)
    if check_source is not None:
        check_source(entry)
    entry = await with_checksum(target.repository.reader, entry, entry, options.checksum)
    await _place(target, [(entry, to)], read_at, options)
    return await objects.stat(target.repository, target.ref, to)


async def move(target: CopyTarget, source: str, to: str) -> Entry:
    """Moves an object within the target. The copy exists before the source is deleted."""
    if source == to:
        raise Invalid("source and target are the same")
    made = await copy(target._replace(actor=without_key(target.actor)), target.ref, source, to)
    await objects.delete(target.repository, target.ref, [source], actor=target.actor)
    return made


async def copy_folder(target: CopyTarget, source_ref: str, prefix: str, to: str) -> CopyResult:
    entries = await _copy_folder(target, source_ref, prefix, to)
    return _count(entries)


async def move_folder(target: CopyTarget, prefix: str, to: str) -> CopyResult:
    entries = await _copy_folder(target._replace(actor=without_key(target.actor)), target.ref, prefix, to)
    made = {to + entry.path[len(prefix) :] for entry in entries}
    gone = [entry.path for entry in entries if entry.path not in made]
    await objects.delete(target.repository, target.ref, gone, actor=target.actor)
    return _count(entries)


async def delete_folder(target: CopyTarget, prefix: str) -> CopyResult:
    """Deletes a folder, which may be empty."""
    _, entries = await _read(target.repository, target.ref, prefix)
    await objects.delete(target.repository, target.ref, [entry.path for entry in entries], actor=target.actor)
    return _count(entries)


async def _copy_folder(target: CopyTarget, source_ref: str, prefix: str, to: str) -> list[Entry]:
    if source_ref == target.ref and (prefix.startswith(to) or to.startswith(prefix)):
        raise Invalid(
            f"one of {prefix or '/'!r} and {to or '/'!r} is inside the other", hint="name two separate folders"
        )
    read_at, entries = await _read(target.repository, source_ref, prefix)
    if not entries:
        raise NotFound(f"no objects in {prefix or '/'!r} at {source_ref}")
    await _place(target, [(entry, to + entry.path[len(prefix) :]) for entry in entries], read_at, SAME)
    return entries


async def _read(repository: OpenRepository, ref: str, prefix: str) -> tuple[int, list[Entry]]:
    refs, read_at = await repository.refs()
    found = await visible(repository, resolve(refs, ref, workspaces=True), prefix)
    return read_at, entries_of(found)


async def _place(target: CopyTarget, pairs: Sequence[tuple[Entry, str]], read_at: int, options: CopyChanges) -> None:
    for _, to in pairs:
        check_key(to)

    async def move_bytes(pair: tuple[Entry, str]) -> None:
        await _move_bytes(target, with_options(pair[0], options), pair[1])

    await map_concurrently(move_bytes, [pair for pair in pairs if is_loose(pair[0])], _WIDTH)
    now = target.repository.clock.wall()
    named = [
        with_options(msgspec.structs.replace(entry, path=to, mtime=now), options)
        for entry, to in pairs
        if not is_loose(entry)
    ]
    if not named:
        return
    await check_present(target.repository.reader.head, table_of(await target.repository.places.place_all(named)))
    workspace = await write.workspace_id(target.repository, target.ref)
    if workspace:
        await write.stage(target.repository, workspace, named, actor=target.actor, read_at=read_at)
    else:
        changes = bulk.puts(table_of(named))
        await bulk.stage(target.repository, target.ref, changes, actor=target.actor, read_at=read_at)


async def _move_bytes(target: CopyTarget, entry: Entry, to: str) -> None:
    async with aclosing(target.repository.reader.read(entry)) as pieces:
        await objects.put(
            target.repository,
            target.ref,
            to,
            pieces,
            actor=without_key(target.actor),  # the last append decides
            content_type=entry.content_type,
            headers=entry.headers,
            metadata=entry.metadata,
        )


def is_loose(entry: Entry) -> bool:
    """Returns whether this is a file of a workspace that is not committed: it has not been read yet."""
    return any(is_workspace_file(block.address) and not block.sha256 for block in entry.blocks)


def _count(entries: Sequence[Entry]) -> CopyResult:
    return CopyResult(len(entries), sum(entry.size for entry in entries))
