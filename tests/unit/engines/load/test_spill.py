"""Loads of more rows than fit into memory: they go to sorted files, and the result is the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lochan.engines.duckdb.load import staging
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.session import DuckSession
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.pools.json_row import Faults
from tests.run import run
from tests.unit.engines.lake import query_lake

Row = dict[str, Any]


MADE: dict[str, Callable[[int], object]] = {
    "int": lambda number: number,
    "text": lambda number: f"it's \0 {number:05}",
    "time": lambda number: f"2026-11-15T10:{number // 600 % 60:02}:{number // 10 % 60:02}.{number % 10}Z",
    "mixed": lambda number: number if number % 2 else f"{number:05}",
}


@pytest.fixture(autouse=True)
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for a few kilobytes."""
    monkeypatch.setattr(staging, "_SPILL_SHARE", 1 << 18)


def _logs(rows: int) -> list[Row]:
    """Rows of two shapes, the second of which comes late; unsorted; every tenth has no key."""
    found: list[Row] = []
    for number in range(rows):
        row: Row = {"k": number * 7919 % rows, "host": f"h{number % 5}"}
        if number % 10 == 3:
            del row["k"]
        if number > rows // 2 and number % 3:
            row["o"] = {"deep": [number, None]}
        found.append(row)
    return found


def _settings(*, descending: bool = False, nulls_first: bool = False, size: int = 1 << 28) -> PoolSettings:
    return PoolSettings((PoolKey(("k",), descending=descending),), size_bytes=size, nulls_first=nulls_first)


@pytest.mark.thorough
def test_tables_are_put_aside(tmp_path: Path) -> None:
    with DuckSession(temp=str(tmp_path), ordered=False) as session:
        loader = Loader(session, _settings(), Faults())
        loader.take_rows(_logs(50_000))
        files = [file for file in Path(session.folder).iterdir() if file.name.startswith("staged")]
        assert len(files) >= 2
        assert sum(written.facts.rows for written in loader.objects()) == 50_000


@pytest.mark.thorough
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls_first", [False, True])
@pytest.mark.parametrize("key", MADE)
def test_rows_come_back_in_order(key: str, nulls_first: bool, descending: bool, tmp_path: Path) -> None:
    made = MADE[key]
    rows = [{**row, "k": made(row["k"])} if "k" in row else row for row in _logs(6_000)]
    settings = _settings(descending=descending, nulls_first=nulls_first, size=1 << 12)

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", rows, settings=settings)
            spans = await lake.rows("from logs:objects | cut count, min, max")
            found = await lake.rows("from logs")
            assert len(spans) >= 2 and sum(each["count"] for each in spans) == 6_000
            keys = [row["k"] for row in found if "k" in row]
            assert keys == sorted(keys, key=lambda key: (isinstance(key, str), key), reverse=descending)
            without = [number for number, row in enumerate(found) if "k" not in row]
            assert without == list(range(600) if nulls_first != descending else range(5_400, 6_000))
            assert sorted(map(repr, found)) == sorted(map(repr, rows))

    run(play())
