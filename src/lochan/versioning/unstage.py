"""Drops some of the changes staged on a branch. The others stay.

One record drops all that is staged and stages the rest again, so no reader sees a state in between, and a commit that
was under way finds its seal gone and starts over (S1), as with any reset. Changes that are written meanwhile to other
paths are kept: the record is decided on the very state that it is added to. If the layers that were read no longer
exist, all of it is read again."""

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Conflict, NothingToDo, Transient
from lochan.failpoints import fp
from lochan.formats.entry import Change, Entry, Tombstone
from lochan.formats.events import Event
from lochan.formats.record import Actor
from lochan.formats.repository_events import Moved, Staged
from lochan.staging.inline import Inline
from lochan.staging.layers import Layer, Layers
from lochan.versioning import bulk
from lochan.versioning.idempotency import nothing, once
from lochan.versioning.names import check_key
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.branch import BranchState
from lochan.versioning.state.collection import Stale
from lochan.versioning.state.refs import Refs

_TRIES = 10

Selects = Callable[[str], bool]


class _LayersGone(Conflict):
    """The changes that were read have been committed, reset or compacted."""


@once(nothing)
async def unstage(
    repository: OpenRepository, branch: str, paths: Sequence[str], prefix: str | None, *, actor: Actor
) -> None:
    """Drops the changes staged at these paths, and at those that begin with the prefix. Raises NothingToDo."""
    for path in paths:
        check_key(path)
    for _ in range(_TRIES):
        refs, number = await repository.refs()
        found = refs.branch(branch)
        try:
            await _drop(repository, found, number, frozenset(paths), prefix, actor)
        except (_LayersGone, Stale):
            continue
        repository.staged(branch)
        return
    raise Transient(f"the staged changes of {branch!r} were moved again and again", hint="try again")


async def _drop(
    repository: OpenRepository,
    found: BranchState,
    number: int,
    paths: frozenset[str],
    prefix: str | None,
    actor: Actor,
) -> None:
    def selects(path: str) -> bool:
        return path in paths or (prefix is not None and path.startswith(prefix))

    view = await repository.view_of(repository.folded().commit(found.head), found.layers)
    changes = await view.changes()
    kept = changes.filter(pc.invert(_select(changes["path"], paths, prefix)))
    staged = await bulk.staging_event(repository, found.name, kept, number) if len(kept) else None
    fp("unstage.written")

    def decide(refs: Refs) -> Sequence[Event]:
        later = _later(found, refs)
        if len(kept) == len(changes) and not any(selects(each.path) for each in later):
            raise NothingToDo(f"nothing is staged there on branch {found.name!r}")
        dropped = Moved(found.name, found.incarnation, found.head, found.head, "reset", discard=True)
        again = _staged_event(found.name, later, selects, number)
        return [dropped, *([staged] if staged else []), *([again] if again else [])]

    await repository.submit_decided(actor, decide)
    fp("unstage.landed")


def _select(paths: pa.ChunkedArray, names: frozenset[str], prefix: str | None) -> pa.ChunkedArray:
    named = pc.is_in(paths, value_set=pa.array(sorted(names), pa.string()))
    return named if prefix is None else pc.or_(named, pc.starts_with(paths, prefix))


def _later(found: BranchState, refs: Refs) -> list[Change]:
    """Returns the changes that were staged since, the last one for each path. Raises _LayersGone."""
    now = refs.branch(found.name)
    if (now.incarnation, now.head) != (found.incarnation, found.head) or not _lies_below(found.layers, now.layers):
        raise _LayersGone("the staged changes have moved")
    fresh = now.layers.fresh_since(found.layers)
    if fresh.runs:
        raise _LayersGone("the staged changes have moved")
    return list({change.path: change for change in fresh.changes}.values())


def _lies_below(older: Layers, now: Layers) -> bool:
    """Returns whether every layer still exists. Changes may have been added to the newest one, and above it."""
    one, other = older.layers, now.layers
    return len(one) <= len(other) and all(_is_same(*pair) for pair in zip(one, other, strict=False))


def _is_same(older: Layer, now: Layer) -> bool:
    if isinstance(older, Inline):
        return isinstance(now, Inline) and older.first == now.first and older.last <= now.last
    return not isinstance(now, Inline) and older.id == now.id


def _staged_event(branch: str, changes: list[Change], selects: Selects, read_at: int) -> Staged | None:
    """Returns the event that stages the other changes again. Their files have been live ever since, so they are as good
    as read from the earlier state."""
    kept = [each for each in changes if not selects(each.path)]
    puts = tuple(each for each in kept if isinstance(each, Entry))
    deletes = tuple(each.path for each in kept if isinstance(each, Tombstone))
    return Staged(branch, puts, deletes, read_at=read_at) if kept else None
