"""Which engine runs a query, and the error if Spark cannot: without starting it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lochan.engines.explain import explain
from lochan.engines.run_query import RunOptions
from lochan.engines.spark.place import SparkPlace
from lochan.errors import Refused
from lochan.versioning.objects import put
from tests.run import run
from tests.unit.engines.lake import ANN, query_lake
from tests.unit.pools.place import once

EVERYTHING_IS_LARGE = SparkPlace(local_threshold_bytes=1)


def engine_for(folder: Path, text: str, how: RunOptions) -> str:
    async def asked() -> str:
        async with query_lake(folder) as lake:
            await lake.pool("logs", [{"k": 1, "x": '{"a":[1]}'}])
            plan = await explain(lake.lake.queries(), text, how)
            return str(plan["engine"])

    return run(asked())


def test_small_work_goes_to_duckdb(tmp_path: Path) -> None:
    assert engine_for(tmp_path, "from logs", RunOptions()) == "duckdb"


def test_large_work_goes_to_spark(tmp_path: Path) -> None:
    assert engine_for(tmp_path, "from logs", RunOptions(spark=EVERYTHING_IS_LARGE)) == "spark"


def test_what_reads_nothing_goes_to_duckdb(tmp_path: Path) -> None:
    """Metadata are in memory already, and objects that are left out are not read."""
    assert engine_for(tmp_path, "from :pools", RunOptions(spark=EVERYTHING_IS_LARGE)) == "duckdb"
    assert engine_for(tmp_path / "2", "from logs | k > 5", RunOptions(spark=EVERYTHING_IS_LARGE)) == "duckdb"


def test_what_spark_cannot_goes_to_duckdb(tmp_path: Path) -> None:
    text = "from logs | yield parse_json(x).a[-1]"
    assert engine_for(tmp_path, text, RunOptions(spark=EVERYTHING_IS_LARGE)) == "duckdb"
    with pytest.raises(Refused, match="cannot count from the end"):
        engine_for(tmp_path / "2", text, RunOptions(engine="spark"))


def test_without_java_auto_is_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert engine_for(tmp_path, "from logs", RunOptions(spark=EVERYTHING_IS_LARGE)) == "duckdb"


def test_without_java_spark_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))

    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", [{"k": 1}])
            await lake.rows("from logs", engine="spark")

    with pytest.raises(Refused, match=r"need Java, and .*/nowhere/bin/java is not there") as refused:
        run(asked())
    assert "JAVA_HOME" in refused.value.hint


def test_a_cluster_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.lake.create_repository("files", actor=ANN)
            files = await lake.lake.open_repository("files")
            await put(files, "main", "a.csv", once(b"a\n1\n"), actor=ANN)
            await files.close()
            await lake.rows("from files/a.csv", engine="spark", spark=SparkPlace(master="spark://nowhere:7077"))

    with pytest.raises(Refused, match="Spark on spark://nowhere:7077 cannot read files of a repository"):
        run(asked())
