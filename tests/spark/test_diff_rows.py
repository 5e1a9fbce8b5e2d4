"""Row differences on Spark are those of the embedded engine, and no more is collected than is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lochan.spark
from lochan.api.lake import compare_rows
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.row_diff.sides import RowDiffRequest
from lochan.engines.spark import session
from lochan.errors import Gone, Invalid
from lochan.jobs.diff_rows import DiffOptions
from tests.run import run
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.unit.engines.lake import BY_K, QueryLake, query_lake
from tests.unit.engines.test_diff_rows import BODY, CASES, KEYED, Rows, files, two_sides

pytestmark = LEFT_SOCKETS
SPARK, DUCKDB = DiffOptions("spark", spark=HERE), DiffOptions("duckdb")
LEFT: Rows = [{"k": number, "v": f"é{number % 7}", "o": {"a": number / 3, "l": [number]}} for number in range(500)]
RIGHT: Rows = [
    *({**row, "o": {"l": [row["k"]], "a": row["k"] / 3}} for row in LEFT[:250]),  # only another order of fields
    *({**row, "v": None} for row in LEFT[250:300]),
    *LEFT[300:480],
    *({"k": f"n{number}", "x": [1, "x", {"b": 1, "a": number}]} for number in range(20)),
    {**BODY, "k": -1},
]


@pytest.fixture(scope="module", autouse=True)
def stopped() -> Iterator[None]:
    yield
    session.stop()


async def both(lake: QueryLake, name: str, request: RowDiffRequest) -> dict[str, Any]:
    """The result, which must be the same on both engines."""
    found = []
    for how in (DUCKDB, SPARK):
        with await compare_rows(lake.lake, name, request, how) as diff:
            every = sorted(diff.to_arrow().to_pylist(), key=str)
            found.append((dict(diff.counts), diff.sample, every))
    assert found[0] == found[1]
    return found[0][0]


def test_it_finds_what_the_embedded_engine_finds(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with query_lake(tmp_path) as lake:
            await two_sides(lake, [LEFT[:200], LEFT[200:], LEFT[:3]], [RIGHT[::2], RIGHT[1::2]], BY_K)
            assert await both(lake, "logs", RowDiffRequest("left", "right")) == {"removed": 73, "added": 71}
            assert await both(lake, "logs", RowDiffRequest("left", "left")) == {}
            await files(lake)
            for name in ("csv", "a folder"):
                request, counts = CASES[name]
                assert await both(lake, "demo", request) == counts

    run(scenario())


def test_by_key_and_as_a_frame(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with query_lake(tmp_path) as lake:
            await two_sides(lake, [LEFT], [RIGHT], KEYED)
            assert await both(lake, "logs", RowDiffRequest("left", "right")) == {
                "changed": 50,
                "removed": 20,
                "added": 21,
            }
            await lake.load("logs", LEFT[7:8], "right")
            with pytest.raises(Invalid, match=r'2 rows of logs@right have the key {"k":7}'):
                await compare_rows(lake.lake, "logs", RowDiffRequest("left", "right"), SPARK)

    run(scenario())
    spark, place = session.session_at(HERE, STANDARD), tmp_path / "lake"
    frame = lochan.spark.diff(spark, "logs@left", "logs@right~1", lake=place)
    assert frame.where("change = 'changed'").count() == 50
    frame.unpersist()
    whole = lochan.spark.diff(spark, "logs@left", "logs@right", key=[], lake=place)
    assert whole.selectExpr("sum(times)").first() == (50 + 50 + 20 + 21 + 1,)
    with pytest.raises(Invalid, match="lack the key v"):
        lochan.spark.diff(spark, "logs@left", "logs@right", key="v", lake=place)


def test_an_object_that_is_gone_is_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", [{"k": 1}], [{"k": 2}])
            for file in await lake.files("logs"):
                file.unlink()
            with pytest.raises(Gone, match="is gone"):
                await compare_rows(lake.lake, "logs", RowDiffRequest("main~1", "main"), SPARK)

    run(scenario())
