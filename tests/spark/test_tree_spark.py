"""Spark reads the files of a tree as plain tables, without any code of ours."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark import session
from lochan.formats import metarange
from lochan.formats import range as ranges
from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import as_batch, canonical, table_of
from tests.spark.local_spark import HERE, LEFT_SOCKETS

pytestmark = LEFT_SOCKETS

COUNT = 25_000  # three row groups
PATHS = [f"a//{number:06d}\n🐟" for number in range(COUNT - 1)] + ["z"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Spark's own scan, and nothing around it."""
    folder: Path = tmp_path_factory.mktemp("tree")
    (folder / "range.parquet").write_bytes(DATA)
    (folder / "metarange.parquet").write_bytes(metarange.encode([REF], 3).data)
    spark = session.session_at(HERE, STANDARD)
    entries = spark.read.parquet(str(folder / "range.parquet"))
    listed = spark.read.parquet(str(folder / "metarange.parquet"))
    one = entries.where("path = 'z'").collect()[0]
    row = entries.where("endswith(path, '004711\\n🐟')").collect()[0]
    yield {
        "count": entries.count(),
        "sorted": [row.path for row in entries.orderBy("path").limit(3).collect()],
        "size": entries.selectExpr("sum(size)").collect()[0][0],
        "z": [
            *(one.size, one.checksum, one.etag, one.mtime, one.content_type, one.headers, one.metadata, one.parts),
            [[each.address, each.offset, each.size, bytes(each.sha256).hex()] for each in one.blocks],
        ],
        "row": [row.checksum, len(row.blocks), row.blocks[0].address],
        "listed": [list(each) for each in listed.collect()],
    }
    session.stop()


def _entry(number: int, path: str) -> Entry:
    if path != "z":
        return Entry(path, (Block(f"data/{number}", 0, number, bytes(32)),), number, f"{number:032x}", "etag", 1)
    blocks = (Block("data/x", 1, 2, b"\1" * 32), Block("data/y", 0, 3, b"\2" * 32))
    return Entry(path, blocks, 5, "f" * 32, "e-2", 77, "text/plain", {}, (2, 3), {"expires": "0"}, {"é": "🐟"})


ROWS = canonical(as_batch(table_of(_entry(*item) for item in enumerate(PATHS))))
REF = ranges.refer(ROWS, 3, ranges.content_id(ROWS))
DATA = ranges.encode(ROWS, REF.id)


def test_every_row(results: dict[str, Any]) -> None:
    assert results["count"] == COUNT
    assert results["size"] == REF.bytes
    assert results["sorted"] == PATHS[:3]


def test_every_column(results: dict[str, Any]) -> None:
    blocks = [["data/x", 1, 2, "01" * 32], ["data/y", 0, 3, "02" * 32]]
    assert results["z"] == [5, "f" * 32, "e-2", 77, "text/plain", {"expires": "0"}, {"é": "🐟"}, [2, 3], blocks]
    assert results["row"] == [f"{4711:032x}", 1, "data/4711"]


def test_the_list_of_ranges(results: dict[str, Any]) -> None:
    assert results["listed"] == [[REF.id, REF.file, REF.min_path, REF.max_path, REF.count, REF.bytes]]
