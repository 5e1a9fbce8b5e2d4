"""Spark reads the files of a tree as plain tables, with nothing of ours."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lochan.formats import metarange
from lochan.formats import range as ranges
from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import as_batch, canonical, table_of

COUNT = 25_000  # three row groups
PATHS = [f"a//{number:06d}\n🐟" for number in range(COUNT - 1)] + ["z"]

# In a process of its own, as a user would: Spark and Parquet, no Lochan.
READER = """
import json, sys
from pyspark.sql import SparkSession, functions as F

assert "lochan" not in sys.modules
spark = (
    SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1").getOrCreate()
)
entries = spark.read.parquet(sys.argv[1])
listed = spark.read.parquet(sys.argv[2])
one = entries.where(F.col("path") == "z").first()
row = entries.where(F.col("path").endswith("004711\\n🐟")).first()
print(json.dumps({
    "count": entries.count(),
    "sorted": [row.path for row in entries.orderBy("path").limit(3).collect()],
    "size": entries.agg(F.sum("size")).first()[0],
    "z": [one.size, one.checksum, one.etag, one.mtime, one.content_type, one.headers, one.metadata, one.parts,
          [[b.address, b.offset, b.size, bytes(b.sha256).hex()] for b in one.blocks]],
    "row": [row.checksum, len(row.blocks), row.blocks[0].address],
    "listed": [list(each) for each in listed.collect()],
}))
spark.stop()
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder: Path = tmp_path_factory.mktemp("tree")
    (folder / "range.parquet").write_bytes(DATA)
    (folder / "metarange.parquet").write_bytes(metarange.encode([REF], 3).data)
    command = [sys.executable, "-c", READER, str(folder / "range.parquet"), str(folder / "metarange.parquet")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, object] = json.loads(ran.stdout.splitlines()[-1])
    return found


def _entry(number: int, path: str) -> Entry:
    if path != "z":
        return Entry(path, (Block(f"data/{number}", 0, number, bytes(32)),), number, f"{number:032x}", "etag", 1)
    blocks = (Block("data/x", 1, 2, b"\1" * 32), Block("data/y", 0, 3, b"\2" * 32))
    return Entry(path, blocks, 5, "f" * 32, "e-2", 77, "text/plain", {}, (2, 3), {"expires": "0"}, {"é": "🐟"})


ROWS = canonical(as_batch(table_of(_entry(*item) for item in enumerate(PATHS))))
REF = ranges.refer(ROWS, 3, ranges.content_id(ROWS))
DATA = ranges.encode(ROWS, REF.id)


def test_every_row(told: dict[str, object]) -> None:
    assert told["count"] == COUNT
    assert told["size"] == REF.bytes
    assert told["sorted"] == PATHS[:3]


def test_every_column(told: dict[str, object]) -> None:
    blocks = [["data/x", 1, 2, "01" * 32], ["data/y", 0, 3, "02" * 32]]
    assert told["z"] == [5, "f" * 32, "e-2", 77, "text/plain", {"expires": "0"}, {"é": "🐟"}, [2, 3], blocks]
    assert told["row"] == [f"{4711:032x}", 1, "data/4711"]


def test_the_list_of_ranges(told: dict[str, object]) -> None:
    assert told["listed"] == [[REF.id, REF.file, REF.min_path, REF.max_path, REF.count, REF.bytes]]
