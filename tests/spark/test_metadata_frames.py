"""Metadata as frames: entries by Spark's own scan, everything else by way of the driver."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lochan.spark
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark import session
from lochan.errors import Invalid, LochanError, NotFound
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.objects import put
from tests.run import run
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.unit.engines.lake import ANN, query_lake
from tests.unit.pools.place import once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = LEFT_SOCKETS


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    yield session.session_at(HERE, STANDARD)
    session.stop()


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("metadata")

    async def fill() -> None:
        async with query_lake(folder) as lake:
            await lake.pool("logs", [{"k": 1}], [{"k": 2}])
            for name in ("shop", "empty"):
                await lake.lake.create_repository(name, actor=ANN)
            shop = await lake.lake.open_repository("shop")
            for path in ("a/1", "a/2", "b"):
                await put(shop, "main", path, once(path.encode()), actor=ANN)
            await commit(shop, "main", CommitRequest("first"), actor=ANN)
            await shop.close()

    run(fill())
    return str(folder / "lake")


def test_entries_are_scanned_by_spark(spark: SparkSession, lake: str) -> None:
    frame = lochan.spark.metadata(spark, "shop@main:entries", lake=lake)
    assert frame.columns == [
        *("path", "size", "checksum", "etag", "mtime", "content_type", "metadata", "address", "blocks")
    ]
    assert [tuple(row) for row in frame.select("path", "size", "blocks").sort("path").collect()] == [
        ("a/1", 3, 1),
        ("a/2", 3, 1),
        ("b", 1, 1),
    ]
    assert frame.where("mtime > timestamp'2020-01-01'").where("address like '%/data/%'").count() == 3
    assert all("/ranges/" in file for file in frame.inputFiles())
    assert frame.inputFiles()
    same = lochan.spark.read(spark, "shop:entries", columns=["path"], lake=lake)
    assert sorted(row.path for row in same.collect()) == ["a/1", "a/2", "b"]
    chosen = lochan.spark.read(spark, "shop:entries", where='path > "a/1"', columns=["path"], lake=lake)
    assert sorted(row.path for row in chosen.collect()) == ["a/2", "b"]
    assert lochan.spark.metadata(spark, "empty:entries", lake=lake).count() == 0


@pytest.mark.parametrize(
    "source, count",
    [
        (":pools", 1),
        (":repositories", 3),
        (":branches", 3),
        (":tags", 0),
        (":users", 0),
        (":jobs", 0),
        (":plans", 0),
        (":usage", None),
        (":joblog", None),
        ("logs:branches", 1),
        ("logs:branchlog", 3),
        ("logs:journal", None),
        ("logs:settings", 1),
        ("logs@main:objects", 2),
        ("logs@main:partitions", 2),
        ("logs:log", 3),
        ("logs:rawlog", 5),
        ("logs:changes", 2),
        ("logs:growth", 3),
        ("logs:unreferenced", 0),
        ("logs:planned", 0),
        ("shop:ranges", 1),
        ("shop:staged", 0),
        ("shop:sizes", None),
    ],
)
def test_every_other_source(spark: SparkSession, lake: str, source: str, count: int | None) -> None:
    frame = lochan.spark.read(spark, source, lake=lake)
    assert len(frame.columns) > 0
    found = frame.count()
    assert count is None or found == count


def test_frames_are_typed_and_can_be_joined(spark: SparkSession, lake: str) -> None:
    sizes = lochan.spark.metadata(spark, "shop@main:sizes", where="depth == 1", lake=lake)
    branches = lochan.spark.metadata(spark, "shop:branches", columns=["name", "commit"], lake=lake)
    [row] = sizes.join(branches, "commit").select("name", "prefix", "bytes").collect()
    assert tuple(row) == ("main", "a/", 6)
    assert dict(sizes.dtypes)["date"] == "timestamp"


def test_bad_input(spark: SparkSession, lake: str) -> None:
    with pytest.raises(LochanError, match="unknown metadata"):
        lochan.spark.read(spark, "logs:nothing", lake=lake)
    with pytest.raises(NotFound):
        lochan.spark.metadata(spark, "shop@nope:entries", lake=lake)
    with pytest.raises(Invalid, match="names no metadata"):
        lochan.spark.metadata(spark, "logs", lake=lake)
    with pytest.raises(Invalid, match="at the ref that they name"):
        lochan.spark.read(spark, "logs:objects", version_as_of="v1", lake=lake)


def test_a_damaged_range_is_noticed(spark: SparkSession, tmp_path: Path) -> None:
    async def fill() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.lake.create_repository("shop", actor=ANN)
            shop = await lake.lake.open_repository("shop")
            for number in range(200):
                await put(shop, "main", f"path {number:03d}", once(b"x"), actor=ANN)
            await commit(shop, "main", CommitRequest("first"), actor=ANN)
            await shop.close()

    run(fill())
    [file] = tmp_path.rglob("ranges/*.parquet")
    data = bytearray(file.read_bytes())
    data[60] ^= 0xFF
    file.write_bytes(data)
    with pytest.raises(Exception, match=r"(?i)crc|checksum|corrupt|decompress"):
        lochan.spark.metadata(spark, "shop:entries", lake=str(tmp_path / "lake")).select("path").collect()


def test_a_result_becomes_a_frame(spark: SparkSession, lake: str) -> None:
    with lochan.connect(lake) as opened:
        assert [row.k for row in opened.query("from logs | sort k").to_spark(spark).collect()] == [1, 2]
        assert opened.query("from logs | k > 1").to_spark().count() == 1  # of the session that is active
        with pytest.raises(Invalid, match="frame of Spark"):
            opened.pool("logs").load(spark.range(1))
