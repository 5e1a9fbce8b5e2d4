"""Everything that the state of a repository names: metadata files, and the blocks of bytes that they name in turn."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from lochan.formats.entry import Entry
from lochan.formats.entry_table import as_batch, table_of
from lochan.formats.run import RunRef
from lochan.recovery.blocks import BLOCKS, blocks_of, moved
from lochan.recovery.live_files import FileDamage, LiveCheck
from lochan.store.protocol import Store
from lochan.store.threads import for_tables
from lochan.versioning.collection.roots import RootScan, all_layers
from lochan.versioning.state.refs import Refs


class LiveSet(NamedTuple):
    files: tuple[str, ...]  # trees and runs that could be read; below the repository
    damaged: tuple[FileDamage, ...]  # those that could not: what only they name is not in `blocks`
    blocks: pa.Table  # BLOCKS in the lake, each once, sorted by address and offset, where they are read from today
    addresses: frozenset[str]  # of bytes that are staged or uploaded; most of them are in `blocks` too


async def live_set(store: Store, repository: str, refs: Refs) -> LiveSet:
    """Takes about 200 bytes of memory for each block."""
    import polars as pl

    tables: list[pa.Table] = [BLOCKS.empty_table()]
    roots = RootScan(repository).look(refs)
    staged = [
        change
        for _, layers in all_layers(refs)
        for layer in layers.layers
        if not isinstance(layer, RunRef)
        for change in layer.changes()
        if isinstance(change, Entry)
    ]
    aliases = refs.collection.aliases()
    check = LiveCheck(store, repository, for_tables(), lambda file, batch: tables.append(blocks_of(batch)))
    await check.check(roots.trees, roots.runs)
    if staged:
        tables.append(blocks_of(as_batch(table_of(staged))))
    table = moved(pa.concat_tables(tables), aliases)
    frame = pl.DataFrame(table).unique(["address", "offset", "size"]).sort("address", "offset")
    return LiveSet(
        tuple(sorted(check.files - check.damaged.keys())),
        tuple(check.damaged.values()),
        frame.to_arrow().cast(BLOCKS),
        frozenset(aliases.get(each, each) for each in roots.addresses if "://" not in each),
    )
