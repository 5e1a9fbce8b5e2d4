"""Rows that are kept as text: whole if nothing touched them, otherwise by their fields."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.query.run_query import ask, planned
from tests.unit.query.toy_source import ToySource

ROWS: list[dict[str, Any]] = [
    {"z": 1, "a": 12345678901234567890, "A": 2},
    {"a": "x", "n": {"b": [1, {"c": None}]}, "z": 0.5},
    {},
]


def source() -> ToySource:
    return ToySource(ROWS, body=True)


@pytest.mark.parametrize(
    "query, rows",
    [
        ("from p", ROWS),
        ("from p | z >= 1", ROWS[:1]),
        ("from p | head 2 | drop a", [{"z": 1, "A": 2}, {"n": {"b": [1, {"c": None}]}, "z": 0.5}]),
        ("from p | head 1 | put z := z + 1, q := true", [{"z": 2, "a": 12345678901234567890, "A": 2, "q": True}]),
        ("from p | head 1 | rename y := z", [{"y": 1, "a": 12345678901234567890, "A": 2}]),
        ("from p | cut z, A", [{"z": 1, "A": 2}, {"z": 0.5}, {}]),
        ("from p | count() by z | sort z", [{"z": 0.5, "count": 1}, {"z": 1, "count": 1}, {"count": 1}]),
        ("from p | X | yield z", [0.5]),
        ("from p | sort -r z | head 1 | yield A", [2]),
        ("from p | where unheard_of == 1", []),
    ],
)
def test_body(query: str, rows: list[Any]) -> None:
    assert ask(query, source()) == rows


def test_nothing_but_the_text_is_read_for_whole_rows() -> None:
    read = source()
    planned("from p", read)
    assert read.request[0].body and not read.request[0].leaves
