"""`p@c:log`, `p@c:rawlog`, `p@c:changes`: how a commit came to be."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.commit import Commit
from lochan.formats.metarange import EMPTY
from lochan.pools.facts import spans
from lochan.pools.keys import Instant
from lochan.pools.objects import SUFFIX, object_id
from lochan.query.sources.meta.rows import MetaRows
from lochan.tree.diff import ADDED, REMOVED, diff
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL
from lochan.versioning.revisions.log import history

Readable = Callable[[pa.Array], Awaitable[pa.Array]]  # of each path, whether it may be shown

_COMMIT_FIELDS = ("id", "parents", "author", "committer", "date", "message", "metadata", "generation")
_CHANGE_FIELDS = ("commit", "date", "change", "id", "path", "size")


async def log_rows(repository: OpenRepository, ref: str) -> MetaRows:
    """Newest first."""
    return MetaRows(_COMMIT_FIELDS, [_commit(id, commit) async for id, commit in history(repository, ref)])


def _commit(id: str, commit: Commit) -> dict[str, Any]:
    return {
        "id": id,
        "parents": list(commit.parents),
        "author": commit.author,
        "committer": commit.committer,
        "date": Instant(commit.date),
        "message": commit.message,
        "metadata": dict(commit.metadata),
        "generation": commit.generation,
    }


async def raw_log_rows(repository: OpenRepository, ref: str, readable: Readable | None = None) -> MetaRows:
    """Every commit, and behind it every object that it added or removed; oldest first."""
    rows: list[dict[str, Any]] = []
    for id, commit in reversed([found async for found in history(repository, ref)]):
        rows.append({"action": "commit", **_commit(id, commit)})
        async for change in _changes(repository, commit, readable):
            rows.append({"action": change.pop("change"), "commit": id, **change})
    return MetaRows(("action", *_COMMIT_FIELDS), rows)


async def change_rows(repository: OpenRepository, ref: str, readable: Readable | None = None) -> MetaRows:
    """What each commit added and removed against its first parent, newest first."""
    rows = []
    async for id, commit in history(repository, ref):
        async for change in _changes(repository, commit, readable):
            rows.append({"commit": id, "date": Instant(commit.date), **change})
    return MetaRows(_CHANGE_FIELDS, rows)


async def _changes(
    repository: OpenRepository, commit: Commit, readable: Readable | None
) -> AsyncIterator[dict[str, Any]]:
    refs, _ = await repository.refs()
    after = await repository.tree(commit)
    before = await (repository.tree(refs.commit(commit.parents[0])) if commit.parents else repository.trees.open(EMPTY))
    describe = _objects if repository.repository.kind == POOL else _paths
    async for table in diff(repository.trees, before, after):
        if readable is not None:
            table = table.filter(await readable(table["path"].combine_chunks()))
        for change in describe(table):
            yield change


def _paths(table: pa.Table) -> list[dict[str, Any]]:
    names, kinds = table["path"].to_pylist(), table["kind"].to_pylist()
    sides = zip(_sizes(table, "left"), _sizes(table, "right"), strict=True)
    return [
        {"change": kind, "path": path, "size": before if kind == REMOVED else after}
        for path, kind, (before, after) in zip(names, kinds, sides, strict=True)
    ]


def _sizes(table: pa.Table, side: str) -> list[int | None]:
    sizes: list[int | None] = table[side].combine_chunks().field("size").to_pylist()
    return sizes


def _objects(table: pa.Table) -> list[dict[str, Any]]:
    """Data objects by their id, with how many rows they have."""
    found = []
    for side, change in (("left", REMOVED), ("right", ADDED)):
        there = table.filter(pc.is_valid(table[side]))
        if not len(there):
            continue
        values = there[side].combine_chunks()
        names = ("size", "metadata")
        entries = pa.table({"path": there["path"], **{name: values.field(name) for name in names}})
        for row in spans(entries).select(["path", "rows", "size"]).to_pylist():
            if row["path"].endswith(SUFFIX):
                id = object_id(row["path"])
                found.append({"change": change, "id": id, "count": row["rows"], "size": row["size"]})
    return found
