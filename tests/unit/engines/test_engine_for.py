"""Which engine does a job."""

import pytest

from lochan.engines.choice import engine_for
from lochan.engines.spark.place import SparkPlace

FAR = SparkPlace(remote="sc://nowhere", threshold_bytes=100)  # whether it is there shows when it is used


@pytest.mark.parametrize(
    "engine, size_bytes, chosen",
    [("auto", 100, "duckdb"), ("auto", 101, "spark"), ("duckdb", 101, "duckdb"), ("spark", 0, "spark")],
)
def test_by_size_unless_told(engine: str, size_bytes: int, chosen: str) -> None:
    assert engine_for(engine, size_bytes, FAR) == chosen


def test_never_by_itself_where_it_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert engine_for("auto", 101, SparkPlace(local_threshold_bytes=100)) == "duckdb"
    assert engine_for("spark", 101, SparkPlace(local_threshold_bytes=100)) == "spark"


def test_one_machine_has_a_threshold_of_its_own() -> None:
    """There the embedded engine has the same memory and disk, and starts no JVM."""
    here = SparkPlace(threshold_bytes=100, local_threshold_bytes=1_000)
    assert [engine_for("auto", size, here) for size in (101, 1_000, 1_001)] == ["duckdb", "duckdb", "spark"]
    assert engine_for("auto", 101, here._replace(master="spark://far:7077")) == "spark"
