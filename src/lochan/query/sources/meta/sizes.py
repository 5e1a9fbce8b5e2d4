"""`p@c:sizes` and `p@c:growth`: the sizes below each prefix at every commit of a branch, and how much each commit added
and removed.

Commits share most of their ranges. The totals of a range are computed once and cached by its id, which stands for its
content. From commit to commit only the ranges that came or went are added or subtracted."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lochan.bounded_cache import BoundedCache
from lochan.errors import Gone
from lochan.formats.commit import Commit
from lochan.formats.metarange import EMPTY
from lochan.formats.range import RangeRef
from lochan.pools.keys import Instant
from lochan.query.sources.meta import MetaRows
from lochan.query.sources.meta.history import Readable
from lochan.tree.diff import ADDED, REMOVED, diff
from lochan.tree.tree import Tree
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.log import LogRequest, history

SIZE_FIELDS = ("commit", "date", "depth", "prefix", "objects", "bytes")
GROWTH_FIELDS = (
    *("commit", "date", "author", "message", "added", "removed", "changed"),
    *("bytes_added", "bytes_removed", "objects", "bytes"),
)
_DEPTH_MAX = 2  # levels of folders; totals of deeper ones would be nearly as many as objects
_FIRST_PARENTS = LogRequest(first_parent=True)

Totals = dict[tuple[int, str], tuple[int, int]]  # by depth and prefix: objects and bytes
_lock = threading.Lock()
_known: BoundedCache[str, Totals] = BoundedCache(200_000)  # by a range's id; their weight is the number of prefixes


async def size_rows(repository: OpenRepository, ref: str, readable: Readable | None = None) -> MetaRows:
    """Returns the sizes, the newest commit first. Depth 0 is everything, depth 1 the first folder of a path, and so
    on."""
    rows: list[dict[str, Any]] = []
    sums: dict[tuple[int, str], list[int]] = {}
    before: dict[str, RangeRef] = {}
    own: dict[str, Totals] = {}  # for a user who may not read everything
    async for id, commit, tree in _trees(repository, ref):
        now = {each.id: each for each in tree.ranges}
        either = {**before, **now}
        for side, sign in ((now.keys() - before.keys(), 1), (before.keys() - now.keys(), -1)):
            for name in side:
                for key, (objects, size) in (await _totals(repository, either[name], readable, own)).items():
                    total = sums.setdefault(key, [0, 0])
                    total[0] += sign * objects
                    total[1] += sign * size
        before = now
        rows += [
            {
                "commit": id,
                "date": Instant(commit.date),
                "depth": depth,
                "prefix": prefix,
                "objects": objects,
                "bytes": size,
            }
            for (depth, prefix), (objects, size) in sorted(sums.items())
            if objects or not depth
        ]
    return MetaRows(SIZE_FIELDS, rows)


async def growth_rows(repository: OpenRepository, ref: str, readable: Readable | None = None) -> MetaRows:
    """Returns the growth, the newest commit first. `objects` and `bytes` are the totals of the commit, for a user who
    may read all of it."""
    rows: list[dict[str, Any]] = []
    after: tuple[str, Commit, Tree] | None = None
    async for found in _trees(repository, ref):
        if after is not None:
            rows.append(await _growth(repository, after, found[2], readable))
        after = found
    if after is not None:
        rows.append(await _growth(repository, after, await repository.trees.open(EMPTY), readable))
    return MetaRows(GROWTH_FIELDS, rows)


async def _growth(
    repository: OpenRepository, after: tuple[str, Commit, Tree], before: Tree, readable: Readable | None
) -> dict[str, Any]:
    id, commit, tree = after
    counts = {ADDED: 0, REMOVED: 0, "changed": 0}
    sizes = {"left": 0, "right": 0}
    async for table in diff(repository.trees, before, tree):
        if readable is not None:
            table = table.filter(await readable(table["path"].combine_chunks()))
        for each in pc.value_counts(table["kind"].combine_chunks()).to_pylist():
            counts[each["values"] if each["values"] in counts else "changed"] += each["counts"]
        for side in sizes:
            sizes[side] += pc.sum(pc.struct_field(table[side].combine_chunks(), "size")).as_py() or 0
    whole = {"objects": tree.count, "bytes": tree.bytes} if readable is None else {}
    return {
        "commit": id,
        "date": Instant(commit.date),
        "author": commit.author,
        "message": commit.message,
        "added": counts[ADDED],
        "removed": counts[REMOVED],
        "changed": counts["changed"],
        "bytes_added": sizes["right"],
        "bytes_removed": sizes["left"],
        **whole,
    }


async def _trees(repository: OpenRepository, ref: str) -> AsyncIterator[tuple[str, Commit, Tree]]:
    """Yields commits along first parents, the newest first. Expired commits are left out, because their trees can no
    longer be read."""
    refs, _ = await repository.refs()
    async for id, commit in history(repository, ref, _FIRST_PARENTS):
        if refs.collection.has_expired(id):
            continue
        try:
            yield id, commit, await repository.tree(commit)
        except Gone:
            continue


async def _totals(
    repository: OpenRepository, ref: RangeRef, readable: Readable | None, own: dict[str, Totals]
) -> Totals:
    if readable is None:
        with _lock:
            found = _known.get(ref.id)
    else:
        found = own.get(ref.id)
    if found is not None:
        return found
    batch = (await repository.trees.ranges.load_all(ref)).batch
    paths, sizes = batch.column("path"), batch.column("size")
    if readable is not None:
        shown = await readable(paths)
        paths, sizes = paths.filter(shown), sizes.filter(shown)
    made = _by_prefix(paths, sizes)
    if readable is None:
        with _lock:
            return _known.put(ref.id, made, len(made))
    own[ref.id] = made
    return made


def _by_prefix(paths: pa.Array, sizes: pa.Array) -> Totals:
    made: Totals = {(0, ""): (len(paths), pc.sum(sizes).as_py() or 0)}
    for depth in range(1, _DEPTH_MAX + 1):
        folders = pc.struct_field(pc.extract_regex(paths, "^(?P<folder>" + "[^/]*/" * depth + ")"), "folder")
        deep = pc.is_valid(folders)
        table = pa.table({"folder": folders.filter(deep), "size": sizes.filter(deep)})
        grouped = table.group_by("folder").aggregate([("size", "sum"), ("size", "count")])
        for folder, size, count in zip(*(grouped[name].to_pylist() for name in grouped.column_names), strict=True):
            made[depth, folder] = count, size
    return made
