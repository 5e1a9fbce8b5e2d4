"""Hostile files in a load: refused with an error, and read by a process that may die."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pyarrow as pa
import pytest

from lochan.engines.duckdb.limits import Cancelled, LimitReached, Limits, OutOfTime
from lochan.engines.duckdb.load.decode import DecodedFiles
from lochan.engines.duckdb.load.load import LoaderOptions
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.read_input import read_input
from lochan.engines.duckdb.load.sample import sample
from lochan.engines.duckdb.session import DuckSession
from lochan.errors import Invalid
from lochan.ingest.streams import Input, file_input
from lochan.pools.json_row import Faults
from tests.hostile_files import Hostile, avro_file, fast, record
from tests.servers.processes import decoders
from tests.unit.engines.load.load_text import LIMITS, load_file, settings

HOSTILE = fast()
HOW = LoaderOptions(limits=LIMITS)


@pytest.mark.thorough
@pytest.mark.parametrize("each", [each for each in HOSTILE if each.said is not None], ids=lambda each: each.id)
def test_it_is_refused_in_words(each: Hostile) -> None:
    with pytest.raises((Invalid, LimitReached), match=each.path) as refused:
        load_file(each.path, each.data, settings("k"), HOW)
    assert (each.said or "") in str(refused.value)
    assert decoders(os.getpid()) == []


@pytest.mark.thorough
@pytest.mark.parametrize("each", [each for each in HOSTILE if each.said is None], ids=lambda each: each.id)
def test_what_is_only_odd_is_loaded(each: Hostile) -> None:
    assert sum(made.facts.rows for made in load_file(each.path, each.data, settings("k"), HOW)) > 0


@pytest.mark.parametrize("each", [each for each in HOSTILE if "avro" in each.path], ids=lambda each: each.id)
def test_its_first_rows_are_nobodys_trouble(each: Hostile) -> None:
    sample(Input(each.path, lambda: io.BytesIO(each.data)), None)


def test_a_table_of_the_callers_own_is_checked_too() -> None:
    texts = pa.array(["aaaa", "bbbb"])
    wild = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.array([0, 99_999, 8], pa.int32()).buffers()[1], texts.buffers()[2]]
    )
    with DuckSession(LIMITS) as session, pytest.raises(Invalid, match="invalid values"):
        Loader(session, settings("k"), Faults()).take_rows(pa.table({"s": wild}))


def slow(folder: Path) -> Path:
    """Rows that are right, and take a minute."""
    path = folder / "slow.avro"
    path.write_bytes(avro_file(record(m={"type": "map", "values": "long"}), 30_000_000, b"\0" * 30_000_000))
    return path


@pytest.mark.thorough
def test_a_load_that_is_cancelled_leaves_no_decoder(tmp_path: Path) -> None:
    import threading

    with DuckSession(LIMITS) as session:
        loader = Loader(session, settings("k"), Faults())
        stop = threading.Timer(1, session.cancel)
        stop.start()
        with pytest.raises(Cancelled):
            read_input(loader, file_input(slow(tmp_path)), HOW)
        stop.join()
        assert session.stops == []
    assert decoders(os.getpid()) == []


@pytest.mark.thorough
def test_a_load_that_has_no_more_time_leaves_no_decoder(tmp_path: Path) -> None:
    limits = LIMITS._replace(seconds=1)
    with DuckSession(limits) as session:
        loader = Loader(session, settings("k"), Faults())
        session.execute("SELECT 1")  # the clock begins
        with pytest.raises(OutOfTime):
            read_input(loader, file_input(slow(tmp_path)), HOW)
    assert decoders(os.getpid()) == []


def test_objects_of_files_are_as_a_load_makes_them(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b'{"k":2,"t":"x"}\n')
    (tmp_path / "b").write_bytes(b"k,t\n1,y\n")
    with DecodedFiles(tmp_path, Limits(), 30) as decoded:
        decoded.take("a.ndjson", tmp_path / "a")
        decoded.take("b.csv", tmp_path / "b")
        made = [(each.facts.rows, pa.parquet.read_table(each.file).column_names) for each in decoded.objects()]
    assert made == [(2, ["_shape", "k", "t"])]
    assert {each.name for each in tmp_path.iterdir()} == {"a", "b", "rows0.parquet"}
    with pytest.raises(Cancelled), DecodedFiles(tmp_path, Limits(), 30) as decoded:
        decoded.cancel()
        decoded.take("a.ndjson", tmp_path / "a")


def test_progress_counts_every_byte_once(tmp_path: Path) -> None:
    data = avro_file(record(n="long"), 3, b"\x02\x04\x06")
    (tmp_path / "a.avro").write_bytes(data)
    for input in (file_input(tmp_path / "a.avro"), Input("a.avro", lambda: io.BytesIO(data))):
        told: list[int] = []
        with DuckSession(LIMITS) as session:
            read_input(Loader(session, settings("n"), Faults()), input, LoaderOptions(advance=told.append))
        assert sum(told) == len(data)
