"""Queries on a remote Spark, behind Spark Connect: no JVM runs on the asking machine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import lochan.spark
from lochan.api.lake import compare_rows
from lochan.api.pool import load_rows
from lochan.api.queries import run_query
from lochan.engines.duckdb.limits import STANDARD, Cancelled, LimitReached, Limits
from lochan.engines.row_diff.sides import RowDiffRequest
from lochan.engines.run_query import RunOptions
from lochan.engines.spark import session
from lochan.engines.spark.place import SparkPlace
from lochan.errors import Gone, PreconditionFailed
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.jobs.compaction import CompactJobOptions, compact
from lochan.jobs.diff_rows import DiffOptions
from lochan.jobs.record import jobs
from lochan.lake import Lake
from lochan.store.local import LocalStore
from tests.spark.connect import connect_server
from tests.spark.local_spark import LEFT_SOCKETS
from tests.spark.times_in_zones import check_times
from tests.unit.engines.lake import ANN, QueryLake, query_lake

pytestmark = [LEFT_SOCKETS, pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")]
# Four hundred million rows. A task looks whether it is to end whenever it takes another row of a file: that must be
# often, for nobody can end the server's own JVM, and what goes on there keeps its two cores from the next test.
SLOW = "from many | join (from many) on a=a | count()"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder whose lake is a catalog of the server."""
    return tmp_path_factory.mktemp("catalog")


@pytest.fixture(scope="module")
def how(catalog: Path) -> Iterator[RunOptions]:
    with connect_server(lochan.spark.catalog_settings("lake", lake=catalog / "lake")) as url:
        yield RunOptions(engine="spark", spark=SparkPlace(remote=url), actor=ANN)
        session.stop()


def test_rows_limits_and_what_is_gone(how: RunOptions, tmp_path: Path) -> None:
    rows = [{"k": number, "a": 1, "s": f"{number}"} for number in range(2_000)]

    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool", rows[::2], rows[1::2])
            await lake.pool("many", [{"k": number, "a": 1} for number in range(20_000)])
            with await run_query(lake.lake, "from pool", how) as result:
                assert list(result.rows()) == rows
            with await run_query(lake.lake, "from pool:objects | count()", how) as result:  # a table of ours
                assert list(result.rows()) == [{"count": 2}]
            result = await run_query(lake.lake, SLOW, how._replace(limits=Limits(seconds=1)))
            with pytest.raises(LimitReached, match="has not ended within its 1 seconds"):
                list(result.rows())
            result = await run_query(lake.lake, SLOW, how)
            threading.Timer(1, result.cancel).start()
            with pytest.raises(Cancelled):
                list(result.rows())
            (await lake.files("pool"))[0].unlink()
            with pytest.raises(Gone, match="is gone"):
                await run_query(lake.lake, "from pool", how)
            found = await jobs(lake.lake.store, lake.lake.clock.wall(), 9)
            # The newest first. What is gone is looked for once more, in case it has moved.
            assert [each.state for each in found] == ["failed", "failed", "cancelled", "failed", "done", "done"]
            assert {each.where for each in found} == {how.spark.remote}

    asyncio.run(asked())


def test_a_frame_and_a_stream(how: RunOptions, tmp_path: Path) -> None:
    """They are jobs, as everywhere, but the server reports nothing about their tasks."""

    async def made() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool")

    asyncio.run(made())
    spark, place = session.session_at(how.spark, STANDARD), tmp_path / "lake"
    landed = lochan.spark.write(spark.range(30).withColumnRenamed("id", "k"), "pool", lake=place)
    assert landed.rows == 30
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"k": 30}\n{"k": 31}\n')
    frames = spark.readStream.schema("k long").json(str(tmp_path / "in"))
    late = 0
    while True:
        try:
            query = lochan.spark.ingest(frames, "pool", checkpoint=tmp_path / "state", available_now=True, lake=place)
            break
        except Exception as error:  # the server gives a new Python ten seconds to answer, however busy the machine is
            late += 1
            if "Python worker failed to connect back" not in str(error) or late > 20:
                raise
    assert query.awaitTermination(300)

    async def asked() -> None:
        opened = await Lake.open(LocalStore(str(place)))
        assert await QueryLake(opened).rows("from pool | cut k") == [{"k": number} for number in range(32)]
        found = await jobs(opened.store, opened.clock.wall(), 30)
        while found[0].state == "running":  # it is told when the stream has ended
            await asyncio.sleep(0.1)
            found = await jobs(opened.store, opened.clock.wall(), 30)
        assert [each.state for each in found[1:-1]] == ["failed"] * late
        found = [found[0], found[-1]]
        assert [(each.kind, each.state, each.rows) for each in found] == [
            ("ingest", "done", None),
            ("write", "done", 30),
        ]
        assert [each.executor_bytes for each in found] == [None, landed.put_bytes]
        await opened.close()

    asyncio.run(asked())


def test_times_are_what_they_were_in_any_zone(how: RunOptions, tmp_path: Path) -> None:
    """Behind Connect, a frame is planned when it runs: by then the session is in its own zone again."""
    from pyspark.sql import SparkSession

    async def made() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool")

    asyncio.run(made())
    own = SparkSession.builder.remote(how.spark.remote).create()
    lochan.spark.register(own)
    try:
        check_times(own, str(tmp_path / "lake"))
    finally:
        own.stop()


def test_an_overwrite_by_what_was_read_drops_nothing_that_came_since(how: RunOptions, tmp_path: Path) -> None:
    async def made() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool", [{"k": 1}])

    async def more() -> None:
        opened = await Lake.open(LocalStore(str(tmp_path / "lake")))
        await load_rows(opened, "pool", [{"k": 2}], actor=ANN)
        await opened.close()

    asyncio.run(made())
    spark, place = session.session_at(how.spark, STANDARD), tmp_path / "lake"
    read = lochan.spark.read(spark, "pool", lake=place)
    asyncio.run(more())
    for frame in (read, read.groupBy().max("k").toDF("k")):
        with pytest.raises(PreconditionFailed, match="would drop what came since"):
            lochan.spark.write(frame, "pool", mode="overwrite", lake=place)
    lochan.spark.write(read, "pool", mode="overwrite", expect="main", lake=place)
    assert lochan.spark.read(spark, "pool", lake=place).count() == 1


def test_a_compaction_and_a_diff_of_rows(how: RunOptions, tmp_path: Path) -> None:
    rows = [{"k": number, "s": f"{number * 2654435761 % (1 << 32):x}"} for number in range(2_000)]

    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool(
                "pool", rows[::2], rows[1::2], settings=PoolSettings((PoolKey(("k",)),), size_bytes=4 << 10)
            )
            repository = await lake.lake.open_repository("pool")
            options = CompactJobOptions("spark", spark=how.spark)
            done = await compact(repository, "main", lake.lake.queries(), actor=ANN, options=options)
            await repository.close()
            assert done.after > 2
            await lake.load("pool", rows[:2])
            with await compare_rows(
                lake.lake, "pool", RowDiffRequest("main~2", "main"), DiffOptions("spark", spark=how.spark)
            ) as found:
                assert (found.added, found.removed) == (2, 0)
                assert found.frame.count() == 2

    asyncio.run(asked())


def test_a_catalog_of_the_server(how: RunOptions, catalog: Path) -> None:
    """The jar and the lake are settings of the server; whoever connects needs neither."""

    async def made() -> None:
        async with query_lake(catalog) as lake:
            await lake.pool("logs", [{"k": number} for number in range(10)], [{"k": 10}])

    asyncio.run(made())
    spark = session.session_at(how.spark, STANDARD)
    assert spark.table("lake.logs").where("k >= 5").count() == 6
    spark.sql("INSERT INTO lake.logs VALUES (11), (12)").collect()
    [(count, total)] = spark.sql("SELECT count(*), sum(k) FROM lake.logs").collect()
    assert (count, total) == (13, sum(range(13)))
    assert spark.sql("SELECT * FROM lake.logs VERSION AS OF 'main~1'").count() == 11


def test_rows_change(how: RunOptions, tmp_path: Path) -> None:
    async def made() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", [{"k": 1, "x": 1}, {"k": 2, "x": "two"}], [{"k": 3}])

    asyncio.run(made())
    spark, place = session.session_at(how.spark, STANDARD), tmp_path / "lake"
    lochan.spark.update(spark, "logs", {"k": "k + 10"}, where="k < 3", lake=place)
    lochan.spark.delete(spark, "logs", "k = 3", lake=place)
    source = spark.createDataFrame([(11, "new"), (4, "four")], "k bigint, y string")
    lochan.spark.merge(spark, "logs", source, ["k"], when_matched="update", when_not_matched="insert", lake=place)
    with lochan.connect(place) as lake, lake.query("from logs | sort k") as found:
        rows = list(found.rows())
    assert rows == [{"k": 4, "y": "four"}, {"k": 11, "x": 1, "y": "new"}, {"k": 12, "x": "two"}]
