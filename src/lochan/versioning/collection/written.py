"""Finds what was written to a branch since a moment, by the store's clock.

Times in entries and commits come from many clocks, and a commit can be given any date. So the journal decides: the
store's stamps show which of its records are older than the moment, and the records after them show which heads the
branch has had since. A path that differs between two of these heads was written. A branch that was made or restored
since counts as written as a whole.

If one of those heads has expired, some of this is no longer known. Then a path counts as unwritten only if the files of
its bytes are older than the moment too, by the store's stamps."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.events import Event, Vocabulary
from lochan.formats.record import RecordChange
from lochan.formats.repository_events import (
    BranchCreated,
    BranchRenamed,
    BranchRestored,
    Committed,
    HistoryRestored,
    Moved,
)
from lochan.journal.slots import GROUP
from lochan.store.protocol import Store
from lochan.usage.last_read import among
from lochan.versioning.heads.moves import changed_paths
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.refs import Refs

Mask = npt.NDArray[np.bool_]

_HEADS_MAX = 1_000  # if there are more, the first and the last are compared, and the files' stamps decide
_SECOND = 1_000_000
_TYPES: tuple[type[Event], ...] = (BranchCreated, BranchRenamed, BranchRestored, Committed, HistoryRestored, Moved)
_EVENTS = Vocabulary(_TYPES)
_NAMES = frozenset(each.type for each in _TYPES)


class WrittenPaths(NamedTuple):
    head: str  # the head of the branch up to which it was searched
    since: int  # microseconds since 1970
    paths: pa.Array  # paths that were written, as the branch's heads show, in order
    everything: bool  # the branch itself is younger
    stamps: pa.Table | None  # address and modified of files, if the heads do not show everything

    def unwritten(self, entries: pa.RecordBatch) -> Mask:
        """Returns which of these entries of the head were not written since."""
        if self.everything:
            return np.zeros(len(entries), np.bool_)
        old: Mask = pc.less_equal(entries.column("mtime"), self.since).to_numpy(zero_copy_only=False)
        old &= ~among(entries.column("path"), self.paths)
        return old if self.stamps is None else old & self._old_files(entries, self.stamps)

    def _old_files(self, entries: pa.RecordBatch, stamps: pa.Table) -> Mask:
        """Selects the entries that have files, all of which were in the store before."""
        blocks = entries.column("blocks")
        parents = pc.list_parent_indices(blocks).to_numpy()
        at = pc.index_in(pc.list_flatten(blocks).field("address"), stamps["address"].combine_chunks())
        modified = pc.fill_null(stamps["modified"].combine_chunks().take(at), np.iinfo(np.int64).max).to_numpy()
        young = np.zeros(len(entries), np.bool_)
        young[parents[modified > self.since]] = True
        young[pc.list_value_length(blocks).to_numpy() == 0] = True
        return ~young


async def written_since(repository: OpenRepository, branch: str, since: int) -> WrittenPaths:
    """Returns what was written to the branch since then. `since` is in microseconds since 1970, by the store's
    clock."""
    id = repository.repository.id
    number = await last_number_before(repository.store, id, since)
    refs, _ = await repository.refs()
    head = refs.branch(branch).head  # it is read before the records, so that later heads are among them
    heads, is_new = await _heads_since(repository, branch, number)
    if is_new:
        return WrittenPaths(head, since, _NONE, True, None)
    heads = [*heads, head]
    live = [each for each in heads if each in refs.commit_table and not refs.collection.has_expired(each)]
    complete = live == heads and len(heads) <= _HEADS_MAX
    if len(live) > _HEADS_MAX:
        live = [live[0], live[-1]]
    changed = await _changed_paths(repository, refs, live)
    return WrittenPaths(head, since, changed, False, None if complete else await _stamps(repository.store, id))


async def last_number_before(store: Store, repository: str, since: int) -> int:
    """Returns the last number of the journal whose record, and all before it, the store had at that moment."""
    folder = f"{repository}/journal/"
    slots: dict[int, int] = {}
    groups: dict[int, int] = {}
    async for stat in store.list(folder):
        name = stat.path[len(folder) :]
        found, digits = (groups, name.removeprefix("seg/")) if name.startswith("seg/") else (slots, name)
        if digits.isdecimal():
            found[int(digits)] = round(stat.modified * _SECOND)
    group = 0
    while groups.get(group, since + 1) <= since:
        group += 1
    number = group * GROUP - 1 if group else min(slots, default=1) - 1
    while slots.get(number + 1, since + 1) <= since:
        number += 1
    return max(number, 0)


async def _heads_since(repository: OpenRepository, branch: str, number: int) -> tuple[list[str], bool]:
    """Returns the heads that the branch had after that record, including the one before its first move, and whether the
    branch itself is younger."""
    heads: list[str] = []
    is_new = number == 0 and branch == repository.repository.default_branch  # the repository itself is new
    async for sealed in repository.journal.records(after=number):
        record = sealed.record
        changes = (change for entry in record.entries for change in entry.changes if change.type in _NAMES)
        for change in changes:
            moved = _heads_of_move(change, branch, record.journal, record.number)
            is_new = is_new or moved is None
            heads += moved or ()
    return heads, is_new


def _heads_of_move(change: RecordChange, branch: str, journal: str, number: int) -> Sequence[str] | None:
    """Returns the heads before and after the change, nothing if it does not concern the branch, or None if it made the
    branch."""
    match _EVENTS.decode(change, journal, number):
        case Committed(branch=name, commit=commit, then=then) if name == branch:
            return (commit.parents[0], commit.id, *((then.id,) if then else ()))
        case Moved(branch=name, source=source, target=target) if name == branch:
            return source, target
        case BranchCreated(name=name) | BranchRestored(name=name) | BranchRenamed(to=name) if name == branch:
            return None
        case HistoryRestored(branches=branches) if branch in branches:
            return None
    return ()


async def _changed_paths(repository: OpenRepository, refs: Refs, heads: Sequence[str]) -> pa.Array:
    found: list[pa.Array] = []
    for left, right in pairwise(heads):
        if left != right:
            trees = [await repository.tree(refs.recorded(each)) for each in (left, right)]
            found.append(await changed_paths(repository, *trees))
    return pa.concat_arrays(found).unique().sort() if found else _NONE


async def _stamps(store: Store, repository: str) -> pa.Table:
    addresses, modified = [], []
    for folder in ("data", "workspaces"):
        async for stat in store.list(f"{repository}/{folder}/"):
            addresses.append(stat.path)
            modified.append(round(stat.modified * _SECOND))
    return pa.table({"address": pa.array(addresses, pa.string()), "modified": pa.array(modified, pa.int64())})


_NONE = pa.array([], pa.string())
