"""Which engine runs a job."""

import pytest

from lochan.api.load import loads_on_spark
from lochan.api.options import EngineOptions
from lochan.engines.choice import TEXT_SPILL, engine_for
from lochan.engines.duckdb.limits import Limits
from lochan.engines.spark.place import SparkPlace
from lochan.errors import Invalid
from lochan.ingest.input_format import is_plain_text
from lochan.jobs.load.files import File

FAR = SparkPlace(remote="sc://nowhere", threshold_bytes=100)  # whether it is there shows when it is used
HERE = SparkPlace(threshold_bytes=100)


@pytest.mark.parametrize(
    "engine, size_bytes, chosen",
    [("auto", 100, "duckdb"), ("auto", 101, "spark"), ("duckdb", 101, "duckdb"), ("spark", 0, "spark")],
)
def test_by_size_unless_chosen(engine: str, size_bytes: int, chosen: str) -> None:
    assert engine_for(engine, size_bytes, FAR) == chosen


def test_one_that_does_not_exist_is_refused() -> None:
    with pytest.raises(Invalid, match="no engine 'sprak'"):
        engine_for("sprak", 0, FAR)


def test_a_load_keeps_to_the_memory_that_it_was_given() -> None:
    files = [File("a.ndjson", "/a.ndjson", 1 << 61, "")]
    assert loads_on_spark(EngineOptions(), files, HERE)
    assert not loads_on_spark(EngineOptions(memory_bytes=1 << 62), files, HERE)


def test_never_by_itself_where_it_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert engine_for("auto", 101, SparkPlace(local_threshold_bytes=100)) == "duckdb"
    assert engine_for("spark", 101, SparkPlace(local_threshold_bytes=100)) == "spark"


def test_on_one_machine_what_fits_memory_and_disk_stays_in_the_embedded_engine() -> None:
    room = Limits(memory_bytes=2_000, spill_bytes=6_000)
    assert [engine_for("auto", size, HERE, room) for size in (1_000, 1_001)] == ["duckdb", "spark"]
    texts = [engine_for("auto", size, HERE, room, spill=TEXT_SPILL) for size in (8_000, 8_001)]
    assert texts == ["duckdb", "spark"]
    assert engine_for("auto", 1 << 60, HERE) == "spark", "by what is free on the disk"
    assert engine_for("auto", 101, HERE._replace(master="spark://far:7077"), room) == "spark"


def test_a_limit_that_was_set_is_the_limit() -> None:
    here = HERE._replace(local_threshold_bytes=1_000)
    assert [engine_for("auto", size, here) for size in (1_000, 1_001)] == ["duckdb", "spark"]


def test_plain_text_is_known_by_its_name() -> None:
    names = ("a.ndjson", "a.CSV", "logs/a.log", "a.ndjson.gz", "a.csv.zst", "a.parquet", "a")
    assert [is_plain_text(name) for name in names] == [True, True, True, False, False, False, False]
