"""Blocks with equal bytes are kept once: the others become aliases of one of them, and are collected as garbage.

Blocks are equal if their SHA-256 and their size are. The one that is kept is read and compared with its SHA-256 before
another is aliased to it, so damage is never handed on: where it is damaged, another block of the same bytes is kept.
"""

from typing import NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from lochan.concurrency import map_concurrently
from lochan.errors import ConcurrentCommit, Corrupt, Gone, Refused
from lochan.formats.alias_table import ALIAS_SCHEMA
from lochan.formats.entry import Block, Entry
from lochan.formats.record import Actor
from lochan.versioning.bodies.aliases import SPAN_SCHEMA, overlapping, table_of_spans
from lochan.versioning.bodies.read import BodyReader
from lochan.versioning.collection.alias_maker import add_aliases
from lochan.versioning.collection.live_blocks import BLOCK_SCHEMA, LiveBlocks, live_blocks
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL

_ATTEMPTS = 5
_READS_AT_ONCE = 16
_SPAN = tuple(SPAN_SCHEMA.names)


class DuplicateBlocks(NamedTuple):
    """What dedupe would do, or has done."""

    blocks: int  # in files of the repository, wherever entries name them from
    bytes: int
    aliases: pa.Table  # ALIAS_SCHEMA, one for each block that need not be kept
    duplicate_bytes: int
    freed_bytes: int  # of these, in files that nothing else needs: the next collection frees them
    damaged: tuple[Block, ...] = ()  # found on the way, and nothing leads to them

    @property
    def packed_bytes(self) -> int:
        """In files that hold other live bytes too: they are freed when those are rewritten."""
        return self.duplicate_bytes - self.freed_bytes


def duplicate_blocks(live: LiveBlocks, repository: str, damaged: tuple[Block, ...] = ()) -> DuplicateBlocks:
    """Compares columns alone, and reads nothing. Only files that the repository wrote itself count: those outside, and
    those of workspaces, may change."""
    placed = _frame(live.placed()).filter(pl.col("address").str.starts_with(f"{repository}/data/"))
    whole = _frame(live.files).select(
        (pl.lit(f"{repository}/") + pl.col("path")).alias("address"), pl.col("size").alias("file_size")
    )
    known = placed.join(whole, on="address", how="inner").filter(pl.col("sha256") != b"")
    known = known.filter(pl.col("offset") + pl.col("size") <= pl.col("file_size"))
    wrong = _frame(table_of_spans(damaged))
    kept, others = _chosen(known, known.join(wrong, on=_SPAN, how="anti"))
    one_object = live.aliases.table.filter(pc.greater(live.aliases.table["target_size"], 0))
    # Aliases of whole files lead there, and cannot be changed; and what was coalesced stays one file.
    fixed = [*(target for _, target in live.names.files), *pc.unique(one_object["target"]).to_pylist()]
    others = others.filter(~pl.col("address").is_in(fixed))
    pairs = others.join(kept, on=("sha256", "size"), how="inner")
    pairs = pairs.with_columns(pl.lit(0, pl.Int64).alias("target_size"), pl.lit(b"").alias("target_sha256"))
    aliases = _without_overlaps(pairs.select(ALIAS_SCHEMA.names).to_arrow().cast(ALIAS_SCHEMA))
    gone = _frame(aliases)
    left = placed.join(gone, on=_SPAN, how="anti")
    freed = gone.join(left, on="address", how="anti")
    sizes = [int(each["size"].sum()) for each in (known, gone, freed)]
    return DuplicateBlocks(len(known), sizes[0], aliases, sizes[1], sizes[2], damaged)


async def dedupe_report(repository: OpenRepository) -> DuplicateBlocks:
    """What could be saved. Changes nothing, and reads no bodies."""
    _check_kind(repository)
    return duplicate_blocks(await live_blocks(repository), repository.repository.id)


async def dedupe(repository: OpenRepository, *, actor: Actor) -> DuplicateBlocks:
    """Aliases equal blocks to one that was read and is right. Raises Refused for a pool, or if garbage is collected
    again and again meanwhile."""
    _check_kind(repository)
    checked: dict[Block, bool] = {}
    for _ in range(_ATTEMPTS):
        live = await live_blocks(repository)
        found = await _with_verified(repository, live, checked)
        if not len(found.aliases):
            return found
        try:
            await add_aliases(repository, found.aliases, live.names, live.aliases, live.read_at, actor=actor)
        except ConcurrentCommit:
            continue
        return found
    raise Refused("garbage was collected, or others made aliases, all the time", hint="try again later")


async def _with_verified(repository: OpenRepository, live: LiveBlocks, checked: dict[Block, bool]) -> DuplicateBlocks:
    """Until every block that is kept is right."""
    while True:
        damaged = tuple(block for block, right in checked.items() if not right)
        found = duplicate_blocks(live, repository.repository.id, damaged)
        new = [each for each in _targets(found.aliases, live) if each not in checked]
        if not new:
            return found
        for block, right in zip(new, await verified(repository, new), strict=True):
            checked[block] = right


async def verified(repository: OpenRepository, blocks: list[Block]) -> list[bool]:
    """Of each, whether its bytes are there and have their SHA-256. Reads all of them, whenever that was done last."""
    reader = BodyReader(repository.store)

    async def is_right(block: Block) -> bool:
        entry = Entry(block.address, (block,), block.size, "", "", 0)
        try:
            async for _ in reader.read(entry):
                pass
        except (Corrupt, Gone):
            return False
        return True

    return await map_concurrently(is_right, blocks, _READS_AT_ONCE)


def _chosen(known: pl.DataFrame, right: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Of every group of equal blocks, the one that is kept, and the others. A file that is one block is preferred, for
    engines can read it; then the oldest."""
    same = ["sha256", "size"]
    order = right.with_columns((pl.col("file_size") != pl.col("size")).alias("shares_file"))
    order = order.sort(*same, "shares_file", "address", "offset")
    kept = order.unique(subset=same, keep="first", maintain_order=True)
    kept = kept.select(*same, pl.col("address").alias("target"), pl.col("offset").alias("target_offset"))
    own = {"target": "address", "target_offset": "offset"}
    others = known.join(kept.rename(own), on=(*same, "address", "offset"), how="anti")
    return kept, others


def _without_overlaps(aliases: pa.Table) -> pa.Table:
    """Spans of one file that share bytes cannot both have an alias: the later one is left where it is."""
    aliases = aliases.sort_by([("address", "ascending"), ("offset", "ascending"), ("size", "descending")])
    while len(twice := overlapping(aliases)):
        aliases = _frame(aliases).join(_frame(twice), on=_SPAN, how="anti").to_arrow().cast(ALIAS_SCHEMA)
    return aliases


def _targets(aliases: pa.Table, live: LiveBlocks) -> list[Block]:
    """The distinct blocks that aliases lead to."""
    spans = _frame(aliases).select(pl.col("target").alias("address"), pl.col("target_offset").alias("offset"), "size")
    found = _frame(live.placed()).filter(pl.col("sha256") != b"").join(spans.unique(), on=_SPAN, how="semi")
    return [Block(*row) for row in found.select(BLOCK_SCHEMA.names).iter_rows()]


def _frame(table: pa.Table) -> pl.DataFrame:
    made = pl.from_arrow(table)
    assert isinstance(made, pl.DataFrame)
    return made


def _check_kind(repository: OpenRepository) -> None:
    if repository.repository.kind == POOL:
        raise Refused(
            "a pool's data objects are not deduped: two equal ones are rows that are there twice",
            hint="`lochan compact POOL` merges small objects, and `lochan delete POOL --where TEST` removes rows",
        )
