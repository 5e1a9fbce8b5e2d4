"""`range low to high` and `.$nokey`: select rows of a pool by the first field of its key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from math import ceil, floor
from typing import Any, NamedTuple

from sqlglot import exp

from lochan.errors import Invalid
from lochan.formats.pool_settings import PoolSettings, path_text
from lochan.pools import times
from lochan.pools.json_row import exact_number
from lochan.pools.keys import Instant
from lochan.pools.kinds import BOOL, CLASSES, DECIMAL, FLOAT, INT, JSON, NULL, ORIGINAL, PLACES, STRING, TIME
from lochan.pools.pruning import Ends
from lochan.pools.row_tests import Scalar
from lochan.pools.shape import Leaf, Path
from lochan.query.compile import moments
from lochan.query.compile.logic import all_of, any_of, is_null, is_set, negate
from lochan.query.compile.numbers import against_decimal, compare_numbers, exact_decimal, split
from lochan.query.compile.sql import FALSE, INT_MAX, INT_MIN, TRUE, Sql, moment, number, op, text
from lochan.query.compile.value import Exact, Value, literal
from lochan.query.leaves import Digits

End = tuple[str, Scalar] | None  # kind, value


class KeyRange(NamedTuple):
    low: End = None
    high: End = None
    no_key: bool = False

    @property
    def is_all(self) -> bool:
        return self == KeyRange()

    def ends(self) -> Ends:
        return Ends(_key(self.low), _key(self.high))


ALL_KEYS = KeyRange()


def convert_range(range: KeyRange, kinds: Iterable[str], settings: PoolSettings) -> KeyRange:
    """Returns the range with its ends as values of the key's kind, if the key has a single kind, and the smaller end
    first: the order in the query does not matter. Raises Invalid for an end that cannot be such a value."""
    path = settings.keys[0].path
    if not path and (range.low or range.high):
        raise Invalid("a pool whose key is the whole record has no ranges", hint="use `where` instead")
    there = {PLACES[kind] for kind in kinds if kind in PLACES}
    if path in settings.times and there <= {PLACES[TIME], PLACES[STRING]}:
        there = {PLACES[TIME]}  # its strings that are times
    if len(there) != 1 or there == {PLACES[JSON]}:  # no literal is an object or a list
        return _order_ends(range)
    (place,) = there
    return _order_ends(range._replace(low=_as(range.low, place, path), high=_as(range.high, place, path)))


def _order_ends(range: KeyRange) -> KeyRange:
    low, high = range.low, range.high
    if low is None or high is None or _order(low) <= _order(high):
        return range
    return range._replace(low=high, high=low)


def _order(end: tuple[str, Scalar]) -> tuple[int, Any, str]:
    """Returns a key that orders ends of all kinds: by kind, then by value, and times by the digits beyond
    microseconds."""
    kind, value = end
    return PLACES[kind], value, getattr(value, "finer", "")


def _as(end: End, place: int, path: Path) -> End:
    if end is None or PLACES[end[0]] == place:
        return end
    kind, value = end
    if place == PLACES[STRING] and kind != BOOL:
        return STRING, _text(kind, value)
    found = _parse_end(value, place) if kind == STRING and isinstance(value, str) else None
    if found is None:
        raise Invalid(
            f"the key {path_text(path)} is of kind {CLASSES[place][0]}, and {value!r} is not",
            hint="give the range in that kind",
        )
    return found


def _parse_end(text: str, place: int) -> End:
    try:
        if place == PLACES[INT]:
            value = int(text) if text.lstrip("-").isdigit() else exact_number(text)
            return _number_kind(value), value
        if place == PLACES[TIME]:
            return TIME, times.parse(text)
    except (ValueError, ArithmeticError):
        pass
    return None


def _number_kind(value: float | Decimal) -> str:
    if isinstance(value, int):
        return INT if INT_MIN <= value <= INT_MAX else DECIMAL
    return DECIMAL if isinstance(value, Decimal) else FLOAT


def _text(kind: str, value: Scalar) -> str:
    if kind != TIME:
        return str(value)
    from datetime import UTC, datetime, timedelta

    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(value))
    return moment.isoformat().replace("+00:00", "Z")


def _key(end: End) -> object:
    return None if end is None else Instant(int(end[1])) if end[0] == TIME else end[1]


# --- in SQL ----------------------------------------------------------------------------------------------------------
def test(
    range: KeyRange,
    settings: PoolSettings,
    leaves: Sequence[Leaf],
    digits: Digits | None = None,
    *,
    timed: bool = False,
) -> Sql:
    """Returns a test over the columns of the key's leaves, whether a row is in the range. `digits` are those of the
    leaf of decimals at the first field, if it has one. With `timed`, strings there may be times."""
    original = next((leaf for leaf in leaves if leaf == Leaf(settings.keys[0].path, ORIGINAL)), None)
    leaves = [leaf for leaf in leaves if leaf.kind not in (NULL, ORIGINAL)]
    absent = [_is_absent(key.path, leaves) for key in settings.keys if key.path]
    if range.no_key:
        return any_of(absent)
    first = settings.keys[0].path
    times = (TIME, STRING) if timed else (TIME,)
    inside = [
        _time_inside(leaf, original, range) if leaf.kind in times else _is_inside(leaf, range, digits)
        for leaf in leaves
        if leaf.path == first and leaf.kind != DECIMAL
    ]
    return all_of([any_of(inside), *map(negate, absent)])


def _is_absent(path: Path, leaves: Sequence[Leaf]) -> Sql:
    return all_of([is_null(_column(leaf)) for leaf in leaves if leaf.path == path])


def _time_inside(leaf: Leaf, original: Leaf | None, range: KeyRange) -> Sql:
    is_fine = any(getattr(end[1], "finer", "") for end in (range.low, range.high) if end)
    if leaf.kind == TIME and not is_fine and original is None:
        return _is_inside(leaf, range)
    if leaf.kind == TIME:
        beside = None if original is None else _column(original)
        return _fine_inside(Value({TIME: _column(leaf)}, original=beside), range)
    parts = moments.split(_column(leaf))
    rest = [_beyond(leaf, range.low, above=True), _beyond(leaf, range.high, above=False)]
    return any_of(
        [_fine_inside(Value({TIME: parts.time}, original=parts.original), range), all_of([is_set(parts.rest), *rest])]
    )


def _fine_inside(value: Value, range: KeyRange) -> Sql:
    tests = [is_set(value.alts[TIME])]
    for end, above in ((range.low, True), (range.high, False)):
        if end is None:
            continue
        if end[0] == TIME:
            tests.append(moments.compare_times(">=" if above else "<=", value, literal(TIME, end[1])))
        else:
            tests.append(TRUE if (PLACES[TIME] > PLACES[end[0]]) is above else FALSE)
    return all_of(tests)


def _is_inside(leaf: Leaf, range: KeyRange, digits: Digits | None = None) -> Sql:
    if leaf.kind == JSON:  # among the texts are numbers of many digits
        decimal = None if digits is None else Exact(_column(Leaf(leaf.path, DECIMAL)), digits)
        exact, other = split(_column(leaf), decimal)
        value = Value({DECIMAL: exact}, exact=decimal)
        ends = [_number_beyond(value, range.low, above=True), _number_beyond(value, range.high, above=False)]
        rest = [_beyond(leaf, range.low, above=True), _beyond(leaf, range.high, above=False)]
        return any_of([all_of([is_set(exact), *ends]), all_of([is_set(other), *rest])])
    return all_of([is_set(_column(leaf)), _beyond(leaf, range.low, above=True), _beyond(leaf, range.high, above=False)])


def _number_beyond(exact: Value, end: End, *, above: bool) -> Sql:
    if end is None:
        return TRUE
    kind, value = end
    if PLACES[kind] != PLACES[INT]:
        return TRUE if (PLACES[INT] > PLACES[kind]) is above else FALSE
    assert isinstance(value, int | float | Decimal)
    return compare_numbers(
        ">=" if above else "<=", DECIMAL, exact, DECIMAL, literal(DECIMAL, Decimal(exact_decimal(value)))
    )


def _beyond(leaf: Leaf, end: End, *, above: bool) -> Sql:
    if end is None:
        return TRUE
    kind, value = end
    if PLACES[kind] != PLACES[leaf.kind]:
        return TRUE if (PLACES[leaf.kind] > PLACES[kind]) is above else FALSE
    if isinstance(value, Decimal) or (leaf.kind == FLOAT and kind == INT):  # as a float it might be another number
        return against_decimal(">=" if above else "<=", leaf.kind, _column(leaf), Decimal(value))
    return op(exp.GTE if above else exp.LTE, _column(leaf), _literal(leaf.kind, kind, value, above))


def _literal(column: str, kind: str, value: bool | int | float | str, above: bool) -> Sql:
    match value:
        case bool():
            return TRUE if value else FALSE
        case str():
            return text(value)
        case float() if column == INT:  # as an int, or the column would be compared as floats
            return number(ceil(value) if above else floor(value))
    return moment(int(value)) if kind == TIME else number(value)


def _column(leaf: Leaf) -> Sql:
    return exp.column(leaf.column, quoted=True)
