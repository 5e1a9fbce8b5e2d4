"""A query on Spark: order, limits, objects that are gone, and that nothing is left of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lochan.engines.asking import How
from lochan.engines.duckdb.limits import STANDARD, Cancelled, LimitReached, Limits
from lochan.engines.spark import session
from lochan.errors import Gone
from tests.run import run
from tests.spark.here import HERE, LEFT_SOCKETS
from tests.unit.engines.lake import ANN, QueryLake, query_lake

pytestmark = LEFT_SOCKETS
SPARK = How(engine="spark", spark=HERE, actor=ANN)
SLOW = "from pool | join (from pool) on a=a | join (from pool) on a=a | count()"  # 8 * 10^9 rows
MIXED: list[dict[str, Any]] = [
    {"k": 5, "x": 2**53 + 1},
    {"k": 1, "x": "s", "o": {"a": None}},
    {"k": 3, "x": 1.5, "n": [1, 2]},
]


@pytest.fixture(scope="module", autouse=True)
def stopped() -> Iterator[None]:
    yield
    session.stop()


@pytest.fixture
def temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def views() -> list[str]:
    spark = session.session_at(HERE, STANDARD)
    return [table.name for table in spark.catalog.listTables()]


def test_rows_come_back_in_the_order_of_the_key_and_nothing_is_left(tmp_path: Path, temp: Path) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path / "a lake [1]*{2}") as lake:  # a path that could be a glob
            await lake.pool("pool", MIXED[:2], MIXED[2:])
            result = await lake.lake.query("from pool", SPARK)
            assert list(result.rows()) == sorted(MIXED, key=lambda row: int(str(row["k"])))
            assert result.stats.engine == "spark"
            assert result.stats.rows == 3

    session.session_at(HERE, STANDARD)
    (tmp_path / "a lake [1]*{2}").mkdir()
    run(asked())
    assert not list(temp.glob("lochan-*"))
    assert views() == []


def test_its_rows_can_be_loaded(tmp_path: Path) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool", MIXED)
            await lake.pool("other")
            with await lake.lake.query("from pool | k > 1 | load other", SPARK) as result:
                assert [row["rows"] for row in result.rows()] == [2]
            assert await lake.rows("from other | cut k") == [{"k": 3}, {"k": 5}]

    run(asked())


async def _slow(lake: QueryLake) -> None:
    await lake.pool("pool", [{"k": number, "a": 1} for number in range(2_000)])


def test_a_limit_of_time(tmp_path: Path, temp: Path) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await _slow(lake)
            result = await lake.lake.query(SLOW, SPARK._replace(limits=Limits(seconds=1)))
            with pytest.raises(LimitReached, match="has not ended within its 1 seconds"):
                list(result.rows())

    session.session_at(HERE, STANDARD)
    run(asked())
    assert not list(temp.glob("lochan-*"))
    assert views() == []
    assert _nothing_runs()


def test_it_is_cancelled_from_another_thread(tmp_path: Path) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await _slow(lake)
            result = await lake.lake.query(SLOW, SPARK)
            threading.Timer(1, result.cancel).start()
            with pytest.raises(Cancelled):
                list(result.rows())

    run(asked())
    assert _nothing_runs()


def test_objects_that_are_gone(tmp_path: Path) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool", MIXED[:1], MIXED[1:2])
            files = await lake.files("pool")
            files[0].unlink()
            with pytest.raises(Gone, match="is gone"):
                await lake.lake.query("from pool", SPARK)
            result = await lake.lake.query("from pool", SPARK._replace(go_on=True))
            assert len(list(result.rows())) == 1
            assert "is gone" in result.warnings[0]
            files[1].unlink()
            rest = await lake.lake.query("from pool | count()", SPARK._replace(go_on=True))
            assert list(rest.rows()) == [{"count": 0}]

    run(asked())


def _nothing_runs() -> bool:
    """Within the time that it takes to end tasks."""
    tracker = session.session_at(HERE, STANDARD).sparkContext.statusTracker()
    waited = threading.Event()
    for _ in range(100):
        if not tracker.getActiveJobsIds():
            return True
        waited.wait(0.1)
    return False
