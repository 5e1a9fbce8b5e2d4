"""`:pools`, `:repositories`, `:branches`, `:tags`, `:users`, `:jobs`, `:joblog`, `:plans`, `:usage`, `:audit`,
`:lineage`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Invalid
from lochan.formats.pool_settings import PoolSettings, path_text
from lochan.pools.keys import Instant
from lochan.pools.settings import settings_of
from lochan.query.sources.catalog import EVERYTHING, Catalog, Permits
from lochan.query.sources.meta import MetaRows
from lochan.query.sources.meta.history import BRANCH_FIELDS, TAG_FIELDS, branch_rows, refs_of, state_at, tag_rows
from lochan.versioning.repositories import POOL, Repositories, Repository

_POOL_FIELDS = ("name", "id", "keys", "nulls", "size_bytes", "times", "primary_key", "default_branch", "created")
_REPOSITORY_FIELDS = ("name", "id", "kind", "default_branch", "created", "created_by", "metadata")
_USER_FIELDS = ("name", "created", "created_by", "policies", "keys")
_USAGE_FIELDS = ("time", "user", "operation", "repository", "ref", "path", "bytes", "status")
_JOBLOG_FIELDS = (
    *("id", "kind", "about", "state", "started", "ended", "user", "client", "source", "where"),
    *("done", "total", "rows", "executor_bytes", "driver_bytes", "error"),
)
_JOB_FIELDS = ("repository", "id", "kind", "branch", "path", "expires")


async def of_lake(catalog: Catalog, meta: str, time: int | None, permits: Permits = EVERYTHING) -> MetaRows:
    """Returns the metadata. With `time`, it is as of that moment, in microseconds since 1970."""
    if meta == "users":
        return MetaRows(_USER_FIELDS, await permits.shown_users(await catalog.user_rows(time)))
    if meta == "audit":
        return await _audit(catalog, time, permits)
    found = await permits.shown(meta, await _repositories(catalog, time))
    if meta == "usage":
        return await _usage(catalog, found, time, permits)
    if meta in ("joblog", "plans", "lineage") and time is not None:
        raise Invalid(f":{meta} is read as it is now", hint="leave out the time, and filter by the times in its rows")
    match meta:
        case "lineage":
            from lochan.query.sources.meta.lineage import lake_lineage_rows

            return await lake_lineage_rows(catalog, found)
        case "joblog":
            return await _joblog(catalog, found, permits)
        case "plans":
            return await _plans(catalog, found)
        case "pools":
            return MetaRows(_POOL_FIELDS, [pool_row(each) for each in found if each.kind == POOL])
        case "repositories":
            return MetaRows(_REPOSITORY_FIELDS, [_row(each) for each in found])
        case "jobs":
            return MetaRows(_JOB_FIELDS, [row for each in found for row in await _jobs(catalog, each, time)])
        case "branches":
            rows = [{"repository": each.name, **row} for each in found for row in await _branches(catalog, each, time)]
            return MetaRows(("repository", *BRANCH_FIELDS), rows)
    rows = [{"repository": each.name, **row} for each in found for row in await _tags(catalog, each, time)]
    return MetaRows(("repository", *TAG_FIELDS), rows)


def pool_row(pool: Repository) -> dict[str, Any]:
    return {
        "name": pool.name,
        "id": pool.id,
        **settings_row(settings_of(pool)),
        "default_branch": pool.default_branch,
        "created": Instant(pool.created),
        "created_by": pool.created_by,
        "metadata": dict(pool.metadata),
    }


def settings_row(settings: PoolSettings) -> dict[str, Any]:
    return {
        "keys": [str(key) for key in settings.keys],
        "nulls": "first" if settings.nulls_first else "last",
        "size_bytes": settings.size_bytes,
        "times": [path_text(path) for path in settings.times],
        "primary_key": [path_text(path) for path in settings.primary_key],
    }


def _row(repository: Repository) -> dict[str, Any]:
    return {
        "name": repository.name,
        "id": repository.id,
        "kind": repository.kind,
        "default_branch": repository.default_branch,
        "created": Instant(repository.created),
        "created_by": repository.created_by,
        "metadata": dict(repository.metadata),
    }


async def _repositories(catalog: Catalog, time: int | None) -> Sequence[Repository]:
    if time is None:
        return await catalog.repositories()
    return (await state_at(await catalog.journal(), catalog.parts, time)).of(Repositories).all()


async def _branches(catalog: Catalog, repository: Repository, time: int | None) -> list[dict[str, Any]]:
    return branch_rows(await refs_of(await catalog.journal(repository.id), time))


async def _tags(catalog: Catalog, repository: Repository, time: int | None) -> list[dict[str, Any]]:
    return tag_rows(await refs_of(await catalog.journal(repository.id), time))


async def _jobs(catalog: Catalog, repository: Repository, time: int | None) -> list[dict[str, Any]]:
    """Returns what is held open: uploads, address tokens and jobs, whose files garbage collection does not delete."""
    refs = await refs_of(await catalog.journal(repository.id), time)
    return [
        {
            "repository": repository.name,
            "id": id,
            "kind": held.kind,
            "branch": held.branch,
            "path": held.path,
            "expires": Instant(held.expires),
        }
        for id, held in refs.collection.all_held()
    ]


async def _plans(catalog: Catalog, found: Sequence[Repository]) -> MetaRows:
    from lochan.query.sources.meta.collection import PLAN_FIELDS, plan_rows

    rows: list[dict[str, Any]] = []
    for each in found:
        repository = await catalog.open_repository(each.name)
        try:
            rows += [{"repository": each.name, **row} for row in await plan_rows(repository)]
        finally:
            await repository.close()
    return MetaRows(("repository", *PLAN_FIELDS), rows)


async def _joblog(catalog: Catalog, found: Sequence[Repository], permits: Permits) -> MetaRows:
    """Returns the jobs. A user who may not read everything sees the jobs of repositories whose events they may see."""
    rows = await catalog.job_rows()
    if permits is not EVERYTHING:
        names = {each.name for each in found}
        rows = [row for row in rows if _about(row["about"]) <= names]
    return MetaRows(_JOBLOG_FIELDS, rows)


def _about(text: str) -> set[str]:
    """Returns the repositories that a job names, as in `logs@main` or `shop/a.csv`."""
    return {re.split(r"[@/:]", word, maxsplit=1)[0] for word in text.replace(",", " ").split()} or {""}


async def _usage(catalog: Catalog, found: Sequence[Repository], time: int | None, permits: Permits) -> MetaRows:
    """Returns only uses: calls about no repository, and those that were not let in, are in `:audit`. A user who may not
    read everything sees the rows of repositories whose events they may see, and of these only the paths that they may
    read. Repositories are identified by their current names."""
    if time is not None:
        raise Invalid("the usage log is read as it is now", hint="filter by time: where time < 2026-11-01")
    table = await catalog.usage_rows()
    of_verb = pc.and_(pc.equal(table["repository"], ""), pc.not_equal(table["client"], "s3"))
    table = table.filter(pc.and_not(pc.not_equal(table["user"], ""), of_verb)).select(_USAGE_FIELDS)
    if permits is not EVERYTHING:
        parts = [table.schema.empty_table()]
        for each in found:
            rows = table.filter(pc.equal(table["repository"], each.name))
            for ref in rows["ref"].unique().to_pylist() if len(rows) else ():
                parts.append(
                    await _filter_readable(catalog, each, ref, rows.filter(pc.equal(rows["ref"], ref)), permits)
                )
        table = pa.concat_tables(parts).sort_by("time")
    columns = {"bytes": pa.int64(), "status": pa.int64()}
    for name, type in columns.items():
        table = table.set_column(table.schema.get_field_index(name), name, table[name].cast(type))
    return MetaRows(_USAGE_FIELDS, table=table) if len(table) else MetaRows(_USAGE_FIELDS)


async def _audit(catalog: Catalog, time: int | None, permits: Permits) -> MetaRows:
    from lochan.query.sources.meta.audit import AUDIT_FIELDS, audit_table

    if time is not None:
        raise Invalid(":audit is read as it is now", hint="filter by time: where time < 2026-11-01")
    table = await audit_table(catalog, await catalog.usage_rows(), 0, permits)
    return MetaRows(AUDIT_FIELDS, table=table) if len(table) else MetaRows(AUDIT_FIELDS)


async def _filter_readable(catalog: Catalog, found: Repository, ref: str, rows: pa.Table, permits: Permits) -> pa.Table:
    repository = await catalog.open_repository(found.name)
    try:
        paths = rows["path"].combine_chunks()
        return rows.filter(await permits.readable(repository, ref or found.default_branch, paths))
    finally:
        await repository.close()
