"""A pool in parts for the data source in Python: however they are cut, their rows are those of the pool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from lochan.engines.spark.frames import source_parts
from lochan.engines.spark.frames.read_plan import ReadRequest
from lochan.engines.spark.frames.source_parts import pool_parts
from lochan.versioning.uri import prefix_uri
from tests.run import run
from tests.unit.engines.lake import query_lake

pytestmark = pytest.mark.thorough

Load = list[dict[str, Any]]

FIRST: Load = [{"k": number, "a": number} for number in range(5)]
OTHERS: list[Load] = [[{"k": 10, "b": {"c": 1}}], [{"k": 20, "a": 1.5, "d": [1]}], [{"k": 30}]]


@pytest.mark.parametrize("part_bytes", [1, 1 << 20], ids=["one object each", "all together"])
def test_objects_that_lack_columns_of_others(part_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_parts, "_PART_BYTES_MIN", part_bytes)

    async def planned() -> source_parts.PoolParts:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", FIRST, *OTHERS)
            return await pool_parts(lake.lake.queries(), ReadRequest(prefix_uri("logs")))

    made = run(planned())
    assert (len(made.parts) == 4) == (part_bytes == 1)
    schema = to_arrow_schema(made.schema)
    rows = [row for part in made.parts for batch in made.read(part, schema) for row in batch.to_pylist()]
    assert sorted(row["k"] for row in rows) == [0, 1, 2, 3, 4, 10, 20, 30]
    assert [row["b"] for row in rows if row["k"] in (10, 30)] == [{"c": 1}, None]
    assert [row["a"] for row in rows if row["k"] == 20] == [1.5]


def test_parts_grow_with_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_parts, "_PART_BYTES_MIN", 1)
    monkeypatch.setattr(source_parts, "_PARTS", 2)

    async def planned() -> source_parts.PoolParts:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", *([{"k": number}] for number in range(8)))
            return await pool_parts(lake.lake.queries(), ReadRequest(prefix_uri("logs")))

    assert sorted(len(part.objects) for part in run(planned()).parts) in ([4, 4], [2, 3, 3])
