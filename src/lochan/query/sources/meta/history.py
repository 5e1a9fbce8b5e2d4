"""`p:branches`, `p:tags`, `p:branchlog`, `p:journal`: refs and the journal. `p@c:log`, `p@c:rawlog`, `p@c:changes`: the
history of a commit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.commit import Commit
from lochan.formats.metarange import EMPTY
from lochan.journal.feed import EventLine, lines
from lochan.journal.journal import Journal
from lochan.journal.state import Schema, State, StatePart
from lochan.pools.facts import spans
from lochan.pools.keys import Instant
from lochan.pools.objects import SUFFIX, object_id
from lochan.query.sources.meta import MetaRows
from lochan.tree.diff import ADDED, REMOVED, diff
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL
from lochan.versioning.revisions.log import history
from lochan.versioning.state.refs import Refs

BRANCH_FIELDS = ("name", "commit", "date", "author", "message", "staged")
TAG_FIELDS = ("name", "commit", "date", "author", "message")
_LOG_FIELDS = ("number", "time", "user", "ref", "kind", "action", "before", "after")
_EVENT_FIELDS = ("number", "index", "time", "user", "author", "client", "source", "type", "payload")


# The fields of an event's payload that name objects, or their files.
ABOUT_OBJECTS = frozenset(
    (
        *("puts", "deletes", "runs", "leftovers", "inputs", "outputs", "spans", "over", "path", "address", "blocks"),
        *("patterns", "size", "etag", "checksums", "metadata", "headers", "content_type"),
    )
)


async def refs_of(journal: Journal, time: int | None) -> Refs:
    return (await journal.fresh()).of(Refs) if time is None else (await state_at(journal, (Refs,), time)).of(Refs)


def branch_rows(refs: Refs) -> list[dict[str, Any]]:
    return [
        {"name": each.name, **_commit(refs, each.head), "staged": not each.layers.empty} for each in refs.branches()
    ]


def tag_rows(refs: Refs) -> list[dict[str, Any]]:
    return [{"name": name, **_commit(refs, commit)} for name, commit in refs.tags()]


def _commit(refs: Refs, id: str) -> dict[str, Any]:
    commit = refs.recorded(id)
    return {"commit": id, "date": Instant(commit.date), "author": commit.author, "message": commit.message}


async def journal_rows(journal: Journal) -> MetaRows:
    """Returns every event, the oldest first."""
    rows = []
    async for sealed in journal.records():
        for line in lines(sealed):
            rows.append({**_line(line), "payload": line.payload})
    return MetaRows(_EVENT_FIELDS, rows)


def _line(line: EventLine) -> dict[str, Any]:
    return {
        "number": line.number,
        "index": line.index,
        "time": Instant(line.time),
        "user": line.user,
        "author": line.author,
        "client": line.client,
        "source": line.source,
        "type": line.type,
    }


async def branchlog_rows(journal: Journal) -> MetaRows:
    """Returns every move of every branch and tag, the oldest first. It replays the journal's events, and compares the
    refs before and after each record."""
    state = await state_at(journal, (Refs,), -1)
    rows = []
    heads: dict[tuple[str, str], str] = {}
    async for sealed in journal.records():
        state.fold(sealed)
        now = _heads(state.of(Refs))
        if now != heads:
            events = lines(sealed)
            rows += [
                {
                    "number": sealed.record.number,
                    "time": Instant(sealed.record.time),
                    "user": events[0].user,
                    "ref": name,
                    "kind": kind,
                    "action": _action(heads.get((kind, name)), now.get((kind, name)), events, name),
                    "before": heads.get((kind, name)),
                    "after": now.get((kind, name)),
                }
                for kind, name in sorted(heads.keys() | now.keys())
                if heads.get((kind, name)) != now.get((kind, name))
            ]
        heads = now
    return MetaRows(_LOG_FIELDS, rows)


def _heads(refs: Refs) -> dict[tuple[str, str], str]:
    branches = {("branch", each.name): each.head for each in refs.branches()}
    return {**branches, **{("tag", name): commit for name, commit in refs.tags()}}


def _action(before: str | None, after: str | None, events: list[EventLine], name: str) -> str:
    if before is None:
        return "created"
    if after is None:
        return "deleted"
    for line in events:
        if line.payload.get("branch") == name:
            return str(line.payload.get("why") or line.type)
    return "moved"


async def state_at(journal: Journal, parts: tuple[type[StatePart], ...], time: int) -> State:
    """Returns the state after every record before the first one with a later time. Clocks differ, so the records' own
    order counts."""
    state = Schema(*parts).empty(journal.journal)
    async for sealed in journal.records():
        if sealed.record.time > time:
            break
        state.fold(sealed)
    return state


# ── log, rawlog, changes: how a commit came to be ────────────────────────────────────────────────────────────────────


Readable = Callable[[pa.Array], Awaitable[pa.Array]]  # returns for each path whether it may be shown

_COMMIT_FIELDS = ("id", "parents", "author", "committer", "date", "message", "metadata", "generation")
_CHANGE_FIELDS = ("commit", "date", "change", "id", "path", "size")


async def log_rows(repository: OpenRepository, ref: str) -> MetaRows:
    """Returns the commits, the newest first."""
    return MetaRows(_COMMIT_FIELDS, [_commit_row(id, commit) async for id, commit in history(repository, ref)])


def _commit_row(id: str, commit: Commit) -> dict[str, Any]:
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
    """Returns every commit, followed by every object that it added or removed, the oldest first."""
    rows: list[dict[str, Any]] = []
    for id, commit in reversed([found async for found in history(repository, ref)]):
        rows.append({"action": "commit", **_commit_row(id, commit)})
        async for change in _changes(repository, commit, readable):
            rows.append({"action": change.pop("change"), "commit": id, **change})
    return MetaRows(("action", *_COMMIT_FIELDS), rows)


async def change_rows(repository: OpenRepository, ref: str, readable: Readable | None = None) -> MetaRows:
    """Returns what each commit added and removed against its first parent, the newest first."""
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
    """Returns data objects by their id, with the number of their rows."""
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
