"""A tripwire: no repository names files of another one. Copies between repositories copy the bytes, and files of a lake
cannot be imported. It is checked all the same before the files of a deleted repository are erased."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lochan.concurrency import map_ahead
from lochan.errors import Corrupt
from lochan.formats.range import RangeRef
from lochan.versioning.collection.roots import RootScan
from lochan.versioning.open_repository import OpenRepository

if TYPE_CHECKING:
    from lochan.versioning.collection.deleted import CollectedLake

_WIDTH = 8


async def check_named_by_none(lake: CollectedLake, ids: Sequence[str]) -> None:
    """Raises Corrupt if any other repository of the lake, deleted or not, names a file of these."""
    others = [*await lake.repositories(), *(each.repository for each in await lake.deleted_repositories())]
    for other in others if ids else ():
        if other.id in ids:
            continue
        repository = await lake.open_known(other)
        repository.settle_closed = None
        try:
            named = await _names(repository, ids)
        finally:
            await repository.close()
        if named:
            message = f"repository {other.name or other.id!r} names {named}, a file of a deleted repository"
            repository.journal.schema.alarm(message)
            raise Corrupt(message, hint="nothing was deleted; report this")


async def _names(repository: OpenRepository, ids: Sequence[str]) -> str:
    """Returns a file of one of these repositories that this repository names, or ""."""
    refs, _ = await repository.refs()
    roots = RootScan(repository.repository.id).look(refs)
    found = _foreign(pa.array(sorted(roots.addresses | roots.folders), pa.string()), ids)
    ranges: dict[str, RangeRef] = {}
    async with aclosing(map_ahead(repository.trees.open, roots.trees, _WIDTH)) as trees:
        async for tree in trees:
            ranges |= {each.file: each for each in tree.ranges}
    async with aclosing(map_ahead(repository.trees.ranges.load_all, ranges.values(), _WIDTH)) as loaded:
        async for rows in loaded:
            found = found or _foreign(_addresses(rows.batch), ids)
    for run in roots.runs:
        found = found or _foreign(_addresses((await repository.runs.open(run)).batch), ids)
    return found


def _addresses(entries: pa.RecordBatch) -> pa.Array:
    return pc.unique(pc.struct_field(pc.list_flatten(entries.column("blocks")), "address"))


def _foreign(addresses: pa.Array, ids: Sequence[str]) -> str:
    hits = reduce(pc.or_, (pc.starts_with(addresses, f"{id}/") for id in ids))
    first = addresses.filter(hits)[:1].to_pylist()
    return str(first[0]) if first else ""
