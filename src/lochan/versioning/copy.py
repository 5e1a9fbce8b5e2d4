"""Copies, moves and deletes one object or a whole folder within one repository. Only metadata are written.

However many objects there are, they change in one event: nobody sees half of it. The event names the state its entries
were read from (rule G4), and bytes that no longer exist are not named again."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import ConcurrentCommit, Invalid, NotFound
from lochan.formats.entry import ENTRY_SCHEMA, Entry
from lochan.formats.entry_table import table_of
from lochan.formats.events import Event
from lochan.formats.record import Actor
from lochan.formats.run import RunRef
from lochan.journal.keys import CarriedOut
from lochan.staging.layers import Fresh, Layers
from lochan.tree.rows import PathSpan, encode_path, span
from lochan.versioning import bulk, objects
from lochan.versioning.bodies.checksums import ALGORITHMS
from lochan.versioning.bodies.digests import digests
from lochan.versioning.bodies.read import BodyReader
from lochan.versioning.bulk import Seen, check_present, silent, visible
from lochan.versioning.idempotency import count_first, earlier_staging, entry_first, once
from lochan.versioning.names import KEY_BYTES_MAX, check_key
from lochan.versioning.objects import Check
from lochan.versioning.open_repository import Decide, OpenRepository
from lochan.versioning.revisions.resolve import ResolvedRef, resolve
from lochan.versioning.state.branch import BranchState, moved_underneath
from lochan.versioning.state.refs import Refs

T = TypeVar("T")
CheckMove = Callable[[Entry | None, Entry | None], None]  # gets the current source and target

_ATTEMPTS = 10


class CopyChanges(NamedTuple):
    """The properties of a copy that differ from its source. None keeps the property of the source."""

    content_type: str | None = None
    headers: Mapping[str, str] | None = None
    metadata: Mapping[str, str] | None = None
    checksum: str = ""  # the S3 algorithm for a checksum of the whole object that the copy gets


SAME = CopyChanges()


class CopyResult(NamedTuple):
    objects: int
    bytes: int


async def _count_first(repository: OpenRepository, before: CarriedOut) -> CopyResult:
    return CopyResult(*await count_first(repository, before))


async def _count_deleted_first(repository: OpenRepository, before: CarriedOut) -> CopyResult:
    return CopyResult(len((await earlier_staging(repository, before)).deleted), 0)


@once(entry_first)
async def copy(
    repository: OpenRepository,
    source_ref: str,
    source: str,
    branch: str,
    target: str,
    *,
    actor: Actor,
    options: CopyChanges = SAME,
    check: Check | None = None,
    check_source: Check | None = None,
) -> Entry:
    """Copies an object. `check` may refuse because of the object at the target at the very moment of the copy,
    `check_source` because of the source. Raises NotFound, Gone for bytes that have vanished, Invalid for a copy onto
    itself that changes nothing."""
    check_key(target)
    if _is_workspace(source_ref, branch):
        from lochan.versioning.workspaces import copy as workspace_copy

        if check is not None:  # a workspace has one writer, so nothing changes after this check
            check(await objects.find(repository, branch, target))
        at = workspace_copy.CopyTarget(repository, branch, actor)
        return await workspace_copy.copy(at, source_ref, source, target, options, check_source)

    async def attempt() -> Entry:
        read_at, found, entry = await _read_one(repository, source_ref, source)
        if check_source is not None:
            check_source(entry)
        if (found.branch and found.branch.name, source) == (branch, target) and options == SAME:
            raise Invalid("source and target are the same", hint="a copy onto itself can have other notes")
        copied = with_options(await present_copy(repository, entry, target), options)
        copied = await with_checksum(repository.reader, entry, copied, options.checksum)
        if check is None:
            await bulk.stage(repository, branch, bulk.puts(table_of([copied])), actor=actor, read_at=read_at)
        else:
            await objects.append_one(repository, branch, copied, actor=actor, check=check, read_at=read_at)
        return copied

    return await retry_race(attempt)


@once(entry_first)
async def move(
    repository: OpenRepository, branch: str, source: str, target: str, *, actor: Actor, check: CheckMove | None = None
) -> Entry:
    """Moves an object by a copy and a deletion in one event: nobody sees both objects, or neither. If another writer
    puts to the source meanwhile, that object is moved instead, not lost. `check` may refuse, and gets the objects at
    both paths at that very moment."""
    check_key(target)
    if _is_workspace(branch):
        from lochan.versioning.workspaces import copy as workspace_copy

        if check is not None:  # a workspace has one writer, so nothing changes after this check
            check(await objects.find(repository, branch, source), await objects.find(repository, branch, target))
        return await workspace_copy.move(workspace_copy.CopyTarget(repository, branch, actor), source, target)
    if source == target:
        raise Invalid("source and target are the same")

    async def attempt() -> Entry:
        read_at, found, entry = await _read_one(repository, branch, source)
        here = _writable(found, branch)
        watched = [source]
        if check is not None:
            check(entry, await (await repository.view(found)).get(target))
            watched.append(target)
        moved = msgspec.structs.replace(entry, path=target, mtime=repository.clock.wall())
        changes = bulk.together(table_of([moved]), pa.array([source]))
        still = _refuse_changed(here, *(PathSpan(encode_path(path), encode_path(path) + b"\0") for path in watched))
        await bulk.stage(repository, branch, changes, actor=actor, read_at=read_at, still=still)
        return moved

    return await retry_race(attempt)


@once(_count_first)
async def copy_folder(
    repository: OpenRepository,
    source_ref: str,
    prefix: str,
    branch: str,
    to: str,
    *,
    actor: Actor,
    seen: Seen = silent,
) -> CopyResult:
    """Copies every object whose path begins with `prefix`, with `to` in its place. Raises NotFound if there is none,
    Gone."""
    if _is_workspace(source_ref, branch):
        from lochan.versioning.workspaces import copy as workspace_copy

        return await workspace_copy.copy_folder(
            workspace_copy.CopyTarget(repository, branch, actor), source_ref, prefix, to
        )

    async def attempt() -> CopyResult:
        read_at, found, entries = await _read_folder(repository, source_ref, prefix)
        if (found.branch and found.branch.name, prefix) == (branch, to):
            raise Invalid("source and target are the same")
        await check_present(repository.reader.head, await repository.places.place_table(entries), seen)
        copied = _retarget(entries, prefix, to, repository.clock.wall())
        await bulk.stage(repository, branch, bulk.puts(copied), actor=actor, read_at=read_at)
        return _count(copied)

    return await retry_race(attempt)


@once(_count_first)
async def move_folder(repository: OpenRepository, branch: str, prefix: str, to: str, *, actor: Actor) -> CopyResult:
    if prefix == to:
        raise Invalid("source and target are the same")
    if _is_workspace(branch):
        from lochan.versioning.workspaces import copy as workspace_copy

        return await workspace_copy.move_folder(workspace_copy.CopyTarget(repository, branch, actor), prefix, to)

    async def attempt() -> CopyResult:
        read_at, found, entries = await _read_folder(repository, branch, prefix)
        here = _writable(found, branch)
        moved = _retarget(entries, prefix, to, repository.clock.wall())
        changes = bulk.together(moved, entries["path"].combine_chunks())
        await bulk.stage(
            repository, branch, changes, actor=actor, read_at=read_at, still=_refuse_changed(here, span(prefix))
        )
        return _count(moved)

    return await retry_race(attempt)


@once(_count_deleted_first)
async def delete_folder(repository: OpenRepository, branch: str, prefix: str, *, actor: Actor) -> CopyResult:
    """Deletes every object whose path begins with `prefix`. The folder may be empty. An object that is put to another
    path meanwhile stays."""
    if _is_workspace(branch):
        from lochan.versioning.workspaces import copy as workspace_copy

        return await workspace_copy.delete_folder(workspace_copy.CopyTarget(repository, branch, actor), prefix)

    async def attempt() -> CopyResult:
        refs, read_at = await repository.refs()
        found = resolve(refs, branch)
        _writable(found, branch)
        entries = await visible(repository, found, prefix)
        if not len(entries):
            return CopyResult(0, 0)
        gone = bulk.tombstones(entries["path"].combine_chunks())
        await bulk.stage(repository, branch, gone, actor=actor, read_at=read_at)
        return _count(entries)

    return await retry_race(attempt)


def _is_workspace(*refs: str) -> bool:
    """Returns whether one of these is a workspace: no other ref has a plus in it. `workspaces/copy.py` does the work
    for workspaces, because they have files of their own."""
    return any("+" in ref for ref in refs)


async def present_copy(repository: OpenRepository, entry: Entry, path: str) -> Entry:
    """Returns the entry of a copy within the repository. Its bytes stay where they are. Raises Gone if they have
    vanished."""
    await check_present(repository.reader.head, table_of([await repository.places.place(entry)]))
    return msgspec.structs.replace(entry, path=path, mtime=repository.clock.wall())


def with_options(entry: Entry, options: CopyChanges) -> Entry:
    changed = {name: value for name, value in options._asdict().items() if value is not None and name != "checksum"}
    return msgspec.structs.replace(
        entry, **{name: dict(value) if isinstance(value, Mapping) else value for name, value in changed.items()}
    )


async def with_checksum(reader: BodyReader, source: Entry, copied: Entry, checksum: str) -> Entry:
    """Returns the copy with this checksum of the whole object. The source is read unless it has that checksum
    already."""
    if not checksum or "-" not in copied.checksums.get(checksum, "-"):
        return copied
    _, found = await digests(reader.read(source), (checksum,))
    others = {name: value for name, value in copied.checksums.items() if name not in ALGORITHMS}
    return msgspec.structs.replace(copied, checksums={**others, **found})


async def retry_race(once: Callable[[], Awaitable[T]]) -> T:
    """Starts over if the state that it was read from has passed: garbage was collected, or the source changed."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return await once()
        except ConcurrentCommit:
            continue
    return await once()


async def _read_one(repository: OpenRepository, ref: str, path: str) -> tuple[int, ResolvedRef, Entry]:
    check_key(path)
    refs, read_at = await repository.refs()
    found = resolve(refs, ref)
    entry = await (await repository.view(found)).get(path)
    if entry is None:
        raise NotFound(f"no object {path!r} at {ref}").named(path)
    return read_at, found, entry


async def _read_folder(repository: OpenRepository, ref: str, prefix: str) -> tuple[int, ResolvedRef, pa.Table]:
    refs, read_at = await repository.refs()
    found = resolve(refs, ref)
    entries = await visible(repository, found, prefix)
    if not len(entries):
        raise NotFound(f"no objects in {prefix or '/'!r} at {ref}")
    return read_at, found, entries


def _writable(found: ResolvedRef, branch: str) -> BranchState:
    if found.branch is None:
        raise Invalid(f"{branch!r} is not a branch, and only branches can be written to")
    return found.branch


def _refuse_changed(then: BranchState, *within: PathSpan) -> Decide:
    """Refuses if the source was changed since it was read: deleting it then would lose the change."""

    def still(refs: Refs) -> Sequence[Event]:
        now = refs.branch(then.name)
        same = (now.incarnation, now.head) == (then.incarnation, then.head)
        fresh = now.layers.fresh_since(then.layers)
        if not same or _is_cleared(now.layers, then.layers) or any(_touches(fresh, each) for each in within):
            raise moved_underneath(then.name)
        return ()

    return still


def _is_cleared(now: Layers, then: Layers) -> bool:
    """Returns whether the staged changes were reset or stashed, because moving them would bring them back. Then none of
    them is left. The result is also True after all of them were compacted, and then starting over is only a waste."""
    run_ids = {run.id for run in then.runs}
    kept = (item.id in run_ids if isinstance(item, RunRef) else item.first < then.next for item in now.layers)
    return not then.empty and not any(kept)


def _touches(fresh: Fresh, within: PathSpan) -> bool:
    if any(within.low <= encode_path(change.path) < within.high for change in fresh.changes):
        return True
    return any(
        encode_path(run.max_path) >= within.low and encode_path(run.min_path) < within.high for run in fresh.runs
    )


def _retarget(entries: pa.Table, prefix: str, to: str, now: int) -> pa.Table:
    rest = pc.utf8_slice_codeunits(entries["path"], start=len(prefix))
    paths = pc.binary_join_element_wise(to, rest, "")
    lengths = pc.binary_length(paths)
    if not 0 < pc.min(lengths).as_py() <= pc.max(lengths).as_py() <= KEY_BYTES_MAX:
        for worst in (pc.min(lengths), pc.max(lengths)):
            check_key(paths[pc.index(lengths, worst).as_py()].as_py())
    times = pa.repeat(pa.scalar(now, pa.int64()), len(entries))
    at = ENTRY_SCHEMA.get_field_index
    entries = entries.set_column(at("path"), ENTRY_SCHEMA.field("path"), paths)
    return entries.set_column(at("mtime"), ENTRY_SCHEMA.field("mtime"), times)


def _count(entries: pa.Table) -> CopyResult:
    return CopyResult(len(entries), pc.sum(entries["size"]).as_py() or 0)
