"""Fields that are kept as JSON text, and arrays: the values inside keep their kinds."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.query.run_query import ask

ROWS: list[dict[str, Any]] = [
    {"x": 1, "m": {"a": 1, "b": ["p", 2]}},
    {"x": 2, "m": [1, "a", None]},
    {"x": 3, "m": 5},
    {"x": 4, "m": 12345678901234567890123},
    {"x": 5, "l": [{"k": "a", "n": 1}, {"k": "b", "n": None}]},
    {"x": 6, "l": []},
]


@pytest.mark.parametrize(
    "query, rows",
    [
        ("from p", ROWS),
        ("from p | m.a == 1 | yield x", [1]),
        ("from p | has(m.a) | yield x", [1]),
        ("from p | cut q := m.b[0], r := m.b[-1] | head 1", [{"q": "p", "r": 2}]),
        ("from p | cut x, q := m[0] | x == 2", [{"x": 2, "q": 1}]),
        ("from p | x == 2 | yield m[2] == null", [True]),
        ("from p | over l", [{"k": "a", "n": 1}, {"k": "b", "n": None}]),
        ('from p | over l | k == "b" | yield n', [None]),
        ("from p | over m", [ROWS[0]["m"], 1, "a", None, 5, 12345678901234567890123]),
        ('from p | over m | kind(this) == "string"', ["a"]),
        ("from p | yield l[0].k", ["a"]),
        ("from p | x == 5 | yield l[1].n", [None]),
        ("from p | yield len(l)", [2, 0]),
        ("from p | x < 3 | yield len(m)", [2, 3]),
        ("from p | yield kind(m)", ["record", "array", "int", "decimal"]),
        ("from p | collect(m)", [{"collect": [ROWS[0]["m"], [1, "a", None], 5, 12345678901234567890123]}]),
        ("from p | count() by l | sort count | head 1 | yield count", [1]),
        ("from p | P | yield x", [1]),
        ("from p | b | yield x", [1, 5]),
        ('from p | /"b"/ | yield x', [1, 5]),
        ("from p | head 1 | cut m.a", [{"m": {"a": 1}}]),
        ("from p | head 1 | put m := 1", [{"x": 1, "m": 1}]),
    ],
)
@pytest.mark.thorough
def test_json(query: str, rows: list[Any]) -> None:
    assert ask(query, ROWS) == rows
