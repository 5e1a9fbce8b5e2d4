"""Selects the ranges of a pool's tree that a plan must open, by their key spans.

A tree is in the order of its objects' ids, not of their keys. But objects that were loaded together are mostly close in
both orders. So a query of one day opens the ranges of that day, and `head 5` opens one or two of a hundred.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.entry import ENTRY_SCHEMA
from lochan.formats.pool_settings import PoolSettings
from lochan.formats.range import KeySpan, RangeRef
from lochan.pools import facts
from lochan.pools.keys import Span, class_of, string_times
from lochan.tree.tree import Tree


class Within(NamedTuple):
    """A condition on the key of rows."""

    span: Span
    or_keyless: bool = False  # whether rows that lack a part of the key are included
    also: Span | None = None  # a span of keys whose rows are included too


class Reach(NamedTuple):
    """The rows that a plan needs: those that meet all conditions, those without a key, or the first ones."""

    within: tuple[Within, ...] = ()
    no_key: bool = False
    first: int | None = None


EVERYTHING = Reach()
_BEHIND = "~"  # a text after all keys, which are hex digits


class OpenedRanges(NamedTuple):
    """The numbers of the tree's ranges that were opened, and their entries."""

    ranges: tuple[int, ...]
    entries: pa.Table


async def open_ranges(tree: Tree, settings: PoolSettings, reach: Reach) -> OpenedRanges:
    """Opens all ranges that may hold such rows, including those without a key span. If there is none, opens the last
    one, because the query needs to know fields."""
    within = [number for number, ref in enumerate(tree.ranges) if ref.keys is None or _meets(ref, reach)]
    within = within or list(range(len(tree.ranges)))[-1:]
    if reach.first is None or len(within) < 2:
        return await _open_ranges(tree, within)
    return await _first(tree, within, settings, reach.first)


def _meets(ref: RangeRef, reach: Reach) -> bool:
    keys = ref.keys
    assert keys is not None
    if reach.no_key and not keys.keyless:
        return False
    return all(
        (each.or_keyless and keys.keyless)
        or _overlaps(keys, each.span)
        or (each.also is not None and _overlaps(keys, each.also))
        for each in reach.within
    )


def _overlaps(keys: KeySpan, span: Span) -> bool:
    return bool(keys.least) and keys.least <= span.high.hex() and span.low.hex() <= keys.greatest


async def _first(tree: Tree, within: Sequence[int], settings: PoolSettings, count: int) -> OpenedRanges:
    """Opens ranges in the order of their least keys, until the rest begins after the `count`th row of the opened ones.
    Opens twice as many at each step: opening a few in vain is cheaper than waiting for each."""
    least = {number: _least(tree.ranges[number], settings) for number in within}
    waiting = sorted(within, key=lambda number: least[number])
    anywhere = sum(not least[number] for number in within)
    found = await _open_ranges(tree, waiting[:anywhere])
    waiting, step = waiting[anywhere:], 1
    while waiting:
        end = last_of(found.entries, count)
        more = [number for number in waiting[:step] if end is None or least[number] <= end]
        if not more:
            break
        added = await _open_ranges(tree, more)
        found = OpenedRanges((*found.ranges, *more), pa.concat_tables([found.entries, added.entries]))
        waiting, step = waiting[len(more) :], 2 * step
    return found


def _least(ref: RangeRef, settings: PoolSettings) -> str:
    """Returns the least key of its rows, or an empty text if it may be before all others."""
    keys = ref.keys
    if keys is None or (keys.keyless and is_anywhere(settings)):
        return ""
    texts = string_times(settings)  # they may be times of any age
    if texts is not None and bool(keys.least) and _overlaps(keys, texts):
        return ""
    return keys.least or _BEHIND


async def _open_ranges(tree: Tree, numbers: Sequence[int]) -> OpenedRanges:
    batches = [batch async for batch in tree.batches(numbers)]
    return OpenedRanges(tuple(numbers), pa.Table.from_batches(batches, ENTRY_SCHEMA))


def classes(tree: Tree, settings: PoolSettings) -> list[str] | None:
    """Returns one kind for each class of kinds of the key, or None if the ranges do not determine them."""
    spans = [ref.keys for ref in tree.ranges]
    found = {
        class_of(bytes.fromhex(end), settings) for keys in spans if keys for end in (keys.least, keys.greatest) if end
    }
    return None if None in spans or None in found else [kind for kind in found if kind]


def is_anywhere(settings: PoolSettings) -> bool:
    """Returns whether rows without the key can come before rows with it."""
    return settings.nulls_first or settings.keys[0].descending or len(settings.keys) > 1


def last_of(entries: pa.Table, count: int) -> str | None:
    """Returns a key that `count` of the objects' rows do not exceed, or None if there are fewer rows."""
    spans = facts.spans(entries)
    keyed = spans.filter(pc.greater(spans["max"], ""))
    order = pc.sort_indices(keyed["max"])
    reaching = np.cumsum(pc.subtract(keyed["rows"], keyed["keyless"]).take(order).to_numpy())
    at = int(np.searchsorted(reaching, count))
    found: str | None = keyed["max"][order[at].as_py()].as_py() if at < len(reaching) else None
    return found
