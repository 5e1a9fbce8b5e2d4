"""Filters of Spark as tests of the query language: what leaves out objects, and what means the same for every row."""

from __future__ import annotations

from typing import Any

import pytest

from lochan.engines.spark.frames.filters import pruning_tests, where_text
from lochan.query.syntax.unparse import text_of

KINDS = {
    "n": {"int"},
    "x": {"float"},
    "m": {"int", "float"},
    "s": {"string"},
    "t": {"time"},
    "day": {"day"},
    "odd": {"int", "string"},
    "none": set[str](),
}


def compared(op: str, column: str, **value: Any) -> dict[str, Any]:
    return {"op": op, "column": column, "value": value}


SECOND = 1_000_000
THREE = compared("=", "n", int=3)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (THREE, "n == 3"),
        (compared(">", "m", float=1.5), "m > 1.5"),
        (compared("<=", "s", string="b"), 's <= "b"'),
        ({"op": "in", "column": "n", "values": [{"int": 1}, {"int": 2}]}, "n == 1 or n == 2"),
        ({"op": "and", "left": THREE, "right": compared("=", "odd", int=3)}, "n == 3"),
        ({"op": "or", "left": THREE, "right": compared("=", "odd", int=3)}, None),
        (compared("=", "odd", int=3), None),
        (compared("=", "odd", string="3"), None),
        (compared("=", "s", int=3), None),
        (compared("=", "day", day="2026-11-01"), None),
        (compared("=", "none", int=3), None),
        (compared("=", "nowhere", int=3), None),
        ({"op": "starts", "column": "s", "value": {"string": "a"}}, None),
    ],
)
def test_a_filter_leaves_out_objects_only_where_it_means_the_same(given: dict[str, Any], text: str | None) -> None:
    found = [text_of(test) for test in pruning_tests([given], KINDS)]
    assert found == ([] if text is None else [text])


@pytest.mark.parametrize(
    ("op", "text"),
    [
        ("=", "t >= 1970-01-01T00:00:01Z and t < 1970-01-01T00:00:01.000001Z"),
        ("<=", "t < 1970-01-01T00:00:01.000001Z"),
        ("<", "t < 1970-01-01T00:00:01Z"),
        (">=", "t >= 1970-01-01T00:00:01Z"),
        (">", "t >= 1970-01-01T00:00:01.000001Z"),
    ],
)
def test_a_time_counts_as_the_microsecond_that_it_lies_in(op: str, text: str) -> None:
    [test] = pruning_tests([compared(op, "t", time=SECOND)], KINDS)
    assert text_of(test) == text


@pytest.mark.parametrize(
    ("filters", "text"),
    [
        ([THREE, compared("<", "s", string="b")], '(n == 3) and (s < "b")'),
        ([{"op": "true"}], "true"),
        ([compared("<", "x", float=2.5)], "(x < 2.5)"),
        ([compared(">", "x", float=2.5)], None),  # NaN is greater in Spark
        ([compared(">=", "m", int=2)], None),
        ([{"op": "and", "left": THREE, "right": compared("=", "odd", int=3)}], None),
        ([{"op": "not null", "column": "n"}], None),
        ([{"op": "starts", "column": "s", "value": {"string": "a"}}], None),
    ],
)
def test_rows_are_deleted_only_by_a_test_that_means_the_same(filters: list[dict[str, Any]], text: str | None) -> None:
    assert where_text(filters, KINDS) == text
