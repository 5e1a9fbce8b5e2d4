"""Limits hold while a query is parsed and compiled: time, cancellation, and size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lochan.api.queries import run_query
from lochan.clock import SystemClock
from lochan.engines import run_query as engine
from lochan.engines.duckdb.limits import Cancelled, Limits, OutOfTime
from lochan.engines.explain import explain
from lochan.engines.run_query import RunOptions
from lochan.errors import Invalid, LochanError
from lochan.query.prepare import LENGTH_MAX
from tests.run import run
from tests.unit.engines.lake import ANN, QueryLake, query_lake

SEVEN: list[dict[str, Any]] = [
    {"k": number, "a": value} for number, value in enumerate((1, 1.5, "x", True, None, [1], {"p": 1}))
]
SUM = "+".join(["a"] * 40)


class HurriedClock(SystemClock):
    """A clock on which a second has passed whenever it is read."""

    def __init__(self) -> None:
        self._now = 0.0

    def boot(self) -> float:
        self._now += 1
        return self._now


@pytest.mark.parametrize("text", [f"from pool | put x := {SUM}", f"select {SUM} from pool"], ids=["pipes", "sql"])
def test_a_query_that_takes_too_long_to_compile(text: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool", SEVEN)
            at = replace(lake.lake.queries(), clock=HurriedClock())
            with pytest.raises(OutOfTime, match="has not ended within its 3 seconds"):
                await engine.run_query(at, text, RunOptions(limits=Limits(seconds=3)))

    run(play())


def test_a_query_that_nobody_wants_any_more_is_not_compiled_to_its_end(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool", SEVEN)
            with pytest.raises(Cancelled):
                await run_query(lake.lake, f"from pool | put x := {SUM}", RunOptions(alive=lambda: False))

    run(play())


@pytest.mark.thorough
def test_a_sum_over_many_kinds_is_as_long_as_its_terms(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool", SEVEN)
            sizes = []
            for terms in (6, 12):
                explained = await explain(
                    lake.lake.queries(), "from pool | put x := " + "+".join(["a"] * terms), RunOptions()
                )
                sizes.append(len(str(explained)))
            assert sizes[1] < 3 * sizes[0]
            found = await lake.rows(f"from pool | put x := {'+'.join(['a'] * 4)} | cut k, x")
            assert [row.get("x") for row in found] == [4, 6.0, "xxxx", None, None, None, None]

    run(play())


LARGE = {
    "parentheses": "from pool | where " + "(" * 20_000 + "a" + ")" * 20_000,
    "parentheses of SQL": "select " + "(" * 20_000 + "a" + ")" * 20_000 + " from pool",
    "pipes": "from pool" + " | where a == 1" * 10_000,
    "terms": "from pool | put x := " + "+".join(["a"] * 5_000),
    "terms of SQL": "select " + "+".join(["a"] * 5_000) + " from pool",
    "kinds of SQL": f"select {SUM} from pool",
    "subqueries": "select a from " + "(select a from " * 2_000 + "pool" + ") x" * 2_000,
    "unions": " union all ".join(["select a from pool"] * 3_000),
    "cases": "select " + "case when a = 1 then 1 else " * 2_000 + "2" + " end" * 2_000 + " from pool",
    "conditions": "from pool | put x := " + "a == 1 ? 1 : " * 2_000 + "2",
    "signs": "from pool | put x := " + "- " * 20_000 + "a",
    "negations": "from pool | where " + "not " * 20_000 + "a == 1",
    "negations of SQL": "select a from pool where " + "not " * 20_000 + "a = 1",
    "records": "from pool | put x := " + "{a:" * 2_000 + "1" + "}" * 2_000,
    "lists": "from pool | put x := " + "[" * 2_000 + "1" + "]" * 2_000,
    "branches": "from pool" + " | union (from pool" * 2_000 + ")" * 2_000,
    "letters": "from pool | where s == '" + "x" * LENGTH_MAX + "'",
    "letters of SQL": "select '" + "x" * LENGTH_MAX + "' from pool",
}


@pytest.mark.thorough
@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_what_is_too_large_is_refused_in_words(text: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool", SEVEN)
            with pytest.raises(LochanError) as found:
                await exhaust(lake, text)
            assert isinstance(found.value, Invalid), found.value

    run(play())


async def exhaust(lake: QueryLake, text: str) -> None:
    with await run_query(lake.lake, text, RunOptions(actor=ANN)) as result:
        list(result.rows())
