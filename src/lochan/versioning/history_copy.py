"""Copies the history behind some refs of a repository into a bare one, so that it has them too.

Trees and bytes are written anew, because two repositories never share a file. A commit whose tree has the same content
has the same id as its original. The refs come last, in one event: until then the repository is bare, and after an error
it is copied again from the beginning.

    source   a ─ b ─ m  main            1. the trees and bytes of a, b, c, m, with the mint of the beginning
              ╲ c ╱     v1 (tag of c)   2. events with these commits, the last one with main and v1
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing

import msgspec
import pyarrow as pa

from lochan.errors import Refused
from lochan.formats.commit import Commit
from lochan.formats.entry import CONTENT, Entry
from lochan.formats.entry_table import table_of
from lochan.formats.metarange import EMPTY, TreeRef
from lochan.formats.record import Actor
from lochan.formats.repository_events import HistoryRestored
from lochan.journal.keys import without_key
from lochan.tree import diff as trees_diff
from lochan.tree.tree import Tree
from lochan.versioning.bulk import together
from lochan.versioning.idempotency import nothing, once
from lochan.versioning.names import check_ref_name
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.graph import log_of_all
from lochan.versioning.transfer import copy_bodies

_EVENT_BYTES = 1 << 20  # of commits in one event; a journal's entry has at most 4 MiB
_AT_ONCE = 500  # objects whose bytes are copied together


@once(nothing)
async def copy_history(
    source: OpenRepository,
    target: OpenRepository,
    branches: Mapping[str, str],
    tags: Mapping[str, str],
    *,
    actor: Actor,
) -> None:
    """Copies these branches and tags, which map names to ids of commits of the source. Raises Refused if the target is
    not bare, NotFound for an unknown commit, Gone for an expired one, Stale if garbage was collected meanwhile."""
    for name in (*branches, *tags):
        check_ref_name(name)
    refs, mint = await target.refs()
    if not refs.is_bare or not branches:
        raise Refused("refs are only restored into a bare repository, with one branch at least")
    copied = await _Copy(source, target, mint).commits({*branches.values(), *tags.values()})
    heads, tagged = ({name: copied[id].id for name, id in each.items()} for each in (branches, tags))
    *before, last = _pieces([*copied.values()])
    for piece in before:
        await target.submit(without_key(actor), HistoryRestored(piece, {}, {}, mint, mint))
    await target.submit(actor, HistoryRestored(last, heads, tagged, mint, mint))


class _Copy:
    def __init__(self, source: OpenRepository, target: OpenRepository, mint: int) -> None:
        self._source = source
        self._target = target
        self._mint = mint
        self._made: dict[str, Commit] = {}  # commits of the target by the ids of their originals

    async def commits(self, heads: set[str]) -> dict[str, Commit]:
        """Returns copies of these commits and of all before them, parents first, by the ids of the originals."""
        refs, _ = await self._source.refs()
        for head in heads:
            refs.commit(head)
        for id, commit in reversed([*log_of_all(refs.recorded, sorted(heads))]):
            self._made[id] = await self._commit(commit)
        return self._made

    async def _commit(self, commit: Commit) -> Commit:
        refs, _ = await self._source.refs()
        parents = [self._made[parent] for parent in commit.parents]
        trees = [await self._target.trees.open(TreeRef(each.tree, each.tree_file)) for each in parents]
        first = refs.recorded(commit.parents[0]) if commit.parents else None
        before = await (self._source.trees.open(EMPTY) if first is None else self._source.tree(first))
        now = await self._source.tree(commit)
        base = trees[0] if trees else await self._target.trees.open(EMPTY)
        made = await self._target.trees.apply(base, self._changes(before, now, trees[1:]), self._mint)
        ids = tuple(each.id for each in parents)
        return msgspec.structs.replace(commit, parents=ids, tree=made.ref.id, tree_file=made.ref.file)

    async def _changes(self, before: Tree, now: Tree, others: Sequence[Tree]) -> AsyncIterator[pa.Table]:
        async with aclosing(trees_diff.diff(self._source.trees, before, now)) as tables:
            async for table in tables:
                for at in range(0, len(table), _AT_ONCE):
                    yield await self._copy_entries(table.slice(at, _AT_ONCE), others)

    async def _copy_entries(self, differences: pa.Table, others: Sequence[Tree]) -> pa.Table:
        found = trees_diff.differences_of(differences)
        here, missing = list[Entry](), list[Entry]()
        for entry in (each.right for each in found if each.right is not None):
            known = await self._find_copied(entry, others)
            (missing if known is None else here).append(known or entry)
        pairs = [(entry, entry.path) for entry in missing]
        copied = await copy_bodies(self._source, self._target, self._mint, pairs) if pairs else []
        entries = sorted((*here, *copied), key=lambda entry: entry.path.encode())
        return together(table_of(entries), pa.array([each.path for each in found if each.right is None], pa.string()))

    async def _find_copied(self, entry: Entry, others: Sequence[Tree]) -> Entry | None:
        """Returns the same object of another parent of a merge, whose bytes are copied already."""
        for tree in others:
            found = await tree.get(entry.path)
            if found is not None and all(getattr(found, name) == getattr(entry, name) for name in CONTENT):
                return found
        return None


def _pieces(commits: Sequence[Commit]) -> Iterator[tuple[Commit, ...]]:
    """Cuts the commits so that each piece fits into an event."""
    piece, size = list[Commit](), 0
    for commit in commits:
        size += len(msgspec.msgpack.encode(commit))
        if piece and size > _EVENT_BYTES:
            yield tuple(piece)
            piece, size = [], len(msgspec.msgpack.encode(commit))
        piece.append(commit)
    yield tuple(piece)
