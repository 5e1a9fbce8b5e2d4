"""Instances of DuckDB that queries reuse: a query sees nothing of the one before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from lochan.engines.duckdb import run as duckdb_run
from lochan.engines.duckdb.instances import Instances, close_spare, open_spare
from lochan.engines.duckdb.limits import Cancelled, LimitReached, Limits
from lochan.engines.duckdb.session import DuckSession
from lochan.store import scratch
from tests.run import run
from tests.unit.engines.lake import query_lake

SORTED = "SELECT i, hash(i) AS h FROM range(3000000) t(i) ORDER BY h"  # 48 MB, where 40 are allowed
SMALL = Limits(memory_bytes=40 << 20, threads=1)


@pytest.fixture
def instances() -> Iterator[Instances]:
    made = Instances()
    yield made
    made.close()


def test_the_next_one_takes_what_the_last_one_left(instances: Instances, tmp_path: Path) -> None:
    folders = []
    for seconds in (None, 10.0):
        with DuckSession(Limits(seconds=seconds), temp=str(tmp_path), instances=instances) as session:
            session.connection.register("mine", pa.table({"a": [1]}))
            assert session.execute("SELECT a, current_setting('TimeZone') FROM mine") == [(1, "UTC")]
            Path(session.folder, "placed").touch()
            folders.append(session.folder)
    assert folders[0] == folders[1]
    with DuckSession(temp=str(tmp_path), instances=instances) as session:
        assert session.folder == folders[0] and not list(Path(session.folder).iterdir())
        with pytest.raises(duckdb.CatalogException):
            session.execute("FROM mine")
    instances.close()
    assert not list(tmp_path.iterdir())


def test_each_has_one_of_its_own_while_it_lasts(instances: Instances) -> None:
    with DuckSession(instances=instances) as one, DuckSession(instances=instances) as other:
        assert one.folder != other.folder


def test_limits_and_folders_are_kept(instances: Instances, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    read = f"SELECT a FROM read_csv('{tmp_path}/a.csv')"
    with DuckSession(folders=[str(tmp_path)], instances=instances) as session:
        assert session.execute(read) == [(1,)]
    with DuckSession(folders=[], instances=instances) as session, pytest.raises(duckdb.PermissionException):
        session.execute(read)
    with DuckSession(SMALL, folders=[str(tmp_path)], instances=instances) as session:
        assert session.execute("SELECT current_setting('memory_limit')") == [("40.0 MiB",)]


@pytest.mark.thorough
def test_spilling_again(instances: Instances) -> None:
    used = set()
    for _ in range(2):
        with DuckSession(SMALL, instances=instances) as session:
            assert sum(batch.num_rows for batch in session.stream(SORTED)) == 3_000_000
            used.add(session.folder)
    assert len(used) == 1


def test_what_failed_or_was_left_is_not_used_again(instances: Instances) -> None:
    def fails(session: DuckSession) -> None:
        with pytest.raises(duckdb.Error):
            session.execute("SELECT error('no')")

    def is_left_half_way(session: DuckSession) -> None:
        next(session.stream("FROM range(10000000)"))

    def is_cancelled(session: DuckSession) -> None:
        session.cancel()
        with pytest.raises(Cancelled):
            session.execute("SELECT 1")

    def runs_out_of_memory(session: DuckSession) -> None:
        with pytest.raises(LimitReached):
            session.execute("SELECT string_agg(repeat(hash(i)::VARCHAR, 20), '') FROM range(1000000) t(i)")

    folders = set()
    for spoil in (fails, is_left_half_way, is_cancelled, runs_out_of_memory):
        with DuckSession(SMALL, instances=instances) as session:
            spoil(session)
            folders.add(session.folder)
        assert not Path(session.folder).exists(), spoil
    assert len(folders) == 4


def test_no_more_than_two_wait(instances: Instances, tmp_path: Path) -> None:
    sessions = [DuckSession(temp=str(tmp_path), instances=instances) for _ in range(4)]
    for session in sessions:
        session.close()
        session.close()
    assert len(list(tmp_path.iterdir())) == 2
    late = DuckSession(temp=str(tmp_path), instances=instances)
    instances.close()
    late.close()
    assert not list(tmp_path.iterdir())


def test_queries_of_one_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    connect = duckdb.connect

    def counted(*at: Any, **how: Any) -> duckdb.DuckDBPyConnection:
        opened.append(at)
        return connect(*at, **how)

    monkeypatch.setattr(duckdb, "connect", counted)

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", [{"k": 1}])
            opened.clear()
            for _ in range(3):
                assert await lake.rows("from logs | count()") == [{"count": 1}]

    run(play())
    assert len(opened) == 1


SETTINGS = (
    "async_threads",
    "autoinstall_known_extensions",
    "autoload_known_extensions",
    "disabled_optimizers",
    "enable_external_access",
    "enable_external_file_cache",
    "lock_configuration",
    "memory_limit",
    "preserve_insertion_order",
    "threads",
    "TimeZone",
)


@pytest.mark.parametrize("limits", [Limits(), SMALL, Limits(spill_bytes=1 << 20)], ids=str)
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("alone", [True, False])
def test_one_that_was_opened_in_advance_is_as_any_other(
    tmp_path: Path, limits: Limits, ordered: bool, alone: bool
) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    before = set(Path("/proc/self/task").iterdir())
    open_spare()
    assert set(Path("/proc/self/task").iterdir()) <= before  # who opens it may fork
    asked = ", ".join(f"current_setting('{name}')" for name in SETTINGS)
    found = []
    for _ in range(2):  # the spare one, then one of its own
        with DuckSession(limits, folders=[str(tmp_path)], ordered=ordered, alone=alone) as session:
            found.append(session.execute(f"SELECT {asked}"))
            assert session.execute(f"SELECT a FROM read_csv('{tmp_path}/a.csv')") == [(1,)]
            with pytest.raises(duckdb.PermissionException):
                session.execute("FROM read_csv('/etc/passwd')")
            with pytest.raises(duckdb.Error, match="locked"):
                session.execute("SET threads = 3")
    assert found[0] == found[1]
    assert not alone or (found[0][0][SETTINGS.index("threads")], found[0][0][0]) == (1, 0)


def test_few_rows_need_no_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone: list[bool] = []

    def opened(*given: Any, **how: Any) -> DuckSession:
        alone.append(how["alone"])
        return DuckSession(*given, **how)

    monkeypatch.setattr(duckdb_run, "_LITTLE_ROWS", 3)
    monkeypatch.setattr(duckdb_run, "DuckSession", opened)

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("few", [{"k": 1}, {"k": 2}], [{"k": 3}])
            await lake.pool("more", [{"k": 1}, {"k": 2}], [{"k": 3}, {"k": 4}])
            alone.clear()
            for text, expected in (
                ("from few | count()", 3),
                ("from more | count()", 4),
                ("from few | join (from more) on k=k | count()", 3),
            ):
                assert await lake.rows(text) == [{"count": expected}]
            assert await lake.rows("from few | count()", limits=Limits(threads=2)) == [{"count": 3}]

    run(play())
    assert alone == [True, False, False, False]


def test_one_that_was_opened_in_advance_is_taken_once() -> None:
    open_spare()
    with DuckSession() as one, DuckSession() as other:
        one.execute("CREATE TABLE mine (a INTEGER)")
        with pytest.raises(duckdb.CatalogException):
            other.execute("FROM mine")
    open_spare()
    close_spare()
    close_spare()


def test_a_command_leaves_it_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder goes, as always."""
    monkeypatch.setattr(scratch, "own_process", True)
    instances = Instances()
    with DuckSession(temp=str(tmp_path), instances=instances) as session:
        assert session.execute("SELECT 1") == [(1,)]
    instances.close()
    assert not list(tmp_path.iterdir())
