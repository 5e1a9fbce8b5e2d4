"""Plans which data objects of a branch are merged with each other, by key spans (`pools/compaction.py`).

Merged objects are smaller than those they came from, and may be small beside their neighbours. So they are planned
again, until nothing is left to merge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from lochan.engines.duckdb.data_objects import snapshot_of
from lochan.engines.duckdb.rewrite import RewriteResult, mergeable_groups
from lochan.errors import NothingToDo
from lochan.formats.entry_table import table_of
from lochan.pools.compaction import Group, plan
from lochan.pools.history import objects_in
from lochan.pools.keys import Span
from lochan.pools.objects import find
from lochan.pools.snapshot import Snapshot
from lochan.pools.upkeep import ALWAYS, Policy
from lochan.tree.tree import Tree
from lochan.versioning.open_repository import OpenRepository


class CompactRequest(NamedTuple):
    """The objects that a compaction considers."""

    ids: Sequence[str] = ()  # ids, or beginnings of ids; empty for all
    within: Span | None = None  # only objects whose keys overlap it
    upto: str = ""  # only those that this ref has
    policy: Policy = ALWAYS
    size_bytes: int = 0  # the approximate size of a new object; 0 for the pool's own


EVERYTHING = CompactRequest()


class PoolCompactionPlan(NamedTuple):
    """The groups of objects to be merged."""

    snapshot: Snapshot  # with the settings for new objects
    groups: list[Group]
    mint: int  # the number that was folded before (G1)
    request: CompactRequest
    only: frozenset[str] | None  # the paths that the request names; None for all

    @property
    def rows(self) -> int:
        return sum(group.rows for group in self.groups)

    @property
    def size_bytes(self) -> int:
        return sum(group.bytes for group in self.groups)

    def indices(self) -> list[list[int]]:
        """Returns the numbers that the objects of each group have in the snapshot."""
        at = {path: index for index, path in enumerate(self.snapshot.spans["path"].to_pylist())}
        return [[at[path] for path in group.paths] for group in self.groups]

    def after(self, done: RewriteResult) -> PoolCompactionPlan:
        """Returns the plan for what is left to do afterwards."""
        gone = {entry.path for entry in done.removed}
        entries = self.snapshot.entries
        left = entries.filter(pc.invert(pc.is_in(entries["path"], pa.array(sorted(gone), pa.string()))))
        tables = [pa.concat_tables([left, table_of(done.added).cast(left.schema)])]
        snapshot = Snapshot(self.snapshot.owners, self.snapshot.settings, tables)
        made = frozenset(entry.path for entry in done.added)
        only = None if self.only is None else self.only - gone | made
        return self._replace(snapshot=snapshot, groups=_groups(snapshot, self.request, only), only=only)


async def rehearse(repository: OpenRepository, branch: str, request: CompactRequest = EVERYTHING) -> list[Group]:
    """Returns the groups that would be merged. It reads only the tree."""
    return (await _plan(repository, branch, request)).groups


async def plan_compaction(
    repository: OpenRepository, branch: str, request: CompactRequest = EVERYTHING
) -> PoolCompactionPlan:
    """Plans a compaction. Call it before the first byte is written. Raises NothingToDo, ReadOnly, or NotFound for an
    unknown id."""
    found = await _plan(repository, branch, request)
    if not found.groups:
        raise NothingToDo(f"no objects of branch {branch!r} overlap, or are small side by side", hint="all is in order")
    repository.folded().guard.check_writable()
    return found


async def _plan(repository: OpenRepository, branch: str, request: CompactRequest) -> PoolCompactionPlan:
    refs, mint = await repository.refs()
    id = refs.branch(branch).head
    tree = await repository.tree(refs.commit(id))
    snapshot = await snapshot_of(repository, id, tree)
    if request.size_bytes:
        snapshot.settings = msgspec.structs.replace(snapshot.settings, size_bytes=request.size_bytes)
    only = await _only(repository, tree, request)
    return PoolCompactionPlan(snapshot, _groups(snapshot, request, only), mint, request, only)


def _groups(snapshot: Snapshot, request: CompactRequest, only: frozenset[str] | None) -> list[Group]:
    groups: list[Group] = []
    for lot in mergeable_groups(snapshot):
        spans = snapshot.spans.take(pa.array(lot))
        groups += plan(spans, snapshot.settings, policy=request.policy, only=only, within=request.within)
    return groups


async def _only(repository: OpenRepository, tree: Tree, request: CompactRequest) -> frozenset[str] | None:
    """Returns the paths that the request names, or None for all."""
    chosen = frozenset([(await find(tree, id)).path for id in request.ids]) if request.ids else None
    if not request.upto:
        return chosen
    then = await repository.tree((await repository.resolve(request.upto)).commit)
    if chosen is not None:
        return await objects_in(then, chosen)
    return frozenset([path async for batch in then.scan() for path in batch.column("path").to_pylist()])
