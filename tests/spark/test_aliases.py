"""Bytes move behind aliases and the old files are deleted. Spark still reads them, on the driver and in tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

import lochan
import lochan.spark
from lochan.api.options import EngineOptions
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark import session
from lochan.engines.spark.frames.table_files import table_files
from lochan.engines.spark.frames.table_frame import can_spark_scan
from lochan.lake import Lake
from lochan.store.local import LocalStore
from lochan.versioning.bodies.body import ready
from lochan.versioning.bodies.write import Bodies
from lochan.versioning.collection.coalesce import coalesce
from lochan.versioning.objects import put, put_many
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.uri import Uri
from tests.run import run
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.spark.test_spark_tables import once, parquet
from tests.unit.collection.mover import move_everything
from tests.unit.collection.test_pool_dedupe import make_lake
from tests.unit.engines.lake import ANN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = LEFT_SOCKETS
T = TypeVar("T")


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    found = session.session_at(HERE, STANDARD)
    lochan.spark.register(found)
    found.createDataFrame([(1,)], "a int")
    yield found
    session.stop()


@pytest.fixture
def lake(tmp_path: Path) -> str:
    async def made() -> None:
        lake = await Lake.create(LocalStore(str(tmp_path / "lake"), create=True))
        await lake.create_repository("sales", actor=ANN)
        await lake.close()

    run(made())
    on_repository(str(tmp_path / "lake"), "sales", upload)
    with lochan.connect(str(tmp_path / "lake")) as opened:
        pool = opened.create_pool("logs", key="n")
        for n in range(4):
            pool.load([{"n": 10 * n + k, "text": "t" * k} for k in range(5)])
    return str(tmp_path / "lake")


def on_repository(lake: str, name: str, work: Callable[[OpenRepository], Awaitable[T]]) -> T:
    async def opened() -> T:
        found = await Lake.open(LocalStore(lake))
        repository = await found.open_repository(name)
        try:
            return await work(repository)
        finally:
            await repository.close()
            await found.close()

    return run(opened())


async def upload(repository: OpenRepository) -> None:
    """A file of its own, one that is cut into blocks, and two that share one."""
    await put(repository, "main", "t/a.parquet", once(parquet(1, 2)), actor=ANN)
    _, mint = await repository.refs()
    kept = {"clock": repository.clock, "ids": repository.ids, "writer": "w"}
    bodies = Bodies(repository.store, prefix=repository.repository.id, block_bytes=600, **kept)  # type: ignore[arg-type]
    cut = await bodies.write("t/b.parquet", once(parquet(3, 4, 5)), mint=mint)
    packed = [ready(path, parquet(*numbers)) for path, numbers in (("t/c.parquet", [6]), ("t/d.parquet", [7]))]
    await put_many(repository, "main", [cut, *await bodies.write_pack(packed, mint=mint)], actor=ANN)


def test_files_and_pools_that_have_moved(spark: SparkSession, lake: str) -> None:
    for name in ("sales", "logs"):
        assert on_repository(lake, name, move_everything)
    frame = lochan.spark.read(spark, "sales@main/t/", lake=lake)
    assert sorted(row.n for row in frame.collect()) == [1, 2, 3, 4, 5, 6, 7]
    source = spark.read.format("lochan").option("lake", lake).load("sales@main/t/")
    assert source.agg({"n": "sum"}).collect()[0][0] == 28
    rows = lochan.spark.read(spark, "logs", lake=lake)
    expected = sorted(10 * n + k for n in range(4) for k in range(5))
    assert sorted(row.n for row in rows.collect()) == expected
    direct = spark.read.format("lochan").option("lake", lake).load("logs")
    assert sorted(row.n for row in direct.collect()) == expected
    lochan.spark.delete(spark, "logs", "n = 11", lake=lake)
    assert lochan.spark.read(spark, "logs", lake=lake).count() == 19
    with lochan.connect(lake) as opened:
        assert opened.query("from logs | count()").to_arrow().num_rows == 1
        opened.pool("logs").compact()
    assert lochan.spark.read(spark, "logs", lake=lake).count() == 19


def test_a_file_of_many_blocks_is_read_by_spark_itself_once_it_is_coalesced(spark: SparkSession, lake: str) -> None:
    async def scanned(repository: OpenRepository) -> dict[str, bool]:
        found = await Lake.open(LocalStore(lake))
        files = await table_files(repository, Uri("sales", "main", "t/"), found.place)
        native = await can_spark_scan(repository, files)
        return {entry.path: yes for entry, yes in zip(files.entries, native, strict=True)}

    assert not on_repository(lake, "sales", scanned)["t/b.parquet"]
    made = on_repository(lake, "sales", lambda repository: coalesce(repository, "main", "t/", actor=ANN))
    assert (made.objects, made.left) == (1, ())
    assert on_repository(lake, "sales", scanned)["t/b.parquet"]
    frame = lochan.spark.read(spark, "sales@main/t/", lake=lake)
    assert sorted(row.n for row in frame.collect()) == [1, 2, 3, 4, 5, 6, 7]


def test_objects_of_a_pool_that_share_a_file(spark: SparkSession, tmp_path: Path) -> None:
    lake = make_lake(str(tmp_path / "lake"))
    with lochan.connect(lake) as opened:
        assert opened.pool("logs").storage.dedupe().duplicates == 2
        opened.pool("logs").branch("main").merge("dev")
        plain = [Path(lake) / row["address"] for row in opened.query("from logs:objects").rows()]
    assert (len(plain), len(set(plain))) == (4, 2), "three objects of one file"

    def counts(frame: DataFrame) -> dict[int, int]:
        return Counter(row.n for row in frame.where("n < 100").collect())

    def now() -> list[dict[int, int]]:
        """As each reader finds them."""
        source = spark.read.format("lochan").option("lake", lake).load("logs")
        with lochan.connect(lake) as found:
            on_spark = found.query("from logs | n < 100", EngineOptions(engine="spark"))
            queried = Counter(row["n"] for row in on_spark.rows())
        return [counts(lochan.spark.read(spark, "logs", lake=lake)), counts(source), queried]

    assert now() == [dict.fromkeys(range(6), 3)] * 3
    identified = lochan.spark.read(spark, "logs", lake=lake, metadata=True).where("n < 100")
    assert identified.count() == identified.select("_object", "_row").distinct().count() == 18, "whatever its file is"
    lochan.spark.delete(spark, "logs", "n = 5", lake=lake)
    assert now() == [dict.fromkeys(range(5), 3)] * 3
    with lochan.connect(lake) as opened:
        opened.pool("logs").branch("main").revert("main")
        assert now() == [dict.fromkeys(range(6), 3)] * 3
        opened.pool("logs").compact(engine=EngineOptions(engine="spark"))
        assert now() == [dict.fromkeys(range(6), 3)] * 3
        assert opened.fsck(data=True).damaged == 0
