"""The fields that a pool's rows have, for who types a query."""

from __future__ import annotations

from lochan.engines.query_context import QueryContext
from lochan.pools.leaf import Path
from lochan.pools.shape import OBJECT
from lochan.query.sources.pool import PoolSource
from lochan.query.sources.scans import Scans

_DEPTH = 3


async def fields_of(at: QueryContext, pool: str) -> list[str]:
    """On its default branch, as paths with dots."""
    repository = await at.catalog.open_repository(pool)
    try:
        resolved = await repository.resolve(repository.repository.default_branch)
        source = PoolSource(await at.snapshots.at(repository, resolved), Scans())
    finally:
        await repository.close()
    return _below(source, ())


def _below(source: PoolSource, path: Path) -> list[str]:
    found = []
    for name in source.members(path):
        inner = (*path, name)
        found.append(".".join(inner))
        if len(inner) < _DEPTH and any(known.leaf.kind == OBJECT for known in source.known(inner)):
            found += _below(source, inner)
    return found
