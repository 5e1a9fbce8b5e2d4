"""`:lineage`, `p@c:lineage`: the inputs of each commit, and the program that made it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from lochan.formats.commit import Commit
from lochan.pools.keys import Instant
from lochan.query.sources.catalog import Catalog
from lochan.query.sources.meta import MetaRows
from lochan.versioning.lineage import ORIGINS, PREFIX, parsed_inputs
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import Repository
from lochan.versioning.revisions.log import history

FIELDS = (
    *("commit", "date", "author", "message", "git", "job", "notebook", "spark"),
    *("input", "input_commit", "input_path", "staged", "left_out"),
)
_ORIGINS = {name: name.removeprefix(PREFIX) for name in ORIGINS}


async def lineage_rows(repository: OpenRepository, ref: str) -> MetaRows:
    """Returns a row for each input of a commit, the newest commit first. A commit without inputs has one row, with the
    program that made it."""
    return MetaRows(FIELDS, [row async for row in _rows(history(repository, ref))])


async def lake_lineage_rows(catalog: Catalog, found: Sequence[Repository]) -> MetaRows:
    """Returns what was made from each input, wherever that is, for all commits that branches lead to."""
    rows: list[dict[str, Any]] = []
    for each in found:
        repository = await catalog.open_repository(each.name)
        try:
            seen: set[str] = set()
            refs, _ = await repository.refs()
            for branch in refs.branches():
                async for row in _rows(_skip_seen(history(repository, branch.name), seen)):
                    rows.append({"repository": each.name, **row})
        finally:
            await repository.close()
    return MetaRows(("repository", *FIELDS), rows)


async def _skip_seen(commits: AsyncIterator[tuple[str, Commit]], seen: set[str]) -> AsyncIterator[tuple[str, Commit]]:
    async for id, commit in commits:
        if id not in seen:
            seen.add(id)
            yield id, commit


async def _rows(commits: AsyncIterator[tuple[str, Commit]]) -> AsyncIterator[dict[str, Any]]:
    async for id, commit in commits:
        origin = {to: commit.metadata[name] for name, to in _ORIGINS.items() if name in commit.metadata}
        inputs = [_input(each) for each in parsed_inputs(commit.metadata)]
        about = {"commit": id, "date": Instant(commit.date), "author": commit.author, "message": commit.message}
        for each in inputs or ([{}] if origin else []):
            yield {**about, **origin, **each}


def _input(found: dict[str, Any]) -> dict[str, Any]:
    if "left_out" in found:
        return {"left_out": found["left_out"]}
    row = {"input": found["repository"], "input_commit": str(found.get("commit", ""))}
    return {**row, "input_path": str(found.get("path", "")), "staged": found.get("staged") is True}
