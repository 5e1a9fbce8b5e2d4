"""Which objects a query opens. Each case has objects o1, o2, …; what must be read is named, and why the rest is not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from msgspec.structs import replace

from lochan.formats import bloom
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.pools.forms import Forms
from lochan.pools.row_tests import Compare
from lochan.pools.statistics import StatisticsTest
from lochan.query.sources.key_range import KeyRange
from lochan.query.sources.pool import PoolSource
from lochan.query.sources.resolve import source_needs
from lochan.query.sources.scans import Scans
from lochan.query.syntax.parse import parse
from tests.unit.query.sources.objects import BY_K, Row, snapshot

OBJECTS: list[list[Row]] = [
    [
        {"k": 1, "s": "apple", "n": {"x": 1}, "one": 1, "big": True},
        {"k": 9, "s": "pear", "n": {"x": 5}, "one": 1, "big": True},
    ],
    [{"k": 10, "s": "fig"}, {"k": 19, "s": "kiwi"}],
    [{"k": 15, "s": 7}, {"k": 30, "s": 8.5}],
    [{"k": "a", "s": "zoo"}, {"s": "lime"}],
]

CASES = [
    ("k == 9", "o1", "the span of the key"),
    ("k >= 10 and k < 15", "o2", "the span of the key"),
    ("k > 30.5", "", "the span of the key"),
    ('k == "a"', "o4", "the span of the key"),
    ("k in [1, 30]", "o1 o3", "the span of the key"),
    ("k between 20 and 40", "o3", "the span of the key"),
    ("15 <= k", "o2 o3", "the span of the key"),
    ('s == "fig"', "o1 o2", "least and greatest s"),
    ("s == 7", "o3", "no such value in s"),
    ("s < 8", "o3", "no such value in s"),
    ('s > "kiwi"', "o1 o4", "least and greatest s"),
    ("n.x == 3", "o1", "no such value in n.x"),
    ("n.x == 6", "", "least and greatest n.x"),
    ('s == "zoo" or k == 1', "o1 o4", "least and greatest s"),
    ('s == "zoo" or len(s) == 1', "o1 o2 o3 o4", ""),
    ("not (k == 1)", "o1 o2 o3 o4", ""),
    ("not (k >= 10)", "o1 o4", "least and greatest k"),
    ("not (k < 10 or k > 19)", "o2 o3 o4", "least and greatest k"),
    ("not (k < 20 and len(s) > 1)", "o1 o2 o3 o4", ""),
    ("not (k >= 10 and s > 7)", "o1 o2 o3 o4", ""),
    ("not not (k == 9)", "o1", "the span of the key"),
    ("not (k between 10 and 40)", "o1 o4", "least and greatest k"),
    ("k != 1", "o1 o2 o3 o4", ""),
    ("one != 1", "", "least and greatest one"),
    ("not (one in [1, 2])", "o2 o3 o4", "least and greatest one"),
    ("missing(k)", "o4", "the span of the key"),
    ("k == null", "", "the span of the key"),
    ("k == null or missing(k)", "o4", "the span of the key"),
    ("n == null", "", "no null in n"),
    ("missing(n)", "o2 o3 o4", "every row has n"),
    ("not has(n)", "o2 o3 o4", "every row has n"),
    ("missing(s)", "", "every row has s"),
    ("has(n.x)", "o1", "no n.x"),
    ("not missing(n.x)", "o1", "no n.x"),
    ("n.x != null", "o1", "no such value in n.x"),
    ("k != null", "o1 o2 o3 o4", ""),
    ('s like "k%"', "o1 o2", "least and greatest s"),
    ('s like "ki_i"', "o1 o2", "least and greatest s"),
    ('s like "fig"', "o1 o2", "least and greatest s"),
    ('s like "%a"', "o1 o2 o4", "no such value in s"),
    ('not (s like "%")', "o3", "least and greatest s"),
    ("k == 4 + 5", "o1", "the span of the key"),
    ('k == int64("9")', "o1", "the span of the key"),
    ("k == -(-9)", "o1", "the span of the key"),
    ("k == float64(9)", "o1", "the span of the key"),
    ('k in [1, "a"]', "o1 o4", "least and greatest k"),
    ("k == 1 or k == 9", "o1", "the span of the key"),
    ("where big", "o1", "no such value in big"),
    ("where not big", "", "least and greatest big"),
    ("nothing == 1", "", "no such value in nothing"),
    ("put k:=5 | k == 5", "o1 o2 o3 o4", ""),
    ("k == 1 | k == 30", "", "the span of the key"),
]


BY_TWO = PoolSettings((PoolKey(("a",)), PoolKey(("b",), descending=True)))
OF_TWO: list[list[Row]] = [
    [{"a": 1, "b": 9, "c": 1}, {"a": 1, "b": 5}],
    [{"a": 1, "b": 4}, {"a": 2, "b": 9}],
    [{"a": 1, "b": None}, {"a": 3, "b": 9}],  # a row that lacks a part lies outside the span, not outside the pool
    [{"a": 4, "b": 1}, {"a": 6, "b": 8}],
]


def opened(
    folder: Path,
    query: str,
    range: KeyRange | None = None,
    objects: list[list[Row]] = OBJECTS,
    settings: PoolSettings = BY_K,
) -> tuple[str, list[str]]:
    [needs] = source_needs(parse(f"from logs | {query}"))
    source = PoolSource(
        snapshot(folder, *objects, settings=settings),
        Scans(),
        range=range or KeyRange(),
        test=needs.test,
        first=needs.first,
    )
    found = [source.snapshot.object(index).id for index in source.objects.tolist()]
    return " ".join(sorted(found)), [each.why for each in source.skipped]


@pytest.mark.parametrize("query, expected, why", CASES, ids=[case[0] for case in CASES])
def test_tests(tmp_path: Path, query: str, expected: str, why: str) -> None:
    found, reasons = opened(tmp_path, query)
    assert found == expected
    assert why in reasons if why else not reasons


@pytest.mark.parametrize(
    "query, expected",
    [
        ("a == 1", "o1 o2 o3"),
        ("a == 1 and b == 7", "o1"),
        ("a == 1 and b < 5", "o2"),
        ("a == 1 and b <= 5 and b >= 3", "o1 o2"),
        ("a == 5 and b == 20", ""),
        ("a > 2 and b == 9", "o3"),
        ("a >= 2 and a < 4", "o2 o3"),
    ],
)
def test_two_keys(tmp_path: Path, query: str, expected: str) -> None:
    found, reasons = opened(tmp_path, query, objects=OF_TWO, settings=BY_TWO)
    assert found == expected
    assert "the span of the key" in reasons


def test_the_second_key_counts(tmp_path: Path) -> None:
    """Where all objects have the first one, and the statistics of the second would let all pass."""
    day: list[list[Row]] = [
        [{"a": 1, "b": 9}, {"a": 1, "b": 6}, {"a": 0, "b": 1}],
        [{"a": 1, "b": 5}, {"a": 1, "b": 2}, {"a": 2, "b": 9}],
    ]
    assert opened(tmp_path, "a == 1 and b >= 6", objects=day, settings=BY_TWO) == ("o1", ["the span of the key"])


def test_a_range_of_two_keys(tmp_path: Path) -> None:
    range = KeyRange(("int", 1), ("int", 1))
    assert opened(tmp_path, "count()", range, OF_TWO, BY_TWO)[0] == "o1 o2"


@pytest.mark.parametrize(
    "range, expected",
    [
        (KeyRange(("int", 9), ("int", 10)), "o1 o2"),
        (KeyRange(("int", 20), None), "o3 o4"),
        (KeyRange(None, ("float", 0.5)), ""),
        (KeyRange(("string", "b"), ("string", "c")), ""),
        (KeyRange(no_key=True), "o4"),
    ],
)
def test_ranges(tmp_path: Path, range: KeyRange, expected: str) -> None:
    assert opened(tmp_path, "count()", range)[0] == expected


@pytest.mark.parametrize(
    "query, expected",
    [
        ("head 1", "o1"),
        ("head 2", "o1"),
        ("head 3", "o1 o2 o3"),  # of o3's rows one may come before the last of o2
        ("cut k | head 2", "o1"),
        ("head 7", "o1 o2 o3 o4"),
        ("head 100", "o1 o2 o3 o4"),
        ("len(s) > 1 | head 1", "o1 o2 o3 o4"),
        ("sort s | head 1", "o1 o2 o3 o4"),
        ("count() | head 1", "o1 o2 o3 o4"),
    ],
)
def test_the_first_rows(tmp_path: Path, query: str, expected: str) -> None:
    assert opened(tmp_path, query)[0] == expected


def test_a_filter_over_the_values(tmp_path: Path) -> None:
    facts = snapshot(tmp_path, OBJECTS[0]).facts(0)
    [column] = [each for each in facts.columns if each.path == ("s",)]
    filtered = replace(column, bloom=bloom.build(bloom.hash_all(pa.array(["apple", "pear"]))))
    columns = np.array([filtered, column, None])
    judge = StatisticsTest(Forms().of(facts), lambda path: columns, np.full(len(columns), 2))

    def why(op: str, value: str) -> list[str]:
        return [judge.reasons[number] for number in judge.judge(Compare(("s",), op, "string", value))]

    assert why("==", "fig") == ["the filter of s", "", ""]
    assert why("==", "pear") == ["", "", ""]
    assert why(">", "fig") == ["", "", ""]
    assert why(">", "pear") == ["least and greatest s", "least and greatest s", ""]


def test_only_what_is_kept_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lochan.pools import facts

    decoded: list[str] = []
    decode = facts.from_metadata

    def counting(metadata: Mapping[str, str], path: str = "") -> facts.Facts:
        decoded.append(path)
        return decode(metadata, path)

    monkeypatch.setattr(facts, "from_metadata", counting)
    opened(tmp_path, "head 1")
    assert decoded == ["o1.parquet"]
