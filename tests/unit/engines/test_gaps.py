"""Objects within objects that some files lack, which DuckDB alone cannot read."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.run import run
from tests.unit.engines.lake import query_lake

Row = dict[str, Any]
_INNER = st.dictionaries(st.sampled_from("uv"), st.integers(0, 3), max_size=2)
_MIDDLE = st.dictionaries(st.sampled_from("pq"), st.one_of(st.integers(0, 3), _INNER), max_size=2)
_OBJECTS = st.dictionaries(st.sampled_from("abc"), st.one_of(st.integers(0, 3), _MIDDLE), max_size=3)
PATHS = ["o.a", "o.a.p", "o.a.p.u", "o.a.q.v", "o.b.p", "o.b.p.u", "o.c.q.u"]


def test_a_part_of_an_object_that_another_file_lacks(tmp_path: Path) -> None:
    loads: list[list[Row]] = [[{"k": 1, "o": {"p": {"c": 1}}}], [{"k": 2, "o": {"q": 2}}], [{"k": 3}]]

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", *loads)
            assert await lake.rows("from logs | sort k") == [row for load in loads for row in load]
            assert await lake.rows("from logs | o.p.c == 1 | cut k") == [{"k": 1}]
            assert await lake.rows("from logs | sum(o.p.c), n:=sum(o.q)") == [{"sum": 1, "n": 2}]

    run(play())


@pytest.mark.thorough
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(_OBJECTS, min_size=1, max_size=2), min_size=2, max_size=4))
def test_any_part_of_any_objects(loads: list[list[Row]]) -> None:
    numbers = iter(range(99))
    pool = [[{"k": next(numbers), "o": each} for each in load] for load in loads]
    rows: list[Row] = [row for load in pool for row in load]

    async def play(folder: Path) -> None:
        async with query_lake(folder) as lake:
            await lake.pool("logs", *pool)
            assert await lake.rows("from logs | sort k") == rows
            for path in PATHS:
                there = [row for row in rows if _at(row, path.split(".")) is not None]
                if there:
                    assert await lake.rows(f"from logs | not missing({path}) | sort k") == there, path

    with TemporaryDirectory() as folder:
        run(play(Path(folder)))


def _at(row: Any, path: list[str]) -> Any:
    for name in path:
        row = row.get(name) if isinstance(row, dict) else None
    return row
