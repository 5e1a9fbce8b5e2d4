"""A declared time is one moment, however it is written, wherever rows are compared: in pipes and in SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lochan.pools.settings import parse
from tests.run import run
from tests.unit.engines.lake import query_lake

ONE, SAME, LATER, NONE = "2026-11-01T10:00:00Z", "2026-11-01T11:00:00+01:00", "2026-11-01T10:00:00.000000001Z", "bad"
ROWS = [{"ts": text, "n": number} for number, text in enumerate((ONE, SAME, LATER, NONE), start=1)]
TOLD_APART = {
    "from p | count() by ts": {ONE: 2, LATER: 1, NONE: 1},
    "select ts, count(*) as count from p group by ts": {ONE: 2, LATER: 1, NONE: 1},
    "select distinct ts, 1 as count from p": {ONE: 1, LATER: 1, NONE: 1},
    "select ts, 1 as count from p union select ts, 1 as count from p": {ONE: 1, LATER: 1, NONE: 1},
    "select ts, 1 as count from p intersect select ts, 1 from p where n = 2": {ONE: 1},
    "select ts, 1 as count from p except select ts, 1 from p where n = 2": {LATER: 1, NONE: 1},
}


def query_rows(folder: Path, text: str) -> list[Any]:
    async def ask() -> list[Any]:
        async with query_lake(folder) as lake:
            await lake.pool("p", ROWS, settings=parse(["ts:time"]))
            return await lake.rows(text)

    return run(ask())


@pytest.mark.thorough
@pytest.mark.parametrize("text", TOLD_APART)
def test_one_moment_is_one_value(text: str, tmp_path: Path) -> None:
    assert {row["ts"]: row["count"] for row in query_rows(tmp_path, text)} == TOLD_APART[text]


def test_a_list_of_them(tmp_path: Path) -> None:
    assert query_rows(tmp_path, "from p | union(ts)") == [{"union": [LATER, ONE, NONE]}]


def test_elsewhere_they_stay_as_they_were_written(tmp_path: Path) -> None:
    text = "select ts from p union all select ts from p where n = 3 order by ts"
    *first, last = [row["ts"] for row in query_rows(tmp_path, text)]
    assert (sorted(first), last) == (sorted([ONE, SAME, LATER, LATER]), NONE)
