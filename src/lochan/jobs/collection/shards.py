"""Divides the paths of a repository among tasks: each lists its own span of the store, and gets the marks of the files
in it. So the listing goes through no shuffle, and parts of the list are written in path order.

Bounds come from a sample of the files that are alive, and from the mint numbers of data: dead files may lie where
nothing is alive."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pyarrow as pa

from lochan.versioning.collection.listing import ListingSpan

FILES_PER_SHARD = 250_000
SHARDS_MAX = 2_000
_KINDS = ("metaranges/", "runs/")  # folders that come after the data


def shard_count(files: int, parallelism: int) -> int:
    return max(2 * parallelism, min(SHARDS_MAX, -(-files // FILES_PER_SHARD)))


def bounds_of(sample: Sequence[str], cut: int, count: int) -> tuple[str, ...]:
    """Returns about so many bounds, which ascend: half of them by the sample, half by the mints before the cut."""
    by_sample = _evenly(sorted(set(sample)), count // 2)
    mints = np.linspace(0, cut, count // 2 + 2)[1:-1].astype(np.int64).tolist()
    by_mint = [f"data/{mint:020d}" for mint in mints]
    return tuple(sorted({*by_sample, *by_mint, *_KINDS}))


def _evenly(items: Sequence[str], count: int) -> list[str]:
    if not items or count < 1:
        return []
    places = np.linspace(0, len(items) - 1, min(count, len(items)) + 2)[1:-1].round().astype(int)
    return [items[place] for place in places]


def shards_of(paths: pa.Array | pa.ChunkedArray, bounds: Sequence[str]) -> pa.Array:
    """Returns the number of each path's shard: that of the first bound that is not less than it."""
    if not bounds:
        return pa.array(np.zeros(len(paths), np.int32))
    found = pl.Series(list(bounds)).search_sorted(pl.Series(paths), side="left")
    return pa.array(found.to_numpy().astype(np.int32))


def span_of(shard: int, bounds: Sequence[str]) -> ListingSpan:
    return ListingSpan(bounds[shard - 1] if shard else "", bounds[shard] if shard < len(bounds) else None)
