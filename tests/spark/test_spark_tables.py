"""Parquet files of a repository as tables of Spark, however their bytes are stored, on branches and in workspaces."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lochan.spark
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark import session
from lochan.engines.spark.frames.table_files import TableFiles, table_files
from lochan.errors import AlreadyExists, Dirty, Invalid, NotFound, PreconditionFailed
from lochan.formats.entry import Entry
from lochan.lake import Lake
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.local import LocalStore
from lochan.store.protocol import Store
from lochan.versioning.bodies.body import ready
from lochan.versioning.bodies.write import Bodies
from lochan.versioning.copy import copy
from lochan.versioning.objects import put, put_many
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.uri import Uri
from lochan.versioning.workspaces.write import open_workspace
from tests.run import run
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.unit.engines.lake import ANN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = LEFT_SOCKETS
T = TypeVar("T")


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    found = session.session_at(HERE, STANDARD)
    lochan.spark.register(found)
    found.createDataFrame([(1,)], "a int")  # which makes it the active one: Spark looks for data sources in that
    yield found
    session.stop()


@pytest.fixture
def lake(tmp_path: Path) -> str:
    async def made() -> None:
        lake = await Lake.create(LocalStore(str(tmp_path / "lake"), create=True))
        await lake.create_repository("sales", actor=ANN)
        await lake.create_pool("pool", actor=ANN)
        await lake.close()

    run(made())
    return str(tmp_path / "lake")


def on_sales(lake: str, work: Callable[[OpenRepository], Awaitable[T]]) -> T:
    async def opened() -> T:
        found = await Lake.open(LocalStore(lake))
        repository = await found.open_repository("sales")
        try:
            return await work(repository)
        finally:
            await repository.close()
            await found.close()

    return run(opened())


def parquet(*numbers: int) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"n": pa.array(numbers, pa.int64()), "text": [f"{n} " * 50 for n in numbers]}), sink)
    return sink.getvalue()


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


def test_files_that_are_cut_or_packed_are_read_with_the_others(spark: SparkSession, lake: str) -> None:
    async def upload(repository: OpenRepository) -> None:
        await put(repository, "main", "t/a.parquet", once(parquet(1, 2)), actor=ANN)
        await put(repository, "main", "t/_hidden.parquet", once(b"no table"), actor=ANN)
        await put(repository, "main", "t/notes.txt", once(b"no table"), actor=ANN)
        _, mint = await repository.refs()
        kept = {"clock": repository.clock, "ids": repository.ids, "writer": "w"}
        bodies = Bodies(repository.store, prefix=repository.repository.id, block_bytes=600, **kept)  # type: ignore[arg-type]
        cut = await bodies.write("t/b.parquet", once(parquet(3, 4, 5)), mint=mint)
        assert len(cut.blocks) > 1
        packed = [ready(path, parquet(*numbers)) for path, numbers in (("t/c.parquet", [6]), ("t/d.parquet", [7]))]
        entries: list[Entry] = [cut, *await bodies.write_pack(packed, mint=mint)]
        await put_many(repository, "main", entries, actor=ANN)

    on_sales(lake, upload)
    frame = lochan.spark.read(spark, "sales@main/t/", lake=lake)
    assert dict(frame.dtypes) == {"n": "bigint", "text": "string"}
    assert sorted(row.n for row in frame.collect()) == [1, 2, 3, 4, 5, 6, 7]
    source = spark.read.format("lochan").option("lake", lake).load("sales@main/t/")
    assert (source.dtypes, source.agg({"n": "sum"}).collect()[0][0]) == (frame.dtypes, 28)
    with pytest.raises(Exception, match="files are read without it"):
        spark.read.format("lochan").option("lake", lake).option("where", "n > 1").load("sales@main/t/")
    one = lochan.spark.read(spark, "sales/t/c.parquet", columns=["n"], lake=lake)
    assert [row.asDict() for row in one.collect()] == [{"n": 6}]
    with pytest.raises(NotFound, match="no Parquet files"):
        lochan.spark.read(spark, "sales@main/nowhere/", lake=lake)
    with pytest.raises(Invalid, match="without a test"):
        lochan.spark.read(spark, "sales@main/t/", where="n > 1", lake=lake)


def file_of(columns: dict[str, pa.Array], **how: bool) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, **how)
    return sink.getvalue()


def put_files(lake: str, files: dict[str, bytes], *, whole: bool) -> None:
    """As separate files, or all in one pack, which Spark does not read by itself."""

    async def upload(repository: OpenRepository) -> None:
        if whole:
            for path, data in files.items():
                await put(repository, "main", path, once(data), actor=ANN)
            return
        _, mint = await repository.refs()
        kept = {"clock": repository.clock, "ids": repository.ids, "writer": "w"}
        bodies = Bodies(repository.store, prefix=repository.repository.id, **kept)  # type: ignore[arg-type]
        entries = await bodies.write_pack([ready(path, data) for path, data in files.items()], mint=mint)
        await put_many(repository, "main", entries, actor=ANN)

    on_sales(lake, upload)


def test_the_footers_of_many_files_are_read_by_tasks(spark: SparkSession, lake: str) -> None:
    """The driver sends as many requests for 80 files as for 40, and names the one that is no Parquet file."""
    odd = {"b": pa.array(["x"])}
    files = {f"t/{n:02}.parquet": file_of({"a": pa.array([n]), **(odd if n % 2 else {})}) for n in range(80)}
    put_files(lake, files | {f"u{path[1:]}": data for path, data in [*files.items()][:40]}, whole=True)
    asked = []
    for table, count in (("u/", 40), ("t/", 80)):
        counts = RequestCounts()
        found = run(_looked_at(spark, CountingStore(LocalStore(lake), counts), table))
        assert (found.schema.names, len(found.entries)) == (["a", "b"], count)
        assert [len(each.schema.names) for each in found.schemas] == [1, 2] * (count // 2)
        assert [each.path for each in found.schemas] == [entry.path for entry in found.entries]
        asked.append((counts.head.requests, counts.get_range.requests, counts.get_stream.requests))
    assert asked[0] == asked[1]
    back = lochan.spark.read(spark, "sales/t/", lake=lake)
    assert (back.count(), back.where("b is null").count(), len(back.inputFiles())) == (80, 40, 80)
    put_files(lake, {"t/bad.parquet": b"no Parquet at all"}, whole=True)
    with pytest.raises(Invalid, match=r"t/bad.parquet is no Parquet file"):
        lochan.spark.read(spark, "sales/t/", lake=lake)


async def _looked_at(spark: SparkSession, store: Store, table: str) -> TableFiles:
    lake = await Lake.open(store)
    repository = await lake.open_repository("sales")
    try:
        return await table_files(repository, Uri("sales", "main", table), lake.place, spark)
    finally:
        await repository.close()
        await lake.close()


@pytest.mark.parametrize("whole", [True, False], ids=["by Spark itself", "through Python"])
def test_columns_of_paths_and_of_later_files(spark: SparkSession, lake: str, whole: bool) -> None:
    required = pa.schema([pa.field("n", pa.int32(), nullable=False)])
    sink = io.BytesIO()
    pq.write_table(pa.table({"n": pa.array([1], pa.int32())}, required), sink)
    files = {
        "t/year=2025/day=2025-12-31/a.parquet": sink.getvalue(),
        "t/year=2026/day=2026-01-01/b.parquet": file_of({"n": pa.array([2**40, None]), "new": pa.array(["x", "y"])}),
        "t/year=2026/day=__HIVE_DEFAULT_PARTITION__/c.parquet": file_of(
            {"n": pa.array([3], pa.int16()), "year": pa.array(["not this"]), "a.b`c": pa.array([True])}
        ),
    }
    put_files(lake, files, whole=whole)
    if whole:  # a copy shares its object
        first = next(iter(files))
        on_sales(lake, lambda sales: copy(sales, "main", first, "main", "t/year=7/a.parquet", actor=ANN))
    source = spark.read.format("lochan").option("lake", lake).load("sales@main/t/")
    expected = [
        (1, None, None, 2025, date(2025, 12, 31)),
        *([(1, None, None, 7, None)] if whole else []),
        (2**40, "x", None, 2026, date(2026, 1, 1)),
        (None, "y", None, 2026, date(2026, 1, 1)),
        (3, None, True, 2026, None),
    ]
    for frame in (lochan.spark.read(spark, "sales@main/t/", lake=lake), source):
        assert frame.dtypes == [
            ("n", "bigint"),
            ("new", "string"),
            ("a.b`c", "boolean"),
            ("year", "int"),
            ("day", "date"),
        ]
        assert sorted(map(tuple, frame.collect()), key=str) == sorted(expected, key=str)
        assert frame.where("year = 2026 and day is not null").count() == 2
    frame = lochan.spark.read(spark, "sales@main/t/", columns=["a.b`c", "year"], lake=lake)
    assert (frame.columns, frame.where("year = 2025").count()) == (["a.b`c", "year"], 1)
    assert (len(frame.inputFiles()) > 0) is whole
    below = lochan.spark.read(spark, "sales@main/t/year=2025/", lake=lake)  # as Spark has it: what is below counts
    assert below.columns == ["n", "day"]


def test_times_of_files_and_files_that_make_no_table(spark: SparkSession, lake: str) -> None:
    """Written by Spark (INT96), and by others; through Python and not."""
    moment = datetime(2026, 11, 1, 12)
    times = pa.array([moment], pa.timestamp("us"))
    columns = {"ntz": times, "ltz": times.cast(pa.timestamp("us", "UTC"))}
    put_files(lake, {"times/a.parquet": file_of(columns)}, whole=True)
    put_files(lake, {"packed/a.parquet": file_of(columns), "packed/b.parquet": file_of(columns)}, whole=False)
    put_files(lake, {"int96/a.parquet": file_of({"t": times}, use_deprecated_int96_timestamps=True)}, whole=True)
    put_files(lake, {"nanos/a.parquet": file_of({"t": pa.array([moment], pa.timestamp("ns", "UTC"))})}, whole=True)
    zone = "spark.sql.session.timeZone"
    spark.conf.set(zone, "America/New_York")
    try:
        for uri in ("sales/times/", "sales/packed/", "sales/int96/", "sales/nanos/"):
            for frame in (
                lochan.spark.read(spark, uri, lake=lake),
                spark.read.format("lochan").option("lake", lake).load(uri),
            ):
                for name, type in frame.dtypes:
                    assert type == ("timestamp_ntz" if name == "ntz" else "timestamp"), uri
                    texts = {row[name] for row in frame.select(frame[name].cast("string").alias(name)).collect()}
                    assert texts == {"2026-11-01 12:00:00" if name == "ntz" else "2026-11-01 07:00:00"}, uri
    finally:
        spark.conf.set(zone, "UTC")
    put_files(
        lake, {"two/a.parquet": file_of({"x": pa.array([1])}), "two/b.parquet": file_of({"x": ["s"]})}, whole=True
    )
    with pytest.raises(Invalid, match=r"'x' is int64 in two/a\.parquet and string in two/b\.parquet"):
        lochan.spark.read(spark, "sales/two/", lake=lake)
    put_files(lake, {"cases/a.parquet": file_of({"x": pa.array([1]), "X": pa.array([2])})}, whole=True)
    assert [row.asDict() for row in lochan.spark.read(spark, "sales/cases/", lake=lake).collect()] == [{"x": 1, "X": 2}]
    spark.conf.set("spark.sql.caseSensitive", "false")
    try:
        with pytest.raises(Invalid, match="differ in case alone"):
            lochan.spark.read(spark, "sales/cases/", lake=lake)
    finally:
        spark.conf.set("spark.sql.caseSensitive", "true")


def test_a_frame_becomes_files_by_one_commit(spark: SparkSession, lake: str) -> None:
    frame = spark.range(100).withColumnRenamed("id", "n").repartition(3)
    landed = lochan.spark.write(frame, "sales@main/t/", message="first", lake=lake)
    assert (landed.rows, landed.objects) == (100, 3)
    frame.limit(5).write.format("lochan").option("lake", lake).mode("append").save("sales@main/t/")
    back = lochan.spark.read(spark, "sales@main/t/", lake=lake)
    assert (back.count(), back.columns) == (105, ["n"])
    assert len(back.inputFiles()) == 4  # as they lie on the store: each is one block
    lochan.spark.write(frame.limit(1), "sales@main/other/", lake=lake)
    frame.limit(7).write.format("lochan").option("lake", lake).mode("overwrite").save("sales@main/t/")
    assert lochan.spark.read(spark, "sales@main/t/", lake=lake).count() == 7
    assert lochan.spark.read(spark, "sales@main/other/", lake=lake).count() == 1  # which is not under the path
    assert lochan.spark.read(spark, "sales@main~1/t/", lake=lake).count() == 105

    async def log(repository: OpenRepository) -> tuple[int, str, dict[str, str]]:
        first = (await repository.resolve("main~3")).commit
        return (await repository.resolve("main")).commit.generation, first.message, first.metadata

    generation, message, metadata = on_sales(lake, log)
    assert (generation, message) == (4, "first")
    assert metadata["lochan-batch"] == "0"


DAYS = "select id n, cast(2025 + id % 2 as int) year, if(id < 2, null, 'a/b') place from range(4)"


def by_source(frame: DataFrame, lake: str, mode: str) -> None:
    writer = frame.write.format("lochan").mode(mode).partitionBy("year", "place")
    writer.options(lake=lake, partitionOverwriteMode="dynamic" if mode == "overwrite" else "static").save("sales/t/")


def by_python(frame: DataFrame, lake: str, mode: str) -> None:
    """As without the jar: Spark does not tell a source in Python by which columns a writer partitions."""
    writer = frame.write.format("lochan.spark.PythonSource").mode(mode).option("partitionBy", "year, place")
    writer.options(lake=lake, partitionOverwriteMode="dynamic" if mode == "overwrite" else "static").save("sales/t/")


def by_function(frame: DataFrame, lake: str, mode: str) -> None:
    overwrite = "dynamic" if mode == "overwrite" else "static"
    by = ["year", "place"]
    lochan.spark.write(frame, "sales/t/", mode=mode, partition_by=by, partition_overwrite_mode=overwrite, lake=lake)


@pytest.mark.parametrize("write", [by_source, by_python, by_function])
def test_partitions_are_folders_and_are_replaced_one_by_one(
    spark: SparkSession, lake: str, write: Callable[[DataFrame, str, str], None]
) -> None:
    write(spark.sql(DAYS).repartition(2), lake, "append")
    assert paths(lake) == {
        "t/year=2025/place=__HIVE_DEFAULT_PARTITION__/",
        "t/year=2025/place=a%2Fb/",
        "t/year=2026/place=__HIVE_DEFAULT_PARTITION__/",
        "t/year=2026/place=a%2Fb/",
    }
    assert table_rows(spark, lake) == [(0, 2025, None), (1, 2026, None), (2, 2025, "a/b"), (3, 2026, "a/b")]
    write(spark.sql("select 9L n, cast(2026 as int) year, 'a/b' place"), lake, "overwrite")
    assert table_rows(spark, lake) == [(0, 2025, None), (1, 2026, None), (2, 2025, "a/b"), (9, 2026, "a/b")]
    write(spark.sql(DAYS).where("n > 99"), lake, "overwrite")  # no rows, no partitions
    assert len(table_rows(spark, lake)) == 4
    before = spark.read.format("lochan").option("lake", lake).load("sales@main~1/t/")
    assert before.where("n = 3").count() == 1


def paths(lake: str) -> set[str]:
    async def listed(repository: OpenRepository) -> set[str]:
        view = await repository.view(await repository.resolve("main"))
        return {f"{entry.path.rpartition('/')[0]}/" for entry in (await view.list("t/", limit=100)).entries}

    return on_sales(lake, listed)


def table_rows(spark: SparkSession, lake: str) -> list[tuple[int, int, str | None]]:
    frame = lochan.spark.read(spark, "sales/t/", lake=lake)
    return [(row.n, row.year, row.place) for row in frame.orderBy("n").collect()]


def test_a_partition_that_was_read_is_not_replaced_if_something_came_to_it(spark: SparkSession, lake: str) -> None:
    by_function(spark.sql(DAYS), lake, "append")
    read = lochan.spark.read(spark, "sales/t/", lake=lake)
    by_function(spark.sql("select 7L n, cast(2026 as int) year, 'a/b' place"), lake, "append")
    by_function(read.where("year = 2025"), lake, "overwrite")  # nothing came there
    with pytest.raises(PreconditionFailed, match="drop what came since"):
        by_function(read.where("year = 2026 and place is not null"), lake, "overwrite")


def test_new_columns_are_refused_if_they_are_not_to_be_merged(spark: SparkSession, lake: str) -> None:
    first = spark.sql("select 1 n")
    lochan.spark.write(first, "sales/t/", merge_schema=False, lake=lake)
    wider = spark.sql("select 1 n, 2 more")
    with pytest.raises(Invalid, match="has no column 'more'"):
        lochan.spark.write(wider, "sales/t/", merge_schema=False, lake=lake)
    save = wider.write.format("lochan").mode("append")
    with pytest.raises(Exception, match="has no column 'more'"):
        save.options(lake=lake, mergeSchema="false").save("sales/t/")
    save.options(lake=lake, mergeSchema="true").save("sales/t/")
    assert lochan.spark.read(spark, "sales/t/", lake=lake).columns == ["n", "more"]


def test_files_that_are_there_are_left_or_refused(spark: SparkSession, lake: str) -> None:
    for mode in ("errorifexists", "ignore"):
        lochan.spark.write(spark.range(3), f"sales/{mode}/", mode=mode, lake=lake)
    with pytest.raises(AlreadyExists, match="there are rows at sales@main/ignore/ already"):
        lochan.spark.write(spark.range(4), "sales/ignore/", mode="errorifexists", lake=lake)
    spark.range(4).write.format("lochan").option("lake", lake).mode("ignore").save("sales/errorifexists/")
    assert lochan.spark.read(spark, "sales@main/errorifexists/", lake=lake).count() == 3


def test_in_a_workspace_nobody_else_sees_it(spark: SparkSession, lake: str) -> None:
    async def opened(repository: OpenRepository) -> str:
        return (await open_workspace(repository, "main", actor=ANN)).id

    lochan.spark.write(spark.range(3), "sales@main/t/", lake=lake)
    at = f"sales@main+{on_sales(lake, opened)}/t/"
    lochan.spark.write(spark.range(4), at, lake=lake)
    assert lochan.spark.read(spark, at, lake=lake).count() == 7
    lochan.spark.write(spark.range(2), at, mode="overwrite", lake=lake)
    assert lochan.spark.read(spark, at, lake=lake).count() == 2
    with pytest.raises(AlreadyExists):
        lochan.spark.write(spark.range(2), at, mode="errorifexists", lake=lake)
    assert lochan.spark.read(spark, "sales@main/t/", lake=lake).count() == 3


def test_what_cannot_be_written(spark: SparkSession, lake: str) -> None:
    frame = spark.range(1)
    with pytest.raises(Invalid, match="a table is a folder"):
        lochan.spark.write(frame, "sales@main/t", lake=lake)
    with pytest.raises(Invalid, match="a pool holds rows"):
        lochan.spark.write(frame, "pool@main/t/", lake=lake)
    on_sales(lake, lambda repository: put(repository, "main", "x", once(b"x"), actor=ANN))
    with pytest.raises(Dirty):
        lochan.spark.write(frame, "sales@main/t/", lake=lake)
    with pytest.raises(Invalid, match="is a repository of files"):
        lochan.spark.read(spark, "sales", lake=lake)
