"""Maps and decimals load by columns, with the same rows as one by one."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lochan.api.pool import load_rows
from lochan.api.queries import run_query
from lochan.engines.duckdb.load import loader
from lochan.ingest.arrow_batches import split_by_shape
from lochan.ingest.tabular import rows_of, shape_batch
from tests.run import run
from tests.unit.engines.lake import ANN, BY_K, query_lake

pytestmark = pytest.mark.thorough

MAPS: list[Any] = [
    *(None, [], [("", 1)], [("a", 1)], [("a", None)], [("a", 1), ("b", 2)], [("b", 2), ("a", 1)], [("a.b", 3)]),
    *([("ä", -1)], [("A", 1)]),
]
DECIMALS = [
    *("0", "1", "-1.5", "0.10000000000000000000000000", "0.1000000000000000055511151231257827", "12345678901234567.25"),
    *("0.00000000000000000001", "-0.00000000000000000000123456789012345", "123456789012345678", "1.0000000000000002"),
]


def table(count: int, maps: list[Any] = MAPS) -> pa.Table:
    chance = random.Random(5)
    decimals = [None if chance.random() < 0.2 else Decimal(chance.choice(DECIMALS)) for _ in range(count)]
    return pa.table(
        {
            "k": pa.array(range(count)),
            "m": pa.array([chance.choice(maps) for _ in range(count)], pa.map_(pa.string(), pa.int64())),
            "d": pa.array(decimals, pa.decimal256(70, 40)),
            "e": pa.array([Decimal(chance.choice(["1.5", "2.25"])) for _ in range(count)], pa.decimal128(10, 3)),
        }
    )


def test_rows_are_the_same_either_way(tmp_path: Path) -> None:
    rows = table(300)

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            [batch] = rows.combine_chunks().to_batches()
            await lake.pool("columns", rows.slice(7), settings=BY_K)
            await lake.pool("single", rows_of(batch.slice(7)), settings=BY_K)
            texts = []
            for name in ("columns", "single"):
                with await run_query(lake.lake, f"from {name} | sort k") as result:
                    texts.append(b"".join(result.ndjson()))
            assert texts[0].splitlines() == texts[1].splitlines()
            assert len(texts[0].splitlines()) == 293

    run(play())


def test_none_is_read_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "rows_of", None)  # or a test would only seem to test the fast way
    named = [each for each in MAPS if each != [("", 1)]]  # a field without a name has no column
    [batch] = table(300, named).combine_chunks().to_batches()
    parts = split_by_shape(batch)
    assert sum(part.num_rows for part in parts) == 300
    assert all(shape_batch(part) is not None for part in parts)


def test_what_has_too_many_shapes_stays_whole() -> None:
    maps = pa.array([[(f"name {number}", 1)] for number in range(100)], pa.map_(pa.string(), pa.int64()))
    twice = pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64()))
    for column in (maps, twice):
        [part] = split_by_shape(pa.RecordBatch.from_arrays([column], ["m"]))
        assert part.schema.field("m").type == column.type


def test_nan_and_the_infinities_stay_beside_a_map_that_is_read_row_by_row(tmp_path: Path) -> None:
    nan, far = float("nan"), float("inf")
    map = pa.array([[(7, "seven")]] * 2, pa.map_(pa.int64(), pa.string()))
    given = pa.table({"k": [1, 2], "x": [nan, -far], "l": [[far, 1.5], [nan]], "o": [{"a": nan}, {"a": 2.5}], "m": map})

    async def loaded() -> list[dict[str, Any]]:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool", settings=BY_K)
            await load_rows(lake.lake, "pool", given, actor=ANN)
            with await run_query(lake.lake, "from pool") as result:
                rows: list[dict[str, Any]] = result.to_arrow().to_pylist()
                return rows

    expected = given.drop(["m"]).to_pylist()
    found = run(loaded())
    assert [each.pop("m") for each in found] == ['[[7,"seven"]]'] * 2
    assert str(found) == str(expected)
