"""Explains a query without reading rows: what it would read, and how. Lists the fields of a pool."""

from __future__ import annotations

from typing import Any

from lochan.engines.choice import engine_of_query
from lochan.engines.duckdb.run import WorkFolders
from lochan.engines.query_context import QueryContext
from lochan.engines.run_query import RunOptions, prepare_query
from lochan.pools.kinds import OBJECT
from lochan.pools.shape import Path
from lochan.query.prepare import Prepared
from lochan.query.sources.pool import PoolSource
from lochan.query.sources.scans import Scans

_DEPTH = 3  # levels of the fields that are listed


async def explain(at: QueryContext, text: str, options: RunOptions) -> dict[str, Any]:
    """Explains a query. Raises QueryError."""
    work = WorkFolders()
    try:
        plan = await prepare_query(at, text, options, work)
    finally:
        work.close()
    try:
        engine = engine_of_query(options.engine, plan, options.spark, options.limits)
        return {
            "engine": engine,
            "sources": [_source(pool) for pool in plan.opening.pools],
            "scans": [_scan(plan, name) for name in _names(plan)],
            "sql": plan.plan.sql(engine),
        }
    finally:
        await plan.opening.close()


def _source(pool: PoolSource) -> dict[str, Any]:
    snapshot, read = pool.snapshot, pool.objects
    return {
        "pools": [{"name": owner.pool, "commit": owner.commit} for owner in snapshot.owners],
        "objects": snapshot.total.objects,
        "objects_read": len(read),
        "bytes": snapshot.total.bytes,
        "bytes_read": int(snapshot.sizes[read].sum()),
        "rows_read": int(snapshot.rows[read].sum()),
        "skipped": [each._asdict() for each in pool.skipped],
    }


def _scan(plan: Prepared, name: str) -> dict[str, Any]:
    """Describes a scan. Objects with the same columns are read together."""
    scan = plan.opening.scans.files[name]
    return {"name": name, "objects": [each.id for each in scan.objects], "columns": sorted(scan.columns)}


def _names(plan: Prepared) -> list[str]:
    from lochan.engines.duckdb.run import scan_names

    return scan_names(plan.plan.query, plan.opening.scans)


async def fields_of(at: QueryContext, pool: str) -> list[str]:
    """Returns the fields of a pool's default branch, as paths with dots, for completing queries."""
    repository = await at.catalog.open_repository(pool)
    try:
        resolved = await repository.resolve(repository.repository.default_branch)
        source = PoolSource(await at.snapshots.at(repository, resolved), Scans())
    finally:
        await repository.close()
    return _list_fields(source, ())


def _list_fields(source: PoolSource, path: Path) -> list[str]:
    found = []
    for name in source.members(path):
        inner = (*path, name)
        found.append(".".join(inner))
        if len(inner) < _DEPTH and any(info.leaf.kind == OBJECT for info in source.known(inner)):
            found += _list_fields(source, inner)
    return found
