"""Selects the objects that can hold rows that pass a test, by the spans of their keys. `statistics.py` uses the
rest."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.pools import keys
from lochan.pools.kinds import TIME
from lochan.pools.row_tests import All, Compare, Either, IsNull, Missing, OneOf, Scalar, Test
from lochan.pools.shape import Path
from lochan.pools.snapshot import Indices, Snapshot
from lochan.pools.tree_pruning import Within, is_anywhere

BY_KEY = "the span of the key"
BY_FIRST = "enough rows before them"


class Skipped(NamedTuple):
    """Objects that a plan does not read, and the reason."""

    why: str
    objects: int
    bytes: int


class Ends(NamedTuple):
    """Values of a field of the key, inclusive; None is no bound."""

    low: Any = None
    high: Any = None


def by_key(snapshot: Snapshot, among: Indices, within: Within | None) -> Indices:
    """Returns the objects that may have rows with such a key."""
    if within is None:
        return among
    span = within.span
    stop = bisect_right(snapshot.least, span.high.hex())  # they are in the order of their least key
    may = pc.greater_equal(snapshot.spans["max"].slice(0, stop), span.low.hex()).to_numpy()
    kept: Indices = np.flatnonzero(may)
    if within.also is not None:
        kept = np.union1d(kept, overlapping(snapshot, within.also))
    if within.or_keyless:
        kept = np.union1d(kept, np.flatnonzero(snapshot.keyless))
    return kept if among is snapshot.all else np.intersect1d(among, kept, assume_unique=True)


def first(snapshot: Snapshot, count: int) -> Indices:
    """Returns the objects that may have one of the first `count` rows in the order of the key."""
    by_greatest, reached = snapshot.by_greatest
    at = int(np.searchsorted(reached, count))
    if at == len(reached):
        return snapshot.all
    end = snapshot.spans["max"][int(by_greatest[at])].as_py()
    kept = snapshot.all[: bisect_right(snapshot.least, end)]
    texts = keys.string_times(snapshot.settings)  # they may be times of any age
    if texts is not None:
        kept = np.union1d(kept, overlapping(snapshot, texts))
    if is_anywhere(snapshot.settings):
        return np.union1d(kept, np.flatnonzero(snapshot.keyless))
    return kept


def overlapping(snapshot: Snapshot, span: keys.Span) -> Indices:
    high = pc.greater_equal(snapshot.spans["max"], span.low.hex()).to_numpy()
    low = pc.less_equal(snapshot.spans["min"], span.high.hex()).to_numpy()
    found: Indices = np.flatnonzero(high & low)
    return found


def within(ends: Ends, settings: PoolSettings) -> Within | None:
    """Returns the condition for a range of keys. A row that lacks a part of the key is in no range."""
    return (
        None
        if ends == (None, None)
        else Within(keys.bounds(ends.low, ends.high, settings), also=keys.string_times(settings))
    )


def key_test(test: Test, settings: PoolSettings) -> Within | None:
    """Returns the condition of the test on the key: on its first field, and on the next ones as long as a field has
    only one value."""
    ends: list[Ends] = []
    for key in settings.keys:
        found = _ends_of(test, key.path) if key.path else Ends()
        if found == (None, None):
            break
        ends.append(found)
        if found.low is None or found.low != found.high:
            break
    several = len(settings.keys) > 1  # a row that lacks the one part may have the other
    if not ends:
        return None
    return Within(keys.prefix_bounds(ends, settings), or_keyless=several, also=keys.string_times(settings))


def keyless(test: Test, settings: PoolSettings) -> bool:
    """Returns whether all rows that pass lack a part of the key, or have null in it."""
    match test:
        case All(tests):
            return any(keyless(each, settings) for each in tests)
        case Either(tests):
            return all(keyless(each, settings) for each in tests)
        case IsNull(path) | Missing(path):
            return any(key.path == path for key in settings.keys)
    return False


def _ends_of(test: Test, path: Path) -> Ends:
    """Returns the bounds of the field in all rows that pass."""
    match test:
        case All(tests):
            return _closest([_ends_of(each, path) for each in tests])
        case Either(tests):
            return _enclose([_ends_of(each, path) for each in tests])
        case OneOf(of, values) if of == path and values:
            return _enclose([_ends(Compare(of, "==", *value)) for value in values])
        case Compare() if test.path == path:
            return _ends(test)
    return Ends()


def _ends(test: Compare) -> Ends:
    value = _key(test.kind, test.value)
    match test.op:
        case "==":
            return Ends(value, value)
        case ">" | ">=":
            return Ends(value, None)
    return Ends(None, value)


def _key(kind: str, value: Scalar) -> Any:
    return keys.Instant(int(value)) if kind == TIME else value


def _closest(ends: Sequence[Ends]) -> Ends:
    low = [each.low for each in ends if each.low is not None]
    high = [each.high for each in ends if each.high is not None]
    return Ends(max(low, key=_place, default=None), min(high, key=_place, default=None))


def _enclose(ends: Sequence[Ends]) -> Ends:
    low, high = [each.low for each in ends], [each.high for each in ends]
    return Ends(
        None if None in low else min(low, key=_place, default=None),
        None if None in high else max(high, key=_place, default=None),
    )


def _place(value: Any) -> bytes:
    """Returns bytes that order values of all kinds as keys are ordered."""
    return keys.encode([value], _ORDER)


_ORDER = PoolSettings((PoolKey(("key",)),))
