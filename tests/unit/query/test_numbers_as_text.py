"""Older pools, whose long numbers are JSON text and whose fine times are strings: every kind of query counts them, on
the original bytes.
"""

from __future__ import annotations

import asyncio
import tarfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from lochan.api.queries import run_query
from lochan.engines.run_query import RunOptions
from lochan.errors import Refused
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.store.local import LocalStore

GOLDEN = Path(__file__).parents[2] / "golden" / "numbers-as-text.tar.gz"
ANN = Actor("ann", "test", "here")
LONG, U64 = Decimal("33.33333333333333333333"), 18446744073709551615

Ask = Callable[[str], list[Any]]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    folder = tmp_path_factory.mktemp("golden")
    with tarfile.open(GOLDEN) as archive:
        archive.extractall(folder, filter="data")
    with asyncio.Runner() as runner:
        lake = runner.run(Lake.open(LocalStore(str(folder))))
        try:
            yield lambda query: runner.run(_rows(lake, query))
        finally:
            runner.run(lake.close())


async def _rows(lake: Lake, query: str) -> list[Any]:
    with await run_query(lake, query, RunOptions(actor=ANN, engine="duckdb")) as result:
        return list(result.rows())


@pytest.mark.thorough
@pytest.mark.parametrize(
    "query, expected",
    [
        ("from numbers | sum(x)", [{"sum": Decimal("63.83333333333333333333")}]),
        ("select sum(x) as s from numbers", [{"s": Decimal("63.83333333333333333333")}]),
        ("from numbers | max(x)", [{"max": [1, "a"]}]),
        ("from numbers | x != 20 | cut x", [{"x": 10.5}, {"x": LONG}]),
        ("from numbers | x > 30 | cut x", [{"x": LONG}]),
        ("select x from numbers where x > 30", [{"x": LONG}]),
        ("from numbers | u > 6 | cut u", [{"u": 7}, {"u": U64}]),
        ("select u from numbers where u > 6 order by u", [{"u": 7}, {"u": U64}]),
        ("select u from numbers where u in (select u from numbers where u > 7)", [{"u": U64}]),
        ("from numbers | k > 100 | cut k", [{"k": U64}]),
        ("from numbers | cut k", [{"k": Decimal("-1e400")}, {"k": 1}, {"k": 2}, {"k": 3}, {"k": U64}]),
        ("from numbers | head 1 | cut k", [{"k": Decimal("-1e400")}]),
        ("from numbers range 3 to 18446744073709551615 | cut k", [{"k": 3}, {"k": U64}]),
        ("from numbers range -1e401 to 1 | cut k", [{"k": Decimal("-1e400")}, {"k": 1}]),
        ("from numbers | search 18446744073709551615 | cut k", [{"k": 2}, {"k": U64}]),
    ],
)
def test_long_numbers_take_part(query: str, expected: list[Any], ask: Ask) -> None:
    assert ask(query) == expected


@pytest.mark.parametrize(
    "query, what",
    [
        ("from numbers | sum(k)", "`sum` meets a number"),
        ("from numbers | cut y:=u*2", r"`\*` does not work with a number of so many digits"),
        ("select round(u) from numbers", "`round` does not work with"),
    ],
)
def test_what_cannot_be_exact_is_refused_by_name(query: str, what: str, ask: Ask) -> None:
    with pytest.raises(Refused, match=what):
        ask(query)


@pytest.mark.parametrize(
    "query, expected",
    [
        ("from times | ts > 2026-11-01 | count()", [{"count": 12}]),
        ("select count(*) as n from times where ts > '2026-11-01'", [{"n": 12}]),
        ("from times range 2026-11-01 to 2026-11-02 | count()", [{"count": 12}]),
        ("from times | count() every 1h | sort ts | yield count", [5, 6, 1, 1]),
        ("from times | ts == 2026-11-01T12:00:00Z | yield ts", ["2026-11-01T14:00:00+02:00"]),
        ("from times | ts > 2026-11-01T11:00:05.123456788Z | yield n", [5, 20]),
        ("from times | ts >= 2026-11-01T11:00:05.12345679Z | yield n", [20]),
        ("from times range 2026-11-01T11:00:04.1234567891Z to 2026-11-01T11:00:05.123456789Z | yield n", [5]),
        ("from times | ts == 2026-11-01T11:00:05.123456789Z | yield n", [5]),
        ("from times | head 7 | yield n", [0, 1, 2, 3, 4, 0, 1]),
        ("from times | tail 2 | yield ts", ["2026-11-01T14:00:00+02:00", "not a time"]),
        ("from times | ts < 2026-11-01T10:00:01Z | yield ts", ["2026-11-01T10:00:00.5Z"]),
        ("from times | max(ts) where n < 20", [{"max": "2026-11-01T11:00:05.123456Z"}]),
        ('from times | kind(ts) == "string" | yield ts', ["not a time"]),
        ("from times | n == 3 | sort ts | yield ts", ["2026-11-01T10:00:03.5Z", "2026-11-01T11:00:03.123456789Z"]),
        ("from times | n == 3 | by ts | count()", [{"count": 2}]),
        ("select ts from times where n = 5", [{"ts": "2026-11-01T11:00:05.123456789Z"}]),
        ("from times | n == 5 | collect(ts)", [{"collect": ["2026-11-01T11:00:05.123456789Z"]}]),
    ],
)
def test_a_declared_time_is_one_value_by_value(query: str, expected: list[Any], ask: Ask) -> None:
    assert ask(query) == expected
