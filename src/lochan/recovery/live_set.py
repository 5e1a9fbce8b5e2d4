"""All files that the state of a repository names: metadata files, and the blocks that they name in turn, at the places
where they are read from now."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from lochan.errors import Corrupt, FutureFormat, NotFound
from lochan.formats import alias_table
from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import as_batch, table_of
from lochan.formats.run import RunRef
from lochan.recovery.blocks import BLOCKS, blocks_of, resolve_aliases, table_of_blocks
from lochan.recovery.live_files import MISSING, FileDamage, LiveCheck
from lochan.store.checked_reads import get_decoded
from lochan.store.protocol import Store
from lochan.store.threads import for_tables
from lochan.versioning.bodies.aliases import Aliases
from lochan.versioning.collection.roots import RootScan, all_layers
from lochan.versioning.state.refs import Refs


class LiveSet(NamedTuple):
    files: tuple[str, ...]  # trees and runs that could be read, below the repository
    damaged: tuple[FileDamage, ...]  # those that could not be read: names that only they have are not in `blocks`
    blocks: pa.Table  # BLOCKS in the lake, each once, sorted by address and offset, at their current places


async def live_set(store: Store, repository: str, refs: Refs) -> LiveSet:
    """Reads everything that the state names. It takes about 200 bytes of memory for each block."""
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
    aliases, damaged = await read_aliases(store, repository, refs)
    check = LiveCheck(store, repository, for_tables(), lambda file, batch: tables.append(blocks_of(batch)))
    await check.check(roots.trees, roots.runs)
    await check.check_inputs(refs)
    if staged:
        tables.append(blocks_of(as_batch(table_of(staged))))
    tables.append(table_of_blocks(block for upload in refs.uploads.all() for block in _parts(refs, upload.id)))
    table = resolve_aliases(pa.concat_tables(tables), aliases)
    frame = pl.DataFrame(table).unique(["address", "offset", "size"]).sort("address", "offset")
    return LiveSet(
        tuple(sorted(check.files - check.damaged.keys())),
        (*check.damaged.values(), *damaged),
        frame.to_arrow().cast(BLOCKS),
    )


def _parts(refs: Refs, upload: str) -> Iterator[Block]:
    for part in refs.uploads.parts(upload):
        yield from part.blocks


async def read_aliases(store: Store, repository: str, refs: Refs) -> tuple[Aliases, list[FileDamage]]:
    """Returns the aliases that can be read, and the tables that cannot."""
    names = refs.collection.alias_names
    tables: list[pa.Table] = []
    damaged: list[FileDamage] = []
    for name in names.tables:
        decode = partial(_decode_aliases, name=name, repository=repository)
        try:
            tables.append(await get_decoded(store, f"{repository}/{name}", decode))
        except NotFound:
            damaged.append(FileDamage(name, "aliases", MISSING))
        except (Corrupt, FutureFormat) as error:
            damaged.append(FileDamage(name, "aliases", error.message))
    return Aliases(tables, dict(names.files)), damaged


def _decode_aliases(data: bytes, name: str, repository: str) -> pa.Table:
    return alias_table.decode(name, data, repository)
