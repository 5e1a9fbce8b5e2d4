"""Finds blocks with equal bytes, and which of them to keep. These are pure functions over tables, for every engine.

named blocks, where they are ──▶ those in files of the repository ──▶ groups of equal ones ──▶ aliases
"""

from typing import NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.alias_table import ALIAS_SCHEMA
from lochan.formats.collection_events import AliasNames
from lochan.formats.entry import Block
from lochan.versioning.bodies.aliases import SPAN_SCHEMA, Aliases, overlapping, table_of_spans
from lochan.versioning.collection.live_blocks import BLOCK_SCHEMA

_SAME = ("sha256", "size")
_SPAN = tuple(SPAN_SCHEMA.names)
# Blocks in the repository's own files. `spans` is how many distinct spans of the file are alive, with a hash or
# without.
KNOWN_SCHEMA = pa.schema([*BLOCK_SCHEMA, pa.field("file_size", pa.int64()), pa.field("spans", pa.int64())])


class EqualBlocks(NamedTuple):
    """The equal blocks that an engine has found in one state."""

    read_at: int
    names: AliasNames
    aliases: Aliases
    blocks: int  # blocks in files of the repository that any entries name
    bytes: int
    equal: pa.Table  # KNOWN_SCHEMA: blocks whose bytes exist more than once

    def at(self, aliases: pa.Table) -> list[Block]:
        """Returns the distinct blocks that these aliases lead to."""
        place = {"target": "address", "target_offset": "offset"}
        spans = frame(aliases).select(*place, "size").rename(place)
        found = frame(self.equal).join(spans.unique(), on=_SPAN, how="semi")
        return [Block(*row) for row in found.select(BLOCK_SCHEMA.names).iter_rows()]


class DuplicateBlocks(NamedTuple):
    """The result that dedupe would have, or has had."""

    blocks: int
    bytes: int
    aliases: pa.Table  # ALIAS_SCHEMA, one for each block that need not be kept
    duplicate_bytes: int
    freed_bytes: int  # bytes of these in files that nothing else needs: the next collection frees them
    damaged: tuple[Block, ...] = ()  # blocks that were found to be damaged; nothing leads to them

    @property
    def packed_bytes(self) -> int:
        """The duplicate bytes in files that hold other live bytes too. They are freed when those files are
        rewritten."""
        return self.duplicate_bytes - self.freed_bytes


def known_blocks(placed: pa.Table, files: pa.Table, repository: str) -> pa.Table:
    """Returns a table of KNOWN_SCHEMA, made of distinct blocks (BLOCK_SCHEMA) and a listing (PLAN_SCHEMA). Only files
    that the repository wrote itself count: files outside it, and those of workspaces, may change.

    REQUIRES: `placed` has all blocks of every file that is listed."""
    own = frame(placed).filter(pl.col("address").str.starts_with(f"{repository}/data/"))
    own = own.with_columns(pl.struct("offset", "size").n_unique().over("address").cast(pl.Int64).alias("spans"))
    sizes = frame(files).select(
        (pl.lit(f"{repository}/") + pl.col("path")).alias("address"), pl.col("size").alias("file_size")
    )
    with_sizes = own.join(sizes, on="address", how="inner").filter(pl.col("sha256") != b"")
    with_sizes = with_sizes.filter(pl.col("offset") + pl.col("size") <= pl.col("file_size"))
    return with_sizes.select(KNOWN_SCHEMA.names).to_arrow().cast(KNOWN_SCHEMA)


def equal_blocks(known: pa.Table) -> pa.Table:
    """Returns the blocks whose bytes exist more than once. REQUIRES: `known` has all blocks with the same SHA-256."""
    found = frame(known).filter(pl.len().over(*_SAME) > 1)
    return found.to_arrow().cast(KNOWN_SCHEMA)


def duplicate_blocks(found: EqualBlocks, damaged: tuple[Block, ...] = ()) -> DuplicateBlocks:
    """Decides which blocks become aliases. It compares columns only, and reads no file."""
    equal, wrong = frame(found.equal), frame(table_of_spans(damaged))
    kept, others = _choose(equal, equal.join(wrong, on=_SPAN, how="anti"))
    one_object = found.aliases.table.filter(pc.greater(found.aliases.table["target_size"], 0))
    # Aliases of whole files lead to some files, which must not change; and a coalesced object must stay one file.
    fixed = [*(target for _, target in found.names.files), *pc.unique(one_object["target"]).to_pylist()]
    others = others.filter(~pl.col("address").is_in(fixed))
    pairs = others.join(kept, on=_SAME, how="inner")
    pairs = pairs.with_columns(pl.lit(0, pl.Int64).alias("target_size"), pl.lit(b"").alias("target_sha256"))
    aliases = _without_overlaps(pairs.select(ALIAS_SCHEMA.names).to_arrow().cast(ALIAS_SCHEMA))
    gone = frame(aliases).join(equal.select(*_SPAN, "spans").unique(_SPAN), on=_SPAN, how="inner")
    freed = gone.filter(pl.len().over("address") == pl.col("spans"))
    sizes = [int(each["size"].sum()) for each in (gone, freed)]
    return DuplicateBlocks(found.blocks, found.bytes, aliases, sizes[0], sizes[1], damaged)


def _choose(candidates: pl.DataFrame, right: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Splits each group of equal blocks into the one to keep and the others. It prefers a file that is a single block,
    because engines can read it, and then the oldest."""
    order = right.with_columns((pl.col("file_size") != pl.col("size")).alias("shares_file"))
    order = order.sort(*_SAME, "shares_file", "address", "offset")
    kept = order.unique(subset=_SAME, keep="first", maintain_order=True)
    kept = kept.select(*_SAME, pl.col("address").alias("target"), pl.col("offset").alias("target_offset"))
    own = {"target": "address", "target_offset": "offset"}
    others = candidates.join(kept.rename(own), on=(*_SAME, "address", "offset"), how="anti")
    return kept, others


def _without_overlaps(aliases: pa.Table) -> pa.Table:
    """Removes aliases that overlap. Spans of one file that share bytes cannot both have an alias: the later one is left
    where it is."""
    aliases = aliases.sort_by([("address", "ascending"), ("offset", "ascending"), ("size", "descending")])
    while len(twice := overlapping(aliases)):
        aliases = frame(aliases).join(frame(twice), on=_SPAN, how="anti").to_arrow().cast(ALIAS_SCHEMA)
    return aliases


def frame(table: pa.Table) -> pl.DataFrame:
    made = pl.from_arrow(table)
    assert isinstance(made, pl.DataFrame)
    return made
