"""The driver of a Spark job notes what a scan reads, as a whole, in the usage log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lochan.spark
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark import session
from tests.integration.cli import fine
from tests.run import run
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.unit.engines.lake import query_lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = LEFT_SOCKETS


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    found = session.session_at(HERE, STANDARD)
    lochan.spark.register(found)
    found.createDataFrame([(1,)], "a int")
    yield found
    session.stop()


@pytest.mark.parametrize("form", ["lochan.spark.PythonSource", "read"])
def test_a_scan_is_one_read_of_the_pool(spark: SparkSession, tmp_path: Path, form: str) -> None:
    async def made() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", [{"k": 1}, {"k": 2}])

    run(made())
    lake = str(tmp_path / "lake")
    if form == "read":
        frame = lochan.spark.read(spark, "logs@main", lake=lake)
    else:
        frame = spark.read.format(form).option("lake", lake).load("logs@main")
    assert frame.count() == 2
    rows = [json.loads(line) for line in fine("--lake", lake, "query", "from :usage").splitlines()]
    assert rows and {(row["operation"], row["repository"], row["ref"], row["path"]) for row in rows} == {
        ("Scan", "logs", "main", "")
    }
    audit = [json.loads(line) for line in fine("--lake", lake, "query", "from :audit | client == 'spark'").splitlines()]
    assert audit and {(row["action"], row["repository"], row["outcome"]) for row in audit} == {
        ("Scan", "logs", "allowed")
    }
    assert all(row["user"] and row["source"] for row in audit)
    lochan.spark.write(frame, "logs", lake=lake)
    text = "from :audit | client == 'spark' and action == 'moved' | cut repository, ref, outcome"
    [written] = [json.loads(line) for line in fine("--lake", lake, "query", text).splitlines()]
    assert written == {"repository": "logs", "ref": "main", "outcome": "allowed"}
