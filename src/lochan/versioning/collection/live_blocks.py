"""Every block that is alive, as a table: dedupe, repack and the search for dangling blocks work with it.

It shows a single state. An event that is derived from it carries the number of that state (G4)."""

from collections.abc import Iterable
from contextlib import aclosing
from typing import NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.collection_events import AliasNames
from lochan.formats.entry import ENTRY_SCHEMA, Block
from lochan.versioning.bodies.aliases import SPAN_SCHEMA, Aliases, resolve
from lochan.versioning.collection.engine import LISTED
from lochan.versioning.collection.listing import list_all
from lochan.versioning.collection.marks import entry_batches
from lochan.versioning.collection.progress import SILENT, StageProgress
from lochan.versioning.collection.roots import RootScan
from lochan.versioning.open_repository import OpenRepository

BLOCK_SCHEMA = SPAN_SCHEMA.append(pa.field("sha256", pa.binary(), nullable=False))
_BLOCK_TYPE = ENTRY_SCHEMA.field("blocks").type.value_type
_TOGETHER = 1_000_000  # blocks that are made distinct at once


class LiveBlocks(NamedTuple):
    read_at: int
    names: AliasNames
    aliases: Aliases
    named: pa.Table  # BLOCK_SCHEMA: the distinct blocks, as entries name them
    files: pa.Table  # PLAN_SCHEMA: what the store has

    def placed(self) -> pa.Table:
        """Returns distinct blocks (BLOCK_SCHEMA) at the places where their bytes are."""
        return distinct_blocks([placed_blocks(self.named, self.aliases.table)])


async def live_blocks(repository: OpenRepository, progress: StageProgress = SILENT) -> LiveBlocks:
    """Reads all blocks that are alive. Raises Corrupt or NotFound for a tree, a run or an alias table that cannot be
    read."""
    refs, read_at = await repository.refs()
    names, roots = refs.collection.alias_names, RootScan(repository.repository.id).look(refs)
    held = [table_of_blocks(roots.blocks)]
    seen: set[str] = set()
    async with aclosing(entry_batches(repository, roots, seen, progress)) as batches:
        async for entries in batches:
            held.append(block_table(pc.list_flatten(entries.column("blocks"))))
            if sum(map(len, held)) > _TOGETHER:
                held = [distinct_blocks(held)]
    progress.tell(LISTED, 0, 1)
    files = await list_all(repository.store, repository.repository.id)
    progress.tell(LISTED, 1, 1)
    return LiveBlocks(read_at, names, await repository.places.load(names), distinct_blocks(held), files)


def placed_blocks(blocks: pa.Table, aliases: pa.Table) -> pa.Table:
    """Returns the same blocks (BLOCK_SCHEMA) at the places where their bytes are."""
    found = resolve(blocks, aliases)
    return pa.table([*(found[name] for name in SPAN_SCHEMA.names), blocks["sha256"]], BLOCK_SCHEMA)


def table_of_blocks(blocks: Iterable[Block]) -> pa.Table:
    """Returns the blocks as a table of BLOCK_SCHEMA."""
    return block_table(pa.array(map(_record, blocks), _BLOCK_TYPE))


def block_table(blocks: pa.StructArray) -> pa.Table:
    """Returns a table of BLOCK_SCHEMA with one row for each block."""
    return pa.table([pc.struct_field(blocks, name) for name in BLOCK_SCHEMA.names], BLOCK_SCHEMA)


def _record(block: Block) -> dict[str, str | int | bytes]:
    return {"address": block.address, "offset": block.offset, "size": block.size, "sha256": block.sha256}


def distinct_blocks(tables: list[pa.Table]) -> pa.Table:
    rows = pl.from_arrow(pa.concat_tables([BLOCK_SCHEMA.empty_table(), *tables]))
    assert isinstance(rows, pl.DataFrame)
    return rows.unique().sort("address", "offset", "size").to_arrow().cast(BLOCK_SCHEMA)
