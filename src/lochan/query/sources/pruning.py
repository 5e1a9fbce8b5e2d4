"""Which objects can hold rows that pass a test, judged by what their entries know; and why the others cannot."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from lochan.formats import bloom
from lochan.formats.pool_settings import PoolSettings, path_text
from lochan.pools import keys
from lochan.pools.facts import Bound, ColumnFacts, Facts
from lochan.pools.shape import FLOAT, INT, STRING, TIME
from lochan.query.leaves import Leaf, Path
from lochan.query.sources.bounds import All, Compare, Either, OneOf, Scalar, Test
from lochan.query.sources.forms import Form
from lochan.query.sources.snapshot import Indices, Snapshot

BY_KEY = "the span of the key"
BY_FIRST = "enough rows before them"
NUMBERS = (INT, FLOAT)


class Skipped(NamedTuple):
    """Objects that a plan does not read, and what told so."""

    why: str
    objects: int
    bytes: int


class Ends(NamedTuple):
    """Values of the key's first field, both included; None: no end on that side."""

    low: Any = None
    high: Any = None


def by_key(snapshot: Snapshot, among: Indices, ends: Ends) -> Indices:
    """Those that may have rows with such a key."""
    if ends == (None, None):
        return among
    span = keys.bounds(ends.low, ends.high, snapshot.settings)
    stop = bisect_right(snapshot.least, span.high.hex())  # they are in the order of their least key
    may = pc.greater_equal(snapshot.spans["max"].slice(0, stop), span.low.hex()).to_numpy()
    kept: Indices = np.flatnonzero(may)
    return kept if among is snapshot.all else np.intersect1d(among, kept, assume_unique=True)


def first(snapshot: Snapshot, count: int) -> Indices:
    """Those that may have one of the first `count` rows in the order of the key."""
    by_greatest, reached = snapshot.by_greatest
    at = int(np.searchsorted(reached, count))
    if at == len(reached):
        return snapshot.all
    end = snapshot.spans["max"][int(by_greatest[at])].as_py()
    kept = snapshot.all[: bisect_right(snapshot.least, end)]
    settings = snapshot.settings
    if settings.nulls_first or settings.keys[0].descending or len(settings.keys) > 1:  # rows without it lie anywhere
        return np.union1d(kept, np.flatnonzero(snapshot.keyless))
    return kept


def ends_of(test: Test, settings: PoolSettings) -> Ends:
    """What the test says of the key."""
    path = settings.keys[0].path
    if not path:
        return Ends()
    found = Ends()
    for each in test.tests if isinstance(test, All) else (test,):
        if isinstance(each, Compare) and each.path == path:
            found = _closer(found, _ends(each))
        if isinstance(each, OneOf) and each.path == path and len({kind for kind, _ in each.values}) == 1:
            values = sorted((value for _, value in each.values), key=lambda value: value)
            kind = each.values[0][0]
            found = _closer(found, Ends(_key(kind, values[0]), _key(kind, values[-1])))
    return found


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


def _closer(one: Ends, other: Ends) -> Ends:
    """Of ends that cannot be compared either will do."""
    low = other.low if one.low is None else one.low if other.low is None else _most((one.low, other.low), max)
    high = other.high if one.high is None else one.high if other.high is None else _most((one.high, other.high), min)
    return Ends(low, high)


def _most(values: tuple[Any, Any], which: Any) -> Any:
    try:
        return which(values)
    except TypeError:
        return values[0]


# --- by the statistics of any column ---------------------------------------------------------------------------------
def why_not(test: Test, facts: Facts, form: Form) -> str:
    """What tells that no row of the object passes; empty: one may."""
    if form.is_open:
        return ""
    return _why_not(test, form, {column.path: column for column in facts.columns})


def _why_not(test: Test, form: Form, known: dict[Path, ColumnFacts]) -> str:
    match test:
        case All(tests):
            return next((why for each in tests if (why := _why_not(each, form, known))), "")
        case Either(tests):
            return _if_all(_why_not(each, form, known) for each in tests)
        case OneOf(path, values):
            return _if_all(_why_not(Compare(path, "==", *value), form, known) for value in values)
        case Compare():
            return _if_all(_columns_without(test, form, known), f"no such value in {path_text(test.path)}")
    return ""


def _if_all(reasons: Iterable[str], nothing: str = "") -> str:
    """The first of the reasons if there is none that is empty; `nothing` if there is no reason at all."""
    found = list(reasons)
    return "" if not all(found) else found[0] if found else nothing


def _columns_without(test: Compare, form: Form, known: dict[Path, ColumnFacts]) -> Iterator[str]:
    """For each column that could hold such a value, why it does not."""
    for kind in NUMBERS if test.kind in NUMBERS else (test.kind,):
        place = form.place(Leaf(test.path, kind))
        if place is None:
            continue
        column = known.get(place.column) if place.inside is None else None
        yield "" if column is None else _column_without(test, column)


def _column_without(test: Compare, column: ColumnFacts) -> str:
    name = path_text(test.path)
    if not column.present:
        return f"no such value in {name}"
    if column.least is None or column.greatest is None:
        return f"the filter of {name}" if _is_filtered(test, column) else ""
    if _is_outside(test, column.least, column.greatest, column.cut):
        return f"least and greatest {name}"
    return f"the filter of {name}" if _is_filtered(test, column) else ""


def _is_filtered(test: Compare, column: ColumnFacts) -> bool:
    """By the filter over the texts of the column's values, where it has one."""
    if not column.bloom or test.op != "==" or test.kind != column.kind or column.kind not in (INT, STRING):
        return False
    return not bloom.may_hold(column.bloom, bloom.hash_one(str(test.value)))


def _is_outside(test: Compare, least: Bound, greatest: Bound, cut: bool) -> bool:
    value: Any = test.value
    low: Any = least
    high: Any = greatest
    above = value > high and not (cut and test.kind == STRING and value.startswith(high))
    match test.op:
        case "==":
            return bool(value < low or above)
        case "<":
            return bool(value <= low)
        case "<=":
            return bool(value < low)
        case ">":
            return bool(above or (value == high and not cut))
    return bool(above)
