"""Damage to files that Spark, or its tasks, read is found before a row is shown."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lochan.spark
from lochan.api.lake import compare_rows
from lochan.api.queries import run_query
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.row_diff.sides import RowDiffRequest
from lochan.engines.run_query import RunOptions
from lochan.engines.spark import session
from lochan.engines.spark.bucket_check import BucketCheck
from lochan.errors import Corrupt, Gone
from lochan.jobs.compaction import CompactJobOptions, compact
from lochan.jobs.diff_rows import DiffOptions
from lochan.lake import Lake
from lochan.pools.snapshot import DataObject
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.store.open import StoreLocation
from lochan.store.verified_files import VerifiedFiles
from lochan.versioning.branches import create_branch
from lochan.versioning.heads.commit import CommitRequest as Commit
from lochan.versioning.heads.commit import commit
from lochan.versioning.objects import put
from tests.run import run
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.unit.engines.lake import ANN, QueryLake, query_lake
from tests.unit.pools.place import once
from tests.unit.store.clocks import StillClock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = LEFT_SOCKETS
ROWS = [{"k": number, "x": number * 7} for number in range(100)]
SPARK = RunOptions(engine="spark", spark=HERE)


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    found = session.session_at(HERE, STANDARD)
    lochan.spark.register(found)
    found.createDataFrame([(1,)], "a int")  # which makes it the active one: Spark looks for data sources in that
    yield found
    session.stop()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake to be copied."""
    folder = tmp_path_factory.mktemp("whole")

    async def made() -> None:
        async with query_lake(folder) as fixture:
            await fixture.pool("logs", ROWS[:50], ROWS[50:])
            await fixture.lake.create_repository("files", actor=ANN)
            files = await fixture.lake.open_repository("files")
            pq.write_table(pa.table({"a": list(range(200_000))}), folder / "rows.parquet", compression="none")
            await put(files, "main", "t/rows.parquet", once((folder / "rows.parquet").read_bytes()), actor=ANN)
            await commit(files, "main", Commit("one"), actor=ANN)
            await files.close()
            logs = await fixture.lake.open_repository("logs")
            await create_branch(logs, "empty", "main~2", actor=ANN)
            await logs.close()

    run(made())
    return folder / "lake"


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "lake")
    return tmp_path / "lake"


async def _damage(lake: Lake) -> None:
    """Damage that DuckDB and Spark do not notice by themselves: two objects exchanged."""
    one, two = await QueryLake(lake).files("logs")
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)


async def _query(lake: Lake) -> None:
    with await run_query(lake, "from logs | sum(x)", SPARK) as result:
        list(result.rows())


async def _compact(lake: Lake) -> None:
    logs = await lake.open_repository("logs")
    options = CompactJobOptions(engine="spark", spark=HERE)
    try:
        await compact(logs, "main", lake.queries(), actor=ANN, options=options)
    finally:
        await logs.close()


async def _diff(lake: Lake) -> None:
    (await compare_rows(lake, "logs", RowDiffRequest("main", "empty"), DiffOptions(engine="spark", spark=HERE))).close()


@pytest.mark.parametrize("act", [_query, _compact, _diff])
def test_every_act_finds_objects_that_were_exchanged(spark: SparkSession, copied: Path, act: Any) -> None:
    async def play() -> None:
        lake = await Lake.open(LocalStore(str(copied)))
        await _damage(lake)
        with pytest.raises(Corrupt, match=r"data object \w+ of \S+.* is damaged, at \S+/data/"):
            await act(lake)
        await lake.close()

    run(play())


def test_frames_and_the_data_source_find_them_too(spark: SparkSession, copied: Path) -> None:
    assert lochan.spark.read(spark, "logs@main", lake=copied).count() == 100

    async def damage() -> None:
        lake = await Lake.open(LocalStore(str(copied)))
        await _damage(lake)
        await lake.close()

    run(damage())
    with pytest.raises(Corrupt, match="is damaged, at "):
        lochan.spark.read(spark, "logs@main", lake=copied)
    with pytest.raises(Corrupt, match="is damaged, at "):
        lochan.spark.register_views(spark, copied)
    assert lochan.spark.register_views(spark, copied, check=False)
    with pytest.raises(Exception, match="is damaged, at "):  # Spark's own, with the words of ours
        spark.read.format("lochan").option("lake", str(copied)).load("logs@main").count()


def test_files_of_a_repository_that_spark_reads_where_they_lie(spark: SparkSession, copied: Path) -> None:
    assert lochan.spark.read(spark, "files@main/t/", lake=copied).count() == 200_000
    [file] = [each for each in copied.rglob("*") if each.is_file() and each.stat().st_size > 1_000_000]
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(Corrupt, match=r"'t/rows.parquet'.* is damaged"):
        lochan.spark.read(spark, "files@main/t/", lake=copied)


def test_tasks_tell_the_digests_of_objects_in_a_bucket(spark: SparkSession, copied: Path) -> None:
    """Here the lake is in a folder, which is read by the same verbs."""
    objects: list[DataObject] = []

    async def play() -> None:
        store = LocalStore(str(copied))
        lake = await Lake.open(store)
        repository = await lake.open_repository("logs")
        snapshot = await lake.queries().snapshots.at(repository, await repository.resolve("main"))
        objects.extend(snapshot.objects(snapshot.all.tolist()))
        await repository.close()
        place = StoreLocation(str(copied))
        verified = VerifiedFiles(store.url, StillClock())
        check = BucketCheck(place, store, verified, spark)
        assert await check.check(objects) == [True, True]
        stats = [await store.head(each.address) for each in objects]
        for each, stat in zip(objects, stats, strict=True):
            assert verified.has(each.address, stat.etag, each.sha256)
        assert check.failure(objects) is None
        lost = objects[0]._replace(address="logs/data/not-there")
        assert await check.check([lost, objects[1]]) == [False, True]
        assert isinstance(check.failure([objects[1], lost]), Gone)
        await _damage(lake)
        await lake.close()
        with pytest.raises(Corrupt, match="is damaged, at "):
            await check.check(objects)
        assert isinstance(check.failure(objects), Corrupt)

    run(play())


def test_the_driver_asks_as_little_for_many_objects_as_for_few(spark: SparkSession, tmp_path: Path) -> None:
    """Tasks read them; once they are read, a list is all that is needed."""

    async def play() -> None:
        store = LocalStore(str(tmp_path), create=True)
        objects = []
        for number in range(200):
            address, data = f"r/data/7-task{number % 3}/{number:03d}", f"{number}".encode()
            await store.put(address, data)
            objects.append(DataObject(f"{number}", address, len(data), hashlib.sha256(data).digest(), 1, "logs", "c"))
        verified = VerifiedFiles(store.url, StillClock())
        for count in (50, 200, 200):
            counts = RequestCounts()
            check = BucketCheck(StoreLocation(str(tmp_path)), CountingStore(store, counts), verified, spark, 16)
            assert await check.check(objects[:count]) == [True] * count
            assert (counts.list.requests, counts.total.requests) == (1, 1)

    run(play())


def test_an_object_of_a_bucket_is_read_once_for_each_etag_and_twice_before_it_is_called_damaged() -> None:
    async def play() -> None:
        store = MemoryStore()
        verified = VerifiedFiles(store.url, StillClock())
        check = BucketCheck(StoreLocation("memory://"), store, verified)
        reads: list[str] = []
        lies = [0]
        get_stream = store.get_stream

        async def stream(path: str) -> Any:
            reads.append(path)
            lies[0] -= 1
            async for chunk in get_stream(path):
                yield b"?" * len(chunk) if lies[0] >= 0 else chunk

        store.get_stream = stream  # type: ignore[method-assign]
        await store.put("a", b"rows")
        object = DataObject("id", "a", 4, hashlib.sha256(b"rows").digest(), 1, "logs", "c")
        lies[0] = 1
        assert await check.check([object]) == [True]
        assert reads == ["a", "a"]
        assert await check.check([object]) == [True]
        assert reads == ["a", "a"]
        await store.put("a", b"sows")
        with pytest.raises(Corrupt, match="data object id of logs@c is damaged, at a"):
            await check.check([object])
        assert len(reads) == 4
        await store.put("a", b"row")
        with pytest.raises(Corrupt, match="it has 3 bytes instead of 4"):
            await check.check([object])

    run(play())
