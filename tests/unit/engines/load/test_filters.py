"""Filters over columns: a look-up of one value opens only the objects that may hold it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from lochan.api.queries import run_query
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.statistics import BYTES_MAX
from lochan.engines.duckdb.session import DuckSession
from lochan.pools.json_row import FAIL, Faults
from tests.run import run
from tests.unit.engines.lake import BY_K, query_lake

LOADS, ROWS = 6, 400
VALUES = 60  # of a load
LAST = VALUES * LOADS


def row(load: int, number: int, chance: random.Random) -> dict[str, Any]:
    """All loads span the same values, but share only the first and the last."""
    own = {0: 0, 1: LAST}.get(number, chance.randrange(VALUES) * LOADS + load)
    text = f"{own:03}"
    return {"k": chance.random(), "n": own, "user": text, "of": {"id": own}, "mixed": own if number % 2 else text}


@pytest.mark.thorough
def test_a_look_up_opens_the_objects_that_may_hold_the_value(tmp_path: Path) -> None:
    chance = random.Random(1)
    loads = [[row(load, number, chance) for number in range(ROWS)] for load in range(LOADS)]
    there = [each["n"] for load in loads for each in load]

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", *loads)
            for value in (1, 38, 200, 299, 350):
                tests = f'user == "{value}"', f"n == {value}", f"of.id == {value}", f'mixed in [{value}, "{value}"]'
                for test in (each.replace(f'"{value}"', f'"{value:03}"') for each in tests):
                    with await run_query(lake.lake, f"from logs | {test} | cut n") as result:
                        assert [each["n"] for each in result.rows()] == [value] * there.count(value), test
                    assert result.stats.objects_read <= 2, test  # a filter errs once in eighty times
                    assert any(each.why.startswith("the filter of") for each in result.stats.skipped), test

    run(play())


@pytest.mark.thorough
def test_which_columns_have_one() -> None:
    chance = random.Random(2)

    def made(number: int) -> dict[str, Any]:
        return {
            "k": number % 100,
            "few": f"host {number % 90}",
            "some": number % 5_000,
            "many": number,
            "long": f"{number} {chance.random()}",
            "real": number % 7 + 0.5,
            "same": "always",
            "null": None,
        }

    with DuckSession() as session:
        loader = Loader(session, BY_K, Faults(FAIL))
        loader.take_rows([made(number) for number in range(30_000)])
        [written] = loader.objects()
        filtered = {column.path[0]: len(column.bloom) for column in written.facts.columns if column.bloom}
    assert filtered == {"few": 120, "some": 6256}
    assert sum(filtered.values()) <= BYTES_MAX


def test_small_objects_have_small_ones() -> None:
    with DuckSession() as session:
        loader = Loader(session, BY_K, Faults(FAIL))
        rows = [{"k": number, "a": number % 3, "b": number % 200, "c": number % 201} for number in range(1000)]
        loader.take_rows(rows)
        [written] = loader.objects()
    assert [column.path[0] for column in written.facts.columns if column.bloom] == ["a", "b"]
