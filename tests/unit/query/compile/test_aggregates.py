"""Aggregates over rows of different shapes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.query.run_query import ask

ROWS: list[dict[str, Any]] = [
    {"k": "a", "i": 1, "m": 1, "b": True, "s": "x"},
    {"k": "a", "i": 2, "m": 2.5, "b": False, "s": "y"},
    {"k": "b", "i": 3, "m": "t", "s": "x"},
    {"k": None, "i": None, "m": 10},
    {"i": 9223372036854775807, "o": {"p": 1}},
]


@pytest.mark.parametrize(
    "query, rows",
    [
        ("from p | count()", [{"count": 5}]),
        ("from p | i > 1e30 | count()", [{"count": 0}]),
        ("from p | i < 0 | count() by k", []),
        (
            "from p | i < 0 | sum(i), avg(i), min(i), collect(i)",
            [{"sum": None, "avg": None, "min": None, "collect": []}],
        ),
        ("from p | count(i)", [{"count": 4}]),
        (
            "from p | count() by k | sort k",
            [{"k": "a", "count": 2}, {"k": "b", "count": 1}, {"k": None, "count": 1}, {"count": 1}],
        ),
        ("from p | n := count() where i > 1, m := count() by k | sort k | head 1", [{"k": "a", "n": 1, "m": 2}]),
        ("from p | i < 10 | sum(i), avg(i)", [{"sum": 6, "avg": 2.0}]),
        ("from p | sum(m)", [{"sum": 13.5}]),
        ("from p | sum(m) by k | sort k | yield sum", [3.5, None, 10, None]),
        ("from p | sum(s)", [{"sum": None}]),
        ("from p | min(m), max(m)", [{"min": 1, "max": "t"}]),
        ('from p | kind(m) != "string" | max(m)', [{"max": 10}]),
        ("from p | first(i), last(s), first(o)", [{"first": 1, "last": "x", "first_1": {"p": 1}}]),
        ("from p | sort -r s | first(i)", [{"first": 2}]),
        ("from p | collect(s)", [{"collect": ["x", "y", "x"]}]),
        ("from p | collect(k)", [{"collect": ["a", "a", "b", None]}]),
        ("from p | sort -r m | collect(m)", [{"collect": ["t", 10, 2.5, 1]}]),
        ("from p | union(s), dcount(s), countdistinct(s)", [{"union": ["x", "y"], "dcount": 2, "countdistinct": 2}]),
        ("from p | count(distinct s)", [{"count": 2}]),
        ("from p | and(b), or(b)", [{"and": False, "or": True}]),
        ("from p | i < 10 | quantile(i, 0.5), stddev(i)", [{"quantile": 2.0, "stddev": 1.0}]),
        ("from p | count() by t := typeof(o) | sort t | head 1", [{"t": "{p:int}", "count": 1}]),
        ("from p | count() by o | put t := typeof(o) | sort t | head 1", [{"o": {"p": 1}, "count": 1, "t": "{p:int}"}]),
        ("from p | count() by q := i / (i - 1) | q == null | yield count", [2]),
        ("from p | any(s)", [{"any": "x"}]),
        ("from p | fuse(m)", [{"fuse": "float|int|string"}]),
        ("from p | sum(i), sum(i)", [{"sum": None, "sum_1": None}]),
        ("from p | sum(i) | put e := is_error(sum)", [{"sum": None, "e": True}]),
        ("from p | count() by o.p | sort count | head 1", [{"o": {"p": 1}, "count": 1}]),
        ("from p | count() by o | sort count | head 1", [{"o": {"p": 1}, "count": 1}]),
        ("from p | count() by c := 1", [{"c": 1, "count": 5}]),
        ("from p | i < 0 | count() by c := 1", []),
        (
            "from p | count() by kind(m) | sort kind",
            [{"kind": "float", "count": 1}, {"kind": "int", "count": 2}, {"kind": "string", "count": 1}, {"count": 1}],
        ),
        (
            "from p | count() by k | count() by count | sort count",
            [{"count": 1, "count_1": 3}, {"count": 2, "count_1": 1}],
        ),
    ],
)
def test_aggregate(query: str, rows: list[Any]) -> None:
    assert ask(query, ROWS) == rows
