"""One connection of DuckDB: its limits, what it may open, and that nothing of it is left behind."""

from __future__ import annotations

import threading
from pathlib import Path
from time import sleep

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lochan.engines.duckdb.limits import Cancelled, LimitReached, Limits, format_size
from lochan.engines.duckdb.session import DuckSession

SORTED = "SELECT i, hash(i) AS h FROM range(3000000) t(i) ORDER BY h"  # 48 MB
WIDE = "SELECT i, repeat(hash(i)::VARCHAR, 16) AS h FROM range(400000) t(i) ORDER BY h"  # 120 MB
ENDLESS = "SELECT count(*) FROM range(100000000000) t(i) WHERE hash(i) % 3 = 0"


@pytest.mark.thorough
def test_what_does_not_fit_into_memory_lies_on_the_disk(tmp_path: Path) -> None:
    with DuckSession(Limits(memory_bytes=40 << 20, threads=1), temp=str(tmp_path)) as session:
        rows = spilt = 0
        for batch in session.stream(SORTED):
            rows += batch.num_rows
            spilt = max(spilt, sum(file.stat().st_size for file in Path(session.folder).rglob("*") if file.is_file()))
        assert rows == 3_000_000
        assert spilt > 0
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
def test_no_room_on_the_disk_either(tmp_path: Path) -> None:
    limits = Limits(memory_bytes=24 << 20, spill_bytes=1 << 20, threads=1)
    with DuckSession(limits, temp=str(tmp_path)) as session, pytest.raises(LimitReached, match="1 MiB on the disk"):
        for _ in session.stream(WIDE):
            pass
    assert not list(tmp_path.iterdir())


def test_the_time_runs_from_the_first_row_asked_for() -> None:
    with DuckSession(Limits(seconds=0.1)) as session:
        with pytest.raises(LimitReached, match=r"within its 0\.1 seconds"):
            session.execute(ENDLESS)
        with pytest.raises(LimitReached):  # what was stopped stays so
            session.execute("SELECT 1")


def test_a_limit_that_is_reached_just_before_the_statement_is_not_forgotten() -> None:
    with DuckSession(Limits(seconds=0.05)) as session, pytest.raises(LimitReached), session._watch():
        sleep(0.2)  # the first interrupt finds nothing to stop
        session.connection.execute(ENDLESS)


def test_cancelled_from_another_thread() -> None:
    with DuckSession() as session:
        threading.Timer(0.1, session.cancel).start()
        with pytest.raises(Cancelled):
            session.execute(ENDLESS)


def test_only_its_folders_can_be_opened(tmp_path: Path) -> None:
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"a": [1]}), tmp_path / name / "x.parquet")
    with DuckSession(folders=[str(tmp_path / "in")]) as session:
        assert session.execute(f"SELECT a FROM read_parquet('{tmp_path}/in/x.parquet')") == [(1,)]
        with pytest.raises(duckdb.PermissionException):
            session.execute(f"SELECT a FROM read_parquet('{tmp_path}/out/x.parquet')")
        with pytest.raises(duckdb.Error):
            session.execute("SET enable_external_access = true")
        with pytest.raises(duckdb.Error):
            session.execute("INSTALL httpfs")


def test_a_mistake_in_sql_is_found_before_any_row_is_asked_for() -> None:
    with DuckSession() as session, pytest.raises(duckdb.BinderException):
        session.stream("SELECT nothing FROM range(3)")


def test_sizes_as_people_write_them() -> None:
    assert [format_size(each) for each in (5, 1 << 10, 3 << 19, 1 << 30)] == ["5 bytes", "1 KiB", "1.5 MiB", "1 GiB"]


def test_a_variable_of_this_program_is_no_table() -> None:
    secrets = pa.table({"a": [1]})
    with DuckSession() as session, pytest.raises(duckdb.CatalogException, match="secrets"):
        session.execute("FROM secrets")
    assert secrets.num_rows == 1


def test_rows_that_are_registered_when_the_time_is_up() -> None:
    rows = pa.table({"x": [1]})
    with DuckSession() as session:
        with session.registered("mine", rows):
            assert session.execute("SELECT x FROM mine") == [(1,)]
        with pytest.raises(duckdb.CatalogException):
            session.execute("SELECT x FROM mine")
        with pytest.raises(Cancelled), session.registered("mine", rows):
            session.cancel()  # the reason is told where the rows are taken away, too
        with pytest.raises(Cancelled):
            session.register("mine", rows)
