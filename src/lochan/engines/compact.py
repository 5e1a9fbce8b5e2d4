"""A branch of a pool is compacted: a plan by key spans (`pools/compaction.py`), the rows written anew, one commit.

Objects that were merged are smaller than those they came from, and may be small side by side: so there is a plan of
them too, until there is nothing left to merge. A second compaction finds nothing to do.

It lands on any head that still holds all that it read; else somebody deleted or compacted some of it meanwhile, and it
is refused (S6).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from lochan.engines.duckdb.data_objects import snapshot_of
from lochan.engines.duckdb.files import Files
from lochan.engines.duckdb.limits import STANDARD, Limits
from lochan.engines.duckdb.rewrite import RewriteResult, mergeable_groups, rewrite_objects
from lochan.errors import NothingToDo
from lochan.formats.entry import Entry
from lochan.formats.entry_table import table_of
from lochan.formats.record import Actor
from lochan.journal.keys import CarriedOut
from lochan.pools.commit_objects import Swap, committed_objects, replace_objects
from lochan.pools.compaction import Group, plan
from lochan.pools.facts import from_metadata
from lochan.pools.history import objects_in
from lochan.pools.keys import Span
from lochan.pools.objects import find
from lochan.pools.snapshot import Snapshot
from lochan.pools.upkeep import ALWAYS, Policy
from lochan.tree.tree import Tree
from lochan.versioning.heads.moves import NOTHING, CommitMessage
from lochan.versioning.idempotency import once
from lochan.versioning.open_repository import OpenRepository


class CompactRequest(NamedTuple):
    """Which objects are looked at."""

    ids: Sequence[str] = ()  # or beginnings of ids; none: all
    within: Span | None = None  # only those whose keys meet it
    upto: str = ""  # only those that this ref holds
    policy: Policy = ALWAYS
    size_bytes: int = 0  # of an object that is made, about; 0: the pool's own


EVERYTHING = CompactRequest()


class PoolCompactionResult(NamedTuple):
    head: str
    before: int  # objects
    after: int
    rows: int
    bytes_before: int
    bytes_after: int


class PoolCompactionPlan(NamedTuple):
    """What is to be merged with what."""

    snapshot: Snapshot  # with the settings that new objects are to have
    groups: list[Group]
    mint: int  # folded before (G1)
    wish: CompactRequest
    only: frozenset[str] | None  # the paths that were asked for; None: all

    @property
    def rows(self) -> int:
        return sum(group.rows for group in self.groups)

    @property
    def size_bytes(self) -> int:
        return sum(group.bytes for group in self.groups)

    def indices(self) -> list[list[int]]:
        """Of each group, the numbers that its objects have in the snapshot."""
        at = {path: index for index, path in enumerate(self.snapshot.spans["path"].to_pylist())}
        return [[at[path] for path in group.paths] for group in self.groups]

    def after(self, done: RewriteResult) -> PoolCompactionPlan:
        """What is left to do when this has been done."""
        gone = {entry.path for entry in done.removed}
        entries = self.snapshot.entries
        left = entries.filter(pc.invert(pc.is_in(entries["path"], pa.array(sorted(gone), pa.string()))))
        tables = [pa.concat_tables([left, table_of(done.added).cast(left.schema)])]
        snapshot = Snapshot(self.snapshot.owners, self.snapshot.settings, tables)
        made = frozenset(entry.path for entry in done.added)
        only = None if self.only is None else self.only - gone | made
        return self._replace(snapshot=snapshot, groups=_groups(snapshot, self.wish, only), only=only)


# Each group of the plan becomes new objects, which nobody knows of yet.
Merge = Callable[[PoolCompactionPlan], Awaitable[RewriteResult]]


async def compacted_first(repository: OpenRepository, before: CarriedOut) -> PoolCompactionResult:
    done = await committed_objects(repository, before)
    sizes = _size(done.removed), _size(done.added)
    return PoolCompactionResult(done.commit, len(done.removed), len(done.added), done.rows_added, *sizes)


@once(compacted_first)
async def compact(
    repository: OpenRepository,
    branch: str,
    files: Files,
    wish: CompactRequest = EVERYTHING,
    said: CommitMessage = NOTHING,
    *,
    actor: Actor,
    limits: Limits = STANDARD,
) -> PoolCompactionResult:
    """Raises NothingToDo, ConcurrentCommit, NotFound for an id that is not there."""
    plan = await planned(repository, branch, wish)
    return await carry_out(repository, branch, plan, files, said, actor=actor, limits=limits)


async def carry_out(
    repository: OpenRepository,
    branch: str,
    plan: PoolCompactionPlan,
    files: Files,
    said: CommitMessage = NOTHING,
    *,
    actor: Actor,
    limits: Limits = STANDARD,
) -> PoolCompactionResult:
    """On this machine."""

    async def merge(plan: PoolCompactionPlan) -> RewriteResult:
        done = RewriteResult([], [])
        for indices in plan.indices():
            removed, added = await rewrite_objects(repository, plan.snapshot, indices, files, plan.mint, limits)
            done.removed.extend(removed)
            done.added.extend(added)
        return done

    return await landed(repository, branch, await merged(plan, merge), said, actor=actor)


async def merged(plan: PoolCompactionPlan, merge: Merge) -> Swap:
    """Round by round, until nothing is left to merge. What one round made and the next one merged again is in no
    commit, and is left to garbage collection."""
    removed: dict[str, Entry] = {}
    added: dict[str, Entry] = {}
    while plan.groups:
        done = await merge(plan)
        again = {entry.path for entry in done.removed if added.pop(entry.path, None) is not None}
        removed.update((entry.path, entry) for entry in done.removed if entry.path not in again)
        added.update((entry.path, entry) for entry in done.added)
        if again and len(done.added) >= len(done.removed):  # or it might go on for ever
            break
        plan = plan.after(done)
    return Swap([*removed.values()], [*added.values()])


async def landed(
    repository: OpenRepository, branch: str, swap: Swap, said: CommitMessage = NOTHING, *, actor: Actor
) -> PoolCompactionResult:
    """Raises ConcurrentCommit where one of the objects has gone meanwhile."""
    head = await replace_objects(repository, branch, swap, said, actor=actor)
    removed, added = swap.removed, swap.added
    return PoolCompactionResult(head, len(removed), len(added), rows_of(added), _size(removed), _size(added))


async def rehearse(repository: OpenRepository, branch: str, wish: CompactRequest = EVERYTHING) -> list[Group]:
    """What would be merged with what; nothing is read but the tree."""
    return (await _looked_at(repository, branch, wish)).groups


async def planned(repository: OpenRepository, branch: str, wish: CompactRequest = EVERYTHING) -> PoolCompactionPlan:
    """To be made before the first byte is written. Raises NothingToDo, ReadOnly, NotFound for an id that is not
    there."""
    found = await _looked_at(repository, branch, wish)
    if not found.groups:
        raise NothingToDo(f"no objects of branch {branch!r} overlap, or are small side by side", hint="all is in order")
    repository.folded().guard.check_writable()
    return found


async def _looked_at(repository: OpenRepository, branch: str, wish: CompactRequest) -> PoolCompactionPlan:
    refs, mint = await repository.refs()
    id = refs.branch(branch).head
    tree = await repository.tree(refs.commit(id))
    snapshot = await snapshot_of(repository, id, tree)
    if wish.size_bytes:
        snapshot.settings = msgspec.structs.replace(snapshot.settings, size_bytes=wish.size_bytes)
    only = await _only(repository, tree, wish)
    return PoolCompactionPlan(snapshot, _groups(snapshot, wish, only), mint, wish, only)


def _groups(snapshot: Snapshot, wish: CompactRequest, only: frozenset[str] | None) -> list[Group]:
    groups: list[Group] = []
    for lot in mergeable_groups(snapshot):
        spans = snapshot.spans.take(pa.array(lot))
        groups += plan(spans, snapshot.settings, policy=wish.policy, only=only, within=wish.within)
    return groups


async def _only(repository: OpenRepository, tree: Tree, wish: CompactRequest) -> frozenset[str] | None:
    """The paths that were asked for; None: all."""
    chosen = frozenset([(await find(tree, id)).path for id in wish.ids]) if wish.ids else None
    if not wish.upto:
        return chosen
    then = await repository.tree((await repository.resolve(wish.upto)).commit)
    if chosen is not None:
        return await objects_in(then, chosen)
    return frozenset([path async for batch in then.scan() for path in batch.column("path").to_pylist()])


def rows_of(entries: Sequence[Entry]) -> int:
    return sum(from_metadata(entry.metadata, entry.path).rows for entry in entries)


def _size(entries: Sequence[Entry]) -> int:
    return sum(entry.size for entry in entries)
