"""Keys as bytes compare as the keys do, whatever their kinds."""

import json
import math
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cmp_to_key, partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.errors import Invalid
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.pools.keys import BYTES_MAX, Instant, Span, bounds, decode, encode, ends, shorten_span

_START = datetime(1970, 1, 1, tzinfo=UTC)
INTS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**62 + 511])
FLOATS = st.floats(allow_nan=False) | st.sampled_from([2.0**53, 2.0**62, -0.0, 0.0, float(2**63)])
TIMES = st.datetimes(timezones=st.just(UTC)) | st.integers(-(2**63), 2**63 - 1).map(Instant)
TEXTS = st.text(alphabet=st.characters(codec="utf-8")) | st.text("\0\1\xffa", max_size=4)
OTHERS = st.lists(st.integers(0, 3), max_size=3) | st.dictionaries(st.text("ab", max_size=2), st.booleans(), max_size=2)
VALUES = st.none() | st.booleans() | INTS | FLOATS | TIMES | TEXTS | OTHERS


def _rank(value: Any) -> tuple[int, Any]:
    """The kind's place, and something that Python itself compares."""
    match value:
        case bool():
            return 1, value
        case int():
            return 2, Fraction(value)
        case float():
            return 2, Fraction(value) if math.isfinite(value) else value
        case Instant():
            return 3, value.micros
        case datetime():
            return 3, (value - _START) // timedelta(microseconds=1)
        case str():
            return 4, value.encode()
    return 5, json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _compare(one: list[Any], other: list[Any], settings: PoolSettings) -> int:
    for left, right, key in zip(one, other, settings.keys, strict=True):
        null = (0, 0) if settings.nulls_first else (9, 0)
        a, b = (null if each is None else _rank(each) for each in (left, right))
        if a != b:
            return (1 if a > b else -1) * (-1 if key.descending else 1)
    return 0


@st.composite
def keys(draw: st.DrawFn) -> tuple[PoolSettings, list[list[Any]]]:
    count = draw(st.integers(1, 3))
    parts = tuple(PoolKey((f"k{n}",), draw(st.booleans())) for n in range(count))
    rows = draw(st.lists(st.lists(VALUES, min_size=count, max_size=count), min_size=2, max_size=6))
    return PoolSettings(parts, draw(st.booleans())), rows


@given(keys())
@pytest.mark.thorough
def test_bytes_compare_as_keys_do(drawn: tuple[PoolSettings, list[list[Any]]]) -> None:
    settings, rows = drawn
    for one in rows:
        for other in rows:
            a, b = encode(one, settings), encode(other, settings)
            assert (a > b) - (a < b) == _compare(one, other, settings), (one, other)
    by_bytes = sorted(rows, key=lambda row: encode(row, settings))
    by_value = sorted(rows, key=cmp_to_key(partial(_compare, settings=settings)))
    assert [encode(row, settings) for row in by_bytes] == [encode(row, settings) for row in by_value]


@given(keys())
def test_what_is_decoded_encodes_to_the_same(drawn: tuple[PoolSettings, list[list[Any]]]) -> None:
    settings, rows = drawn
    for row in rows:
        key = encode(row, settings)
        again = decode(key, settings)
        assert len(again) == len(row)
        assert encode(again, settings) == key


@given(keys(), st.integers(0, 5), st.integers(0, 5))
def test_a_range_holds_the_rows_between_and_none_without_the_key(
    drawn: tuple[PoolSettings, list[list[Any]]], at: int, to: int
) -> None:
    settings, rows = drawn
    low, high = rows[at % len(rows)][0], rows[to % len(rows)][0]
    key_range = bounds(low, high, settings)
    for row in rows:
        if row[0] is None:
            inside = False
        else:
            above = low is None or _rank(low) <= _rank(row[0])
            inside = above and (high is None or _rank(row[0]) <= _rank(high))
        key = encode(row, settings)
        assert (key_range.low <= key <= key_range.high) == inside, (row, low, high)


@given(st.lists(st.lists(TEXTS | st.text("a\xff", min_size=200, max_size=400), min_size=2, max_size=2), min_size=1))
@pytest.mark.thorough
def test_a_shortened_span_lies_around_the_whole_one(rows: list[list[Any]]) -> None:
    settings = PoolSettings((PoolKey(("a",), True), PoolKey(("b",))))
    found = sorted(encode(row, settings) for row in rows)
    short = shorten_span(Span(found[0], found[-1]))
    assert short.low <= found[0] and found[-1] <= short.high
    assert max(map(len, short)) <= BYTES_MAX
    for end in short:
        assert len(decode(end, settings)) <= 2  # whatever was cut off, it can be shown


def test_numbers_are_one_kind_to_the_last_digit() -> None:
    settings = PoolSettings((PoolKey(("k",)),))
    numbers = [-math.inf, -(2**63), -1.5, -1, 0, 0.5, 1, 2**53, 2**53 + 1, 2.0**53 + 2, 2**63 - 1, 2.0**63, math.inf]
    found = [encode([number], settings) for number in numbers]
    assert found == sorted(set(found))
    assert encode([1], settings) == encode([1.0], settings)
    assert decode(encode([2**53 + 1], settings), settings) == [2**53 + 1]


def test_nan_is_refused_by_name() -> None:
    with pytest.raises(Invalid, match=r"key a\.b is NaN"):
        encode([math.nan], PoolSettings((PoolKey(("a", "b")),)))


def test_a_whole_record_counts_by_its_canonical_text() -> None:
    settings = PoolSettings()
    assert encode([{"b": 1, "a": "x"}], settings) == encode([{"a": "x", "b": 1}], settings)
    assert encode([{"a": 1}], settings) < encode([{"a": 2}], settings)
    assert decode(encode([{"a": 2**70}], settings), settings) == [{"a": 2**70}]


def test_the_ends_of_a_span_are_shown_with_the_smaller_first() -> None:
    falling, mixed = PoolSettings((PoolKey(("k",), True),)), PoolSettings((PoolKey(("k",)), PoolKey(("n",), True)))
    span = Span(encode([9], falling), encode([1], falling))
    assert span.low < span.high
    assert ends(span, falling) == ([1], [9])
    assert ends(Span(encode([1, 9], mixed), encode([1, 2], mixed)), mixed) == ([1, 2], [1, 9])
    assert ends(Span(encode([1, 2], mixed), encode([3, 9], mixed)), mixed) == ([1, 2], [3, 9])
