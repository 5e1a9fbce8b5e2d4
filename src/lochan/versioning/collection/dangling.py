"""Finds blocks that something names and that the store does not have: the file is gone, or too short.

Garbage collection never causes one. A missing block means that a file was deleted by hand, or by a lifecycle rule of
the bucket."""

from contextlib import aclosing
from typing import NamedTuple

import polars as pl
import pyarrow as pa

from lochan.concurrency import map_concurrently
from lochan.errors import NotFound
from lochan.versioning.bodies.aliases import resolve
from lochan.versioning.collection.live_blocks import LiveBlocks, live_blocks
from lochan.versioning.collection.marks import block_spans, entry_batches
from lochan.versioning.collection.roots import RootScan
from lochan.versioning.open_repository import OpenRepository

_AT_ONCE = 32
_PATHS_MAX = 3  # paths that are named for a block


class MissingSpan(NamedTuple):
    address: str
    offset: int
    size: int


class MissingBlock(NamedTuple):
    span: MissingSpan
    reason: str  # gone, short
    paths: tuple[str, ...]  # some of the paths that name it


class MissingBlocks(NamedTuple):
    checked: int
    found: list[MissingBlock]


def missing_spans(live: LiveBlocks, repository: str) -> pl.DataFrame:
    """Returns the spans that the listing of the store does not hold. The listing may be stale, so the caller checks
    each of them on the store once more."""
    prefix = f"{repository}/"
    files = pl.from_arrow(live.files)
    assert isinstance(files, pl.DataFrame)
    sizes = files.select((pl.lit(prefix) + pl.col("path")).alias("address"), pl.col("size").alias("file_size"))
    named = pl.from_arrow(live.placed())
    assert isinstance(named, pl.DataFrame)
    named = named.filter(pl.col("address").str.starts_with(prefix)).join(sizes, on="address", how="left")
    short = pl.col("offset") + pl.col("size") > pl.col("file_size")
    return named.filter(pl.col("file_size").is_null() | short).select("address", "offset", "size").unique()


async def dangling_blocks(repository: OpenRepository) -> MissingBlocks:
    """Finds missing blocks among everything that is alive. It reads no bodies. Raises Corrupt or NotFound for a tree, a
    run or an alias table that cannot be read."""
    live = await live_blocks(repository)
    rows = missing_spans(live, repository.repository.id).sort("address", "offset").rows()
    suspects = [MissingSpan(*row) for row in rows]

    async def reason(row: MissingSpan) -> str:
        try:
            stat = await repository.store.head(row.address)
        except NotFound:
            return "gone"
        return "short" if row.offset + row.size > stat.size else ""

    reasons = await map_concurrently(reason, suspects, _AT_ONCE)
    wrong = {row: why for row, why in zip(suspects, reasons, strict=True) if why}
    paths = await _paths(repository, live, wrong) if wrong else {}
    found = [MissingBlock(row, why, tuple(paths.get(row, ()))) for row, why in wrong.items()]
    return MissingBlocks(len(live.named), found)


async def _paths(
    repository: OpenRepository, live: LiveBlocks, wrong: dict[MissingSpan, str]
) -> dict[MissingSpan, list[str]]:
    """Returns some paths that name each block. It reads the trees a second time, so it is called only if something is
    wrong."""
    refs, _ = await repository.refs()
    roots = RootScan(repository.repository.id).look(refs)
    rows = pl.DataFrame(list(wrong), schema=["address", "offset", "size"], orient="row")
    found: dict[MissingSpan, list[str]] = {}
    async with aclosing(entry_batches(repository, roots, set())) as batches:
        async for entries in batches:
            spans = resolve(block_spans(entries), live.aliases.table)
            parents = pa.compute.list_parent_indices(entries.column("blocks"))
            named = spans.append_column("path", entries.column("path").take(parents))
            frame = pl.from_arrow(named)
            assert isinstance(frame, pl.DataFrame)
            for *row, path in (
                frame.join(rows, on=["address", "offset", "size"], how="semi")
                .select("address", "offset", "size", "path")
                .rows()
            ):
                paths = found.setdefault(MissingSpan(*row), [])
                if len(paths) < _PATHS_MAX and path not in paths:
                    paths.append(path)
    return found
