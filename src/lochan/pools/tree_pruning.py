"""How far into a pool a plan must look: which ranges of its tree it opens, judged by the keys that they span.

A tree is in the order of its objects' ids, not of their keys; but objects that came together mostly lie together in
both. So a look at a day of a year opens the ranges of that day, and `head 5` one or two of a hundred.
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
    """Rows with such a key."""

    span: Span
    or_keyless: bool = False  # or with none that is whole
    also: Span | None = None  # or with one of these


class Reach(NamedTuple):
    """Rows within all of these; or without a key; or the first so many."""

    within: tuple[Within, ...] = ()
    no_key: bool = False
    first: int | None = None


EVERYTHING = Reach()
_BEHIND = "~"  # all keys, which are hex digits


class OpenedRanges(NamedTuple):
    """`ranges` are numbers of the tree's; `entries` are theirs."""

    ranges: tuple[int, ...]
    entries: pa.Table


async def open_ranges(tree: Tree, settings: PoolSettings, reach: Reach) -> OpenedRanges:
    """All that may hold such rows. A range that does not tell its keys may hold any. Where none does it is the last
    one: fields must be known by which a query can be understood."""
    within = [number for number, ref in enumerate(tree.ranges) if ref.keys is None or _meets(ref, reach)]
    within = within or list(range(len(tree.ranges)))[-1:]
    if reach.first is None or len(within) < 2:
        return await _opened(tree, within)
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
    """In the order of their least keys, until the rest begins behind the `count`th row of what is opened; twice as many
    at each step, for to open a few in vain is cheaper than to wait for each."""
    least = {number: _least(tree.ranges[number], settings) for number in within}
    waiting = sorted(within, key=lambda number: least[number])
    anywhere = sum(not least[number] for number in within)
    found = await _opened(tree, waiting[:anywhere])
    waiting, step = waiting[anywhere:], 1
    while waiting:
        end = last_of(found.entries, count)
        more = [number for number in waiting[:step] if end is None or least[number] <= end]
        if not more:
            break
        added = await _opened(tree, more)
        found = OpenedRanges((*found.ranges, *more), pa.concat_tables([found.entries, added.entries]))
        waiting, step = waiting[len(more) :], 2 * step
    return found


def _least(ref: RangeRef, settings: PoolSettings) -> str:
    """Where its first row may come; empty: before all others."""
    keys = ref.keys
    if keys is None or (keys.keyless and is_anywhere(settings)):
        return ""
    texts = string_times(settings)  # they may be times of any age
    if texts is not None and bool(keys.least) and _overlaps(keys, texts):
        return ""
    return keys.least or _BEHIND


async def _opened(tree: Tree, numbers: Sequence[int]) -> OpenedRanges:
    batches = [batch async for batch in tree.batches(numbers)]
    return OpenedRanges(tuple(numbers), pa.Table.from_batches(batches, ENTRY_SCHEMA))


def classes(tree: Tree, settings: PoolSettings) -> list[str] | None:
    """A kind of each class of kinds that the key is of, as far as the ranges tell; None: they do not."""
    told = [ref.keys for ref in tree.ranges]
    found = {
        class_of(bytes.fromhex(end), settings) for keys in told if keys for end in (keys.least, keys.greatest) if end
    }
    return None if None in told or None in found else [kind for kind in found if kind]


def is_anywhere(settings: PoolSettings) -> bool:
    """Whether rows without the key can come before rows that have it."""
    return settings.nulls_first or settings.keys[0].descending or len(settings.keys) > 1


def last_of(entries: pa.Table, count: int) -> str | None:
    """A key that `count` of the objects' rows do not exceed; None: there are not so many."""
    spans = facts.spans(entries)
    keyed = spans.filter(pc.greater(spans["max"], ""))
    order = pc.sort_indices(keyed["max"])
    reaching = np.cumsum(pc.subtract(keyed["rows"], keyed["keyless"]).take(order).to_numpy())
    at = int(np.searchsorted(reaching, count))
    found: str | None = keyed["max"][order[at].as_py()].as_py() if at < len(reaching) else None
    return found
