"""Fields that may be null: rows come back, and queries tell null from missing, after loads, compaction and deletes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lochan.engines.duckdb.delete import delete_where
from lochan.engines.explain import explain
from lochan.engines.run_query import RunOptions
from lochan.errors import NothingToDo
from lochan.jobs.compaction import compact
from tests.corpus.reference.functions import type_text
from tests.run import run
from tests.unit.engines.lake import ANN, QueryLake, query_lake

Row = dict[str, Any]
_LEAVES: st.SearchStrategy[Any] = st.sampled_from([None, None, 1, "s", 1.5, True, [], [1], [1, None], [1, "s"], {}])
_OBJECTS = st.fixed_dictionaries({"c": _LEAVES}, optional={"d": st.sampled_from([None, 1])})
_NESTED = st.fixed_dictionaries({"p": st.one_of(st.none(), _OBJECTS)}, optional={"q": st.sampled_from([None, 2])})
ROWS = st.fixed_dictionaries(
    {"k": st.integers(0, 9), "a": st.sampled_from([None, 1])},
    optional={"b": _LEAVES, "o": st.one_of(st.none(), _NESTED, _NESTED, st.just("text"))},
)
PATHS = ("a", "b", "o", "o.p", "o.q", "o.p.c", "o.p.d")


@pytest.mark.thorough
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(ROWS, min_size=1, max_size=8), min_size=1, max_size=3))
def test_rows_come_back_with_their_nulls(loads: list[list[Row]]) -> None:
    async def play(folder: Path) -> None:
        async with query_lake(folder) as lake:
            await lake.pool("logs", *loads)
            rows = [row for each in loads for row in each]
            await check(lake, rows)
            await compacted(lake)
            await check(lake, rows)
            repository = await lake.lake.open_repository("logs")
            if any(_at(row, ("o", "p")) is None for row in rows):
                await delete_where(repository, "main", "o.p == null", lake.lake.queries().files, actor=ANN)
                await check(lake, [row for row in rows if _at(row, ("o", "p")) is not None])
            await repository.close()

    with TemporaryDirectory() as folder:
        run(play(Path(folder)))


@pytest.mark.thorough
def test_compaction_joins_what_differs_by_nulls(tmp_path: Path) -> None:
    """Each row came by itself, with nulls of its own, and an object with nothing but nulls; in the end they are one."""
    rows: list[Row] = [
        {"k": number, "a": number if number & 1 else None, "o": (None, {"c": None}, {"c": number})[number % 3]}
        for number in range(12)
    ]

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", *([row] for row in rows))
            await compacted(lake)
            assert await lake.rows("from logs:objects | cut count, shapes") == [{"count": 12, "shapes": 1}]
            assert await lake.rows("from logs") == rows
            await check(lake, rows)

    run(play())


def test_a_table_is_asked_as_a_person_would_ask_it(tmp_path: Path) -> None:
    """A column that may be null is one column: no shape is read, and null is where it is NULL."""
    rows: list[Row] = [{"k": number, "host": "a" if number & 1 else None, "ms": number or None} for number in range(9)]

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", rows)
            plan = await explain(lake.lake.queries(), "from logs | ms >= 3 | count() by host", RunOptions(actor=ANN))
            assert "_shape" not in plan["sql"] and ":null" not in plan["sql"]
            assert "CASE" not in plan["sql"]
            assert await lake.rows("from logs | ms >= 3 | count() by host | sort host") == [
                {"host": "a", "count": 3},
                {"host": None, "count": 3},
            ]

    run(play())


async def check(lake: QueryLake, rows: Sequence[Row]) -> None:
    if not rows:
        return
    assert in_order(await lake.rows("from logs")) == in_order(rows)
    found = {row["t"]: row["count"] for row in await lake.rows("from logs | count() by t:=typeof(this)")}
    assert found == Counter(map(type_text, rows))
    expected: dict[str, int] = {}
    asked: list[str] = []
    for number, path in enumerate(PATHS):
        values = [_at(row, path.split(".")) for row in rows]
        nulls = sum(value is None for value in values)
        missing = sum(value is MISSING for value in values)
        if missing < len(rows):  # else it is a field that nobody knows
            asked.append(f"m{number}:=count() where missing({path}), n{number}:=count() where {path} == null")
            asked.append(f"c{number}:=count({path})")
            expected |= {f"m{number}": missing, f"n{number}": nulls, f"c{number}": len(rows) - nulls - missing}
    assert await lake.rows(f"from logs | {', '.join(asked)}") == [expected]


async def compacted(lake: QueryLake) -> None:
    repository = await lake.lake.open_repository("logs")
    with suppress(NothingToDo):
        await compact(repository, "main", lake.lake.queries(), actor=ANN)
    await repository.close()


def in_order(rows: Sequence[Row]) -> list[str]:
    return sorted(json.dumps(row) for row in rows)


MISSING = object()


def _at(row: Any, path: Sequence[str]) -> Any:
    for name in path:
        if not isinstance(row, dict) or name not in row:
            return MISSING
        row = row[name]
    return row
