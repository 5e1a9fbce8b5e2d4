"""`p:branches`, `p:tags`, `p:branchlog`, `p:journal`."""

from __future__ import annotations

from typing import Any

from lochan.journal.feed import EventLine, lines
from lochan.journal.journal import Journal
from lochan.pools.keys import Instant
from lochan.query.sources.meta.past import state_at
from lochan.query.sources.meta.rows import MetaRows
from lochan.versioning.state.refs import Refs

BRANCH_FIELDS = ("name", "commit", "date", "author", "message", "staged")
TAG_FIELDS = ("name", "commit", "date", "author", "message")
_LOG_FIELDS = ("number", "time", "user", "ref", "kind", "action", "before", "after")
_EVENT_FIELDS = ("number", "index", "time", "user", "author", "client", "source", "type", "payload")


# What of an event's payload names objects, or the files of some.
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
    """Every event, oldest first."""
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
    """Every move of every branch and tag, oldest first: the journal's events played once more, and the refs compared
    before and after each record."""
    state = await state_at(journal, (Refs,), -1)
    rows = []
    heads: dict[tuple[str, str], str] = {}
    async for sealed in journal.records():
        state.fold(sealed)
        now = _heads(state.of(Refs))
        if now != heads:
            said = lines(sealed)
            rows += [
                {
                    "number": sealed.record.number,
                    "time": Instant(sealed.record.time),
                    "user": said[0].user,
                    "ref": name,
                    "kind": kind,
                    "action": _action(heads.get((kind, name)), now.get((kind, name)), said, name),
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


def _action(before: str | None, after: str | None, said: list[EventLine], name: str) -> str:
    if before is None:
        return "created"
    if after is None:
        return "deleted"
    for line in said:
        if line.payload.get("branch") == name:
            return str(line.payload.get("why") or line.type)
    return "moved"
