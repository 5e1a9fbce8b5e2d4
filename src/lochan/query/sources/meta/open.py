"""Opens the metadata that a source names."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
from msgspec.structs import replace

from lochan.errors import Invalid
from lochan.pools.row_tests import Test
from lochan.pools.snapshot import Snapshots
from lochan.query import ast
from lochan.query.sources.catalog import EVERYTHING, Catalog, Permits
from lochan.query.sources.meta import MetaRows
from lochan.query.sources.meta import contents as of_files
from lochan.query.sources.meta import contents as of_objects
from lochan.query.sources.meta import history as of_history
from lochan.query.sources.meta import history as of_refs
from lochan.query.sources.meta.lake import of_lake, pool_row
from lochan.query.sources.pool import PoolSource
from lochan.query.sources.scans import Scans
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL
from lochan.versioning.revisions.resolve import ResolvedRef
from lochan.versioning.uri import parse_ref

_OF_POOLS = ("settings", "indexrules", "objects", "partitions", "indexes")
_OF_NO_COMMIT = (
    *("branches", "tags", "branchlog", "journal", "settings", "indexrules"),
    *("plans", "planned", "unreferenced"),
)
_OF_NOW = ("plans", "planned", "unreferenced")  # these have no earlier state
_RULE_FIELDS = ("name", "kind", "field")
_INDEX_FIELDS = ("id", "rule", "object", "size")


async def lake_rows(catalog: Catalog, source: ast.Source, now: int, permits: Permits = EVERYTHING) -> MetaRows:
    return await of_lake(catalog, source.meta, moment(source.ref, now) if source.ref else None, permits)


async def rows_of(
    repository: OpenRepository,
    source: ast.Source,
    snapshots: Snapshots,
    test: Test,
    now: int,
    permits: Permits = EVERYTHING,
) -> MetaRows:
    """Returns the rows. `test` is used to prune objects, where the source is tapped."""
    about = repository.repository
    if source.meta in _OF_POOLS and about.kind != POOL:
        raise Invalid(f"`{about.name}` is a repository of files, which has no {source.meta}", hint="see :entries")
    if source.meta in _OF_NO_COMMIT:
        return await _of_repository(repository, source, now, permits)
    ref = at(repository, source.ref)
    match source.meta:
        case "log":
            return await of_history.log_rows(repository, ref)
        case "rawlog":
            return await of_history.raw_log_rows(repository, ref, _readable_test(repository, ref, permits))
        case "changes":
            return await of_history.change_rows(repository, ref, _readable_test(repository, ref, permits))
        case "lineage":
            from lochan.query.sources.meta.lineage import lineage_rows

            return await lineage_rows(repository, ref)
        case "sizes" | "growth":
            from lochan.query.sources.meta import sizes

            rows_over_time = sizes.size_rows if source.meta == "sizes" else sizes.growth_rows
            all_read = await permits.reads_all(repository, ref)
            return await rows_over_time(repository, ref, None if all_read else _readable_test(repository, ref, permits))
        case "staged":
            return await _visible_rows(await of_files.staged_rows(repository, ref), repository, ref, permits)
        case "indexes":
            return MetaRows(_INDEX_FIELDS)
    resolved = await repository.resolve(ref)
    match source.meta:
        case "entries":
            found = await of_files.entry_rows(await repository.tree(resolved.commit), repository.places)
            return await _visible_rows(found, repository, ref, permits)
        case "ranges":
            return await _ranges(repository, ref, resolved, permits)
    snapshot = await snapshots.at(repository, resolved)
    kept = PoolSource(snapshot, Scans(), test=test).objects
    rows = of_objects.partition_rows if source.meta == "partitions" else of_objects.object_rows
    return rows(snapshot, kept)


async def _visible_rows(found: MetaRows, repository: OpenRepository, ref: str, permits: Permits) -> MetaRows:
    """Returns the rows whose paths the user may read."""
    if found.table is None or permits is EVERYTHING:
        return found
    paths = found.table["path"].combine_chunks()
    table = found.table.filter(await permits.readable(repository, ref, paths))
    return found._replace(table=table) if len(table) else MetaRows(found.fields)


def _readable_test(repository: OpenRepository, ref: str, permits: Permits) -> of_history.Readable | None:
    """Returns a function that finds which paths may be read, or None if all may. A pool's objects have no paths of
    their own, and are read as a whole."""
    if permits is EVERYTHING:
        return None
    if repository.repository.kind == POOL:

        async def whole(paths: pa.Array) -> pa.Array:
            [allowed] = (await permits.readable(repository, ref, pa.array([""]))).to_pylist()
            return pa.repeat(pa.scalar(allowed), len(paths))

        return whole
    return partial(permits.readable, repository, ref)


async def _ranges(repository: OpenRepository, ref: str, resolved: ResolvedRef, permits: Permits) -> MetaRows:
    """Returns only ranges whose ends may be read, since their paths are shown."""
    found = of_files.range_rows(await repository.tree(resolved.commit))
    if permits is EVERYTHING or not found.rows:
        return found
    ends = [
        (await permits.readable(repository, ref, pa.array([row[end] for row in found.rows], pa.string()))).to_pylist()
        for end in ("min", "max")
    ]
    return found._replace(rows=[row for row, *both in zip(found.rows, *ends, strict=True) if all(both)])


async def _without_paths(found: MetaRows, repository: OpenRepository, permits: Permits) -> MetaRows:
    """Removes the objects' names from events of a branch that the user may read only in part."""
    all_read: dict[str, bool] = {}
    rows = []
    for row in found.rows:
        branch = str(row["payload"].get("branch") or repository.repository.default_branch)
        if branch not in all_read:
            all_read[branch] = await permits.reads_all(repository, branch)
        payload = row["payload"]
        if not all_read[branch]:
            payload = {name: value for name, value in payload.items() if name not in of_refs.ABOUT_OBJECTS}
        rows.append({**row, "payload": payload})
    return found._replace(rows=rows)


async def _of_repository(repository: OpenRepository, source: ast.Source, now: int, permits: Permits) -> MetaRows:
    time = _time(source, now)
    if time is not None and source.meta in _OF_NOW:
        raise Invalid(f":{source.meta} is read as it is now", hint=f"leave out @{source.ref}, and filter by its times")
    match source.meta:
        case "plans" | "planned" | "unreferenced":
            return await _collection(repository, source.meta)
        case "branches":
            return MetaRows(of_refs.BRANCH_FIELDS, of_refs.branch_rows(await of_refs.refs_of(repository.journal, time)))
        case "tags":
            return MetaRows(of_refs.TAG_FIELDS, of_refs.tag_rows(await of_refs.refs_of(repository.journal, time)))
        case "branchlog":
            return await of_refs.branchlog_rows(repository.journal)
        case "journal":
            found = await of_refs.journal_rows(repository.journal)
            return found if permits is EVERYTHING else await _without_paths(found, repository, permits)
        case "indexrules":
            return MetaRows(_RULE_FIELDS)
    return MetaRows((), [pool_row(repository.repository)])


async def _collection(repository: OpenRepository, meta: str) -> MetaRows:
    """Returns rows about garbage collection. Its code is imported here, so that a small query does not pay for it."""
    from lochan.query.sources.meta import collection

    match meta:
        case "plans":
            return MetaRows(collection.PLAN_FIELDS, await collection.plan_rows(repository))
        case "planned":
            return await collection.planned_rows(repository)
    return await collection.unreferenced_rows(repository)


def at_ref(source: ast.Source, ref: str) -> ast.Source:
    """Returns the source at this ref, if it names none itself and can have one."""
    is_time = ref.startswith("{")
    only_times = source.name is None or source.meta in _OF_NO_COMMIT
    if source.ref or not ref or (only_times and not is_time) or (source.meta == "staged" and is_time):
        return source
    return replace(source, ref=ref)


def at(repository: OpenRepository, ref: str) -> str:
    """Returns the ref, or the default branch if it is empty."""
    default = repository.repository.default_branch
    return f"{default}@{ref}" if ref.startswith("{") else ref or default


def moment(ref: str, now: int) -> int:
    """Returns the time in `{…}`, in microseconds since 1970."""
    expression = parse_ref(f"main@{ref}")
    return now - expression.ago if expression.ago is not None else expression.time or 0


def _time(source: ast.Source, now: int) -> int | None:
    if not source.ref:
        return None
    if not source.ref.startswith("{"):
        raise Invalid(
            f":{source.meta} does not belong to a commit", hint=f"leave out @{source.ref}, or give a time: @{{…}}"
        )
    return moment(source.ref, now)
