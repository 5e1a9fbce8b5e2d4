"""Every operator, on rows of different shapes: query, rows in, rows out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.query.run_query import ask
from tests.unit.query.toy_source import ToySource

ROWS: list[dict[str, Any]] = [
    {"a": 1, "h": "x", "f": 1.5, "ok": True},
    {"a": 2, "h": "y", "z": None, "f": 2.0, "ok": False},
    {"h": "x", "a": "s"},
    {"b": {"c": 1.5, "d": [1, 2]}},
]
TIMES = ToySource(
    [
        {"ts": "2026-01-01T10:00:00Z", "v": 1},
        {"ts": "2026-01-01T10:30:00Z", "v": 5},
        {"ts": "2026-01-01T12:00:00Z", "v": 9},
    ],
    key=("ts",),
    times_at=[("ts",)],
)


@pytest.mark.parametrize(
    "query, rows",
    [
        pytest.param("from p", ROWS, id="rows come back as they were"),
        pytest.param("from p | a > 1", ROWS[1:2], id="other kinds are not greater"),
        pytest.param("from p | not a > 1", [ROWS[0], ROWS[2], ROWS[3]], id="what is not greater, missing or not"),
        pytest.param("from p | where ok", ROWS[:1], id="a field that is true"),
        pytest.param("from p | where not ok", ROWS[1:2], id="missing is neither true nor false"),
        pytest.param("from p | z == null", ROWS[1:2], id="null, not missing"),
        pytest.param("from p | a != null | cut a", [{"a": 1}, {"a": 2}, {"a": "s"}], id="there and not null"),
        pytest.param("from p | a != 1", ROWS[1:2], id="of another kind is not unequal"),
        pytest.param(
            'from p | where kind(f) in ("float", "int") | cut f', [{"f": 1.5}, {"f": 2.0}], id="in, of a constant"
        ),
        pytest.param("from p | cut f, a", [{"f": 1.5, "a": 1}, {"f": 2.0, "a": 2}, {"a": "s"}, {}], id="cut orders"),
        pytest.param("from p | cut b.c", [{}, {}, {}, {"b": {"c": 1.5}}], id="cut keeps the object around"),
        pytest.param("from p | cut q := b.c, h | tail 2", [{"h": "x"}, {"q": 1.5}], id="cut renames"),
        pytest.param("from p | tail 1 | put b.x := 1", [{"b": {"c": 1.5, "d": [1, 2], "x": 1}}], id="put inside"),
        pytest.param("from p | head 1 | put n.m := 1, a := 5", [{**ROWS[0], "a": 5, "n": {"m": 1}}], id="put in place"),
        pytest.param(
            "from p | put a := h, h := a | cut a, h | head 1", [{"a": "x", "h": 1}], id="put reads the old row"
        ),
        pytest.param("from p | drop b.c, a, f, ok | tail 2", [{"h": "x"}, {"b": {"d": [1, 2]}}], id="drop"),
        pytest.param("from p | rename q := a | cut h, q | head 1", [{"h": "x", "q": 1}], id="rename"),
        pytest.param("from p | head 3 | tail 1 | rename q := a", [{"h": "x", "q": "s"}], id="rename in place"),
        pytest.param("from p | rename b.e := b.c | tail 1", [{"b": {"e": 1.5, "d": [1, 2]}}], id="rename inside"),
        pytest.param("from p | rename h := a | head 1", [{"h": 1, "f": 1.5, "ok": True}], id="rename over another"),
        pytest.param("from p | sort a | cut a", [{"a": 1}, {"a": 2}, {"a": "s"}, {}], id="sort by kind, then value"),
        pytest.param(
            "from p | sort -r a | cut a", [{"a": "s"}, {"a": 2}, {"a": 1}, {}], id="missing last, backwards too"
        ),
        pytest.param("from p | sort f nulls first | cut f | tail 2", [{"f": 1.5}, {"f": 2.0}], id="missing first"),
        pytest.param("from p | sort h, f desc | cut h, f | head 2", [{"h": "x", "f": 1.5}, {"h": "x"}], id="two keys"),
        pytest.param("from p | sort | head 1 | cut a", [{"a": 1}], id="sort without keys takes the first field"),
        pytest.param("from p | head 2 | tail 1 | cut a", [{"a": 2}], id="head, then tail"),
        pytest.param("from p | sort -r f | tail 3 | head 1 | cut f", [{"f": 1.5}], id="tail of sorted rows"),
        pytest.param("from p | head 0", [], id="head of nothing"),
        pytest.param("from p | top 1 f | cut f", [{"f": 2.0}], id="top"),
        pytest.param("from p | cut h | uniq", [{"h": "x"}, {"h": "y"}, {"h": "x"}, {}], id="uniq looks at neighbours"),
        pytest.param(
            "from p | cut h | sort h | uniq -c",
            [{"value": {"h": "x"}, "count": 2}, {"value": {"h": "y"}, "count": 1}, {"value": {}, "count": 1}],
            id="uniq counts",
        ),
        pytest.param("from p | cut h | sample", [{"h": "x"}, {}], id="sample of what is left of the shapes"),
        pytest.param("from p | sample | count()", [{"count": 4}], id="sample of whole rows"),
        pytest.param("from p | by h | sort h", [{"h": "x"}, {"h": "y"}, {}], id="distinct keys"),
        pytest.param("from p | yield a", [1, 2, "s"], id="yield leaves out what is missing"),
        pytest.param("from p | yield z", [None], id="yield of null is a row"),
        pytest.param("from p | yield {h, n: f} | head 1", [{"h": "x", "n": 1.5}], id="yield of a record"),
        pytest.param(
            "from p | yield [a, h]",
            [[1, "x"], [2, "y"], ["s", "x"], [None, None]],
            id="an item that is missing is null, so that the others keep their places",
        ),
        pytest.param("from p | yield b.c, f | count()", [{"count": 3}], id="yield of several values"),
        pytest.param("from p | yield {...b, k: 1} | tail 1", [{"c": 1.5, "d": [1, 2], "k": 1}], id="a spread"),
        pytest.param("from p | over b.d", [1, 2], id="over a list"),
        pytest.param("from p | over b.d | this > 1", [2], id="over, then a test"),
        pytest.param("from p | over h", ["x", "y", "x"], id="over what is no list"),
        pytest.param(
            "from p | cut a, f | tail 2 | fuse",
            [{"a": "s", "f": None}, {"a": None, "f": None}],
            id="fuse fills with null",
        ),
        pytest.param("from p | fork (=> a == 1 | cut a => count())", [{"a": 1}, {"count": 4}], id="fork"),
        pytest.param(
            'from p | switch (case a == 1 => put k := "one" default => put k := "other") | count() by k | sort k',
            [{"k": "one", "count": 1}, {"k": "other", "count": 3}],
            id="switch by tests",
        ),
        pytest.param(
            'from p | switch h (case "x" => count() case "y" => cut a)',
            [{"count": 2}, {"a": 2}],
            id="switch by a value",
        ),
        pytest.param("from p | union (from p | head 1) | count()", [{"count": 5}], id="union"),
        pytest.param("from p, p | a == 1 | count()", [{"count": 2}], id="two sources"),
    ],
)
def test_operator(query: str, rows: list[Any]) -> None:
    assert ask(query, ROWS) == rows


LEFT: list[dict[str, Any]] = [
    {"id": 1, "n": "one"},
    {"id": 2, "n": "two"},
    {"id": "1", "n": "text"},
    {"id": None, "n": "null"},
    {"n": "none"},
]
RIGHT: list[dict[str, Any]] = [
    {"k": 1, "v": 1.5},
    {"k": 1, "v": 2.5, "n": "other"},
    {"k": "1", "v": 3.5},
    {"k": None, "v": 4.5},
    {"k": 9, "w": 0},
]


@pytest.mark.parametrize(
    "query, rows",
    [
        (
            "from p | join (from q) on id=k | cut n, v | sort v",
            [{"n": "one", "v": 1.5}, {"n": "one", "v": 2.5}, {"n": "text", "v": 3.5}],
        ),
        ("from p | join (from q) on id=k x:=v | cut id, x | sort x | head 1", [{"id": 1, "x": 1.5}]),
        ("from p | left join (from q | k == 9) on id=k | count(), m:=count(w)", [{"count": 5, "m": 0}]),
        ("from p | anti join (from q) on id=k | cut n | sort n", [{"n": "none"}, {"n": "null"}, {"n": "two"}]),
        ('from p | n == "two" | right join (from q) on id=k | count(), m:=count(n)', [{"count": 5, "m": 0}]),
        (
            "from p | left join (from q | put c := 1) on id=k c | count() by c | sort c",
            [{"c": 1, "count": 3}, {"count": 3}],
        ),
    ],
)
def test_join(query: str, rows: list[Any]) -> None:
    assert ask(query, LEFT, RIGHT) == rows


@pytest.mark.parametrize(
    "query, rows",
    [
        ("from p | ts >= 2026-01-01T10:30:00Z | yield v", [5, 9]),
        (
            "from p | sum(v) every 1h | sort ts",
            [{"ts": "2026-01-01T10:00:00Z", "sum": 6}, {"ts": "2026-01-01T12:00:00Z", "sum": 9}],
        ),
        ("from p | count() by t:=bucket(ts, 1d)", [{"t": "2026-01-01T00:00:00Z", "count": 3}]),
        ("from p | yield ts - 2026-01-01T10:00:00Z", ["0s", "30m", "2h"]),
        ("from p | head 1 | cut t := ts + 1h", [{"t": "2026-01-01T11:00:00Z"}]),
        ("from p | min(ts), max(ts)", [{"min": "2026-01-01T10:00:00Z", "max": "2026-01-01T12:00:00Z"}]),
        ('from p | ts == "2026-01-01T10:00:00Z"', []),
        ("from p | sort -r | head 1 | yield v", [9]),
        ("from p | put d := ts | drop ts | head 1", [{"v": 1, "d": "2026-01-01T10:00:00Z"}]),
    ],
)
def test_times(query: str, rows: list[Any]) -> None:
    assert ask(query, TIMES) == rows
