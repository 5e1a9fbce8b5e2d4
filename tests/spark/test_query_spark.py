"""A query on Spark: order, limits, missing objects, and that nothing of it is left behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

from lochan.api.queries import run_query
from lochan.engines.duckdb.limits import STANDARD, Cancelled, LimitReached, Limits, cancelled_error
from lochan.engines.run_query import RunOptions
from lochan.engines.spark import job, session
from lochan.engines.spark.waves import Sizes, waves, whole
from lochan.errors import Gone, Refused
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.jobs.record import jobs
from tests.run import run
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.unit.engines.lake import ANN, QueryLake, query_lake
from tests.unit.engines.test_order_of_rows import KEYS, place

pytestmark = LEFT_SOCKETS
SPARK = RunOptions(engine="spark", spark=HERE, actor=ANN)
# Four hundred million rows; a task looks whether it is to end at every twenty thousand. One that did so seldom would be
# ended with its JVM, in the midst of the next test.
SLOW = "from pool | join (from pool) on a=a | count()"
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
            result = await run_query(lake.lake, "from pool", SPARK)
            assert list(result.rows()) == sorted(MIXED, key=lambda row: int(str(row["k"])))
            assert result.stats.engine == "spark"
            assert result.stats.rows == 3

    session.session_at(HERE, STANDARD)
    (tmp_path / "a lake [1]*{2}").mkdir()
    run(asked())
    assert not list(temp.glob("lochan-*"))
    assert views() == []


def test_keys_of_every_kind_have_the_order_that_duckdb_gives_them(tmp_path: Path) -> None:
    rows = [{"n": number, "k": key} for number, key in enumerate(KEYS)]

    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            for name, down in (("ascending", False), ("descending", True)):
                settings = PoolSettings((PoolKey(("k",), down),), nulls_first=down, times=(("k",),))
                await lake.pool(name, rows[::3], rows[1::3], [*rows[2::3], {"n": -1}], settings=settings)
                found = list((await run_query(lake.lake, f"from {name}", SPARK)).rows())
                places = [place(row, settings) for row in found]
                assert len(found) == len(rows) + 1
                assert places == sorted(places)

    run(asked())


def test_its_rows_can_be_loaded(tmp_path: Path) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool", MIXED)
            await lake.pool("other")
            with await run_query(lake.lake, "from pool | k > 1 | load other", SPARK) as result:
                assert [row["rows"] for row in result.rows()] == [2]
            assert await lake.rows("from other | cut k") == [{"k": 3}, {"k": 5}]

    run(asked())


async def _slow(lake: QueryLake) -> None:
    await lake.pool("pool", [{"k": number, "a": 1} for number in range(20_000)])


def test_a_limit_of_time(tmp_path: Path, temp: Path) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await _slow(lake)
            result = await run_query(lake.lake, SLOW, SPARK._replace(limits=Limits(seconds=1)))
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
            result = await run_query(lake.lake, SLOW, SPARK)
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
                await run_query(lake.lake, "from pool", SPARK)
            result = await run_query(lake.lake, "from pool", SPARK._replace(go_on=True))
            assert len(list(result.rows())) == 1
            assert "is gone" in result.warnings[0]
            files[1].unlink()
            rest = await run_query(lake.lake, "from pool | count()", SPARK._replace(go_on=True))
            assert list(rest.rows()) == [{"count": 0}]

    run(asked())


def test_rows_come_in_waves_and_in_order() -> None:
    """The driver holds a few of them at a time, however many there are."""
    spark = session.session_at(HERE, STANDARD)
    frame = spark.range(0, 200_000, numPartitions=40).selectExpr("id", "repeat('x', 100) AS text")
    sizes = Sizes(partition_bytes=1, wave_bytes=2 << 20, first_wave=2, few=False)
    come = [pa.Table.from_batches(wave) for wave in waves(frame, sizes)]
    assert pa.concat_tables(come).equals(frame.toArrow())
    assert [table.num_rows // 5_000 for table in come] == [2, 3, *[3] * 11, 2]  # 0.6 MB a partition
    assert max(table.nbytes for table in come) <= sizes.wave_bytes


def test_a_wave_that_is_too_large_for_spark_is_asked_for_in_parts() -> None:
    spark = session.session_at(HERE, STANDARD)
    frame = spark.range(0, 3, numPartitions=3).selectExpr("id", "repeat('x', 20000000) AS text")  # 32 MB are allowed
    sizes = Sizes(partition_bytes=1, wave_bytes=1 << 40, first_wave=3, few=False)
    assert [[batch.num_rows for batch in wave] for wave in waves(frame, sizes)] == [[1], [1], [1]]


def test_the_memory_of_the_parser_is_bounded() -> None:
    """By default it keeps what it has learned of every statement for as long as the JVM lives."""
    spark = session.session_at(HERE, STANDARD)
    parser = spark._jvm.org.apache.spark.sql.catalyst.parser.AbstractParser  # type: ignore[union-attr]
    allowed = STANDARD.memory_bytes * 5 // 100 // parser.BYTES_PER_DFA_STATE()
    counts = []
    for depth in range(1, 30):
        nested = "CASE WHEN a > 1 THEN (" * depth + "SELECT max(b[1].c) FROM x" + ") ELSE -1 END" * depth
        with suppress(AnalysisException):  # it is parsed; there is no such table
            spark.sql(f"SELECT {nested}")
        counts.append(parser.getDFACacheNumStates())
    assert 0 < max(counts) <= allowed


def test_a_jvm_that_has_died_is_started_again(tmp_path: Path) -> None:
    """It dies if memory is short; the next query must not suffer."""

    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await _slow(lake)
            result = await run_query(lake.lake, SLOW, SPARK)
            jvm = _jvm()
            threading.Timer(1, jvm.kill).start()
            with pytest.raises(Refused, match="Spark itself has ended"):
                list(result.rows())
            result = await run_query(lake.lake, "from pool | count()", SPARK)
            assert list(result.rows()) == [{"count": 20_000}]
            assert jvm.stdin.closed, "nothing of it is left"

    run(asked())


def _jvm() -> Any:
    """Its process."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    assert gateway is not None
    return gateway.proc


def running_classes(spark: Any) -> list[str]:
    """The innermost call of each task thread."""
    traces = spark.sparkContext._jvm.java.lang.Thread.getAllStackTraces()
    tasks = [thread for thread in traces.keySet() if thread.getName().startswith("Executor task launch worker")]
    return [trace[0].getClassName() for trace in map(traces.get, tasks) if len(trace)]


def test_a_jvm_whose_tasks_do_not_end_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A regular expression that tries all ways looks at nothing while it does. Queries cannot say such a one."""
    monkeypatch.setattr(job, "STUCK_S", 2.0)
    spark = session.session_at(HERE, STANDARD)
    process = session._jvm()
    assert process is not None
    texts = "repeat('a', CAST(id AS INT) + 400)"
    frame = spark.sql(f"SELECT count(*) FROM range(4) WHERE regexp_like({texts}, 'a*a*a*a*a*a*a*a*b')")
    stuck = job.SparkStatement(job.Tagged(spark, "stuck", "stuck"), lambda: whole(frame), STANDARD)

    def stop_once_it_matches() -> None:
        while not any(each.startswith("java.util.regex") for each in running_classes(spark)):
            sleep(0.1)
        stuck.interrupt(cancelled_error())

    threading.Thread(target=stop_once_it_matches, daemon=True).start()
    with pytest.raises(Cancelled):
        list(stuck.batches())
    process.wait(300)

    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool", MIXED)
            assert len(await lake.rows("from pool", engine="spark", spark=HERE)) == 3

    run(asked())


def test_rows_that_nobody_asks_for_any_more(tmp_path: Path) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool", [{"k": number, "a": number % 20} for number in range(3_000)])
            result = await run_query(lake.lake, "from pool | join (from pool) on a=a", SPARK)  # 450,000 rows
            batches = result.batches()
            assert next(batches).num_rows > 0
            result.cancel()
            with pytest.raises(Cancelled):
                list(batches)
            found = await jobs(lake.lake.store, lake.lake.clock.wall(), 1)
            assert [(each.kind, each.about, each.state) for each in found] == [("query", "pool", "cancelled")]

    run(asked())
    assert _nothing_runs()
    assert views() == []


def _nothing_runs() -> bool:
    """Within the time that it takes to end tasks."""
    tracker = session.session_at(HERE, STANDARD).sparkContext.statusTracker()
    waited = threading.Event()
    for _ in range(100):
        if not tracker.getActiveJobsIds():
            return True
        waited.wait(0.1)
    return False
