"""Jobs record their progress in the lake. Readers see it, and which jobs are lost."""

from __future__ import annotations

import json
import time
from pathlib import Path

import msgspec
import pytest

from lochan.clock import SystemClock
from lochan.engines.duckdb.limits import STANDARD, cancelled_error, out_of_memory
from lochan.errors import Ambiguous, Invalid, NotFound, Refused, Transient
from lochan.formats.job import PREFIX, JobRecord, JobStageRecord, decode, encode, path_of
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.jobs import record
from lochan.jobs.record import LOST_S, JobReporter, job, jobs, record_job
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.local import LocalStore
from lochan.store.protocol import Store
from tests.run import run
from tests.unit.cli.invoke import lochan

ANN = Actor("ann", "test", "here")


class Place:
    def __init__(self, folder: Path) -> None:
        self.store: Store = LocalStore(str(folder), create=True)
        self.clock = SystemClock()
        self.ids = Ids()

    def all(self) -> list[JobRecord]:
        return run(jobs(self.store, self.clock.wall(), 100))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "lake")


def test_a_job_from_its_start_to_its_end(place: Place) -> None:
    with record_job(place, "load", "logs@main", actor=ANN, where="local[2]") as job_run:
        assert isinstance(job_run, JobReporter)
        job_run.stages([JobStageRecord(3, "sort", 4, 4), JobStageRecord(4, "write", 1, 4, 1)])
        job_run.log("two files")
        job_run.rows(17)
    (found,) = place.all()
    assert (found.id, found.kind, found.about, found.where) == (job_run.id, "load", "logs@main", "local[2]")
    assert (found.state, found.done, found.total, found.rows, found.error) == ("done", 5, 8, 17, "")
    assert (found.user, found.client, found.source) == ("ann", "test", "here")
    assert [line.text for line in found.lines] == ["two files"]
    assert found.started <= found.lines[0].time <= found.ended <= found.beat


def test_what_is_put_to_the_store_is_counted(place: Place) -> None:
    """The store counts it here, and tasks report theirs, except the last put of the record itself."""
    store = CountingStore(place.store, RequestCounts())
    run(store.put("before", bytes(50)))
    place.store = store
    with record_job(place, "load", "logs@main", actor=ANN) as job_run:
        run(store.put("somewhere", bytes(1_000)))
        job_run.wrote(300)
        job_run.wrote(400)
    (found,) = place.all()
    last = len(run(store.get(path_of(job_run.id))))
    assert (found.executor_bytes, found.driver_bytes) == (700, store.counts.total.bytes_out - 50 - last)
    assert found.driver_bytes is not None and found.driver_bytes > 1_000
    place.store = store.inner
    with record_job(place, "query", "logs", actor=ANN) as job_run:
        pass
    uncounted = run(job(place.store, job_run.id, place.clock.wall()))
    assert (uncounted.executor_bytes, uncounted.driver_bytes) == (None, None)


def test_it_is_there_while_it_runs(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "BEAT_S", 0.01)
    with record_job(place, "query", "logs", actor=ANN) as job_run:
        job_run.progress(1, 2)
        for _ in range(1_000):
            found = place.all()
            if found and found[0].done:
                break
            time.sleep(0.02)
        assert [(each.state, each.done, each.total) for each in found] == [("running", 1, 2)]


@pytest.mark.parametrize(
    ("error", "state", "message"),
    [
        (Transient("the store is away"), "failed", "the store is away"),
        (out_of_memory(STANDARD), "failed", out_of_memory(STANDARD).message),
        (Invalid("line 3: 'secret' is no number"), "failed", "invalid"),
        (Refused("Spark has failed: cannot cast 'secret'"), "failed", "refused"),
        (ValueError("secret"), "failed", "ValueError"),
        (cancelled_error(), "cancelled", ""),
        (KeyboardInterrupt(), "cancelled", ""),
    ],
    ids=["store", "limit", "a value of a row", "Spark", "ours", "cancelled", "Ctrl-C"],
)
def test_how_it_ended(place: Place, error: BaseException, state: str, message: str) -> None:
    with pytest.raises(type(error)), record_job(place, "load", "logs", actor=ANN):
        raise error
    (found,) = place.all()
    assert (found.state, found.error) == (state, message)


def test_one_that_is_not_heard_of_is_lost(place: Place) -> None:
    with record_job(place, "load", "logs", actor=ANN) as job_run:
        pass
    path = path_of(job_run.id)
    silent = msgspec.structs.replace(decode(run(place.store.get(path)), path), state="running")
    run(place.store.put(path, encode(silent)))
    for seconds, state in ((LOST_S - 1, "running"), (LOST_S + 1, "lost")):
        (found,) = run(jobs(place.store, silent.beat + int(seconds * 1e6), 10))
        assert found.state == state


def test_a_store_that_refuses_writes_does_not_matter(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(path: str, data: bytes) -> None:
        raise Refused("read only")

    monkeypatch.setattr(place.store, "put", refuse)
    with record_job(place, "query", "logs", actor=ANN) as job_run:
        job_run.progress(1, 1)
    assert place.all() == []


def test_the_oldest_are_forgotten(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "_KEPT_MAX", 3)
    for number in range(5):
        run(place.store.put(f"{PREFIX}000{number}.json", b"{}"))
    with record_job(place, "load", "logs", actor=ANN) as job_run:
        pass

    async def names() -> list[str]:
        return [stat.path async for stat in place.store.list(PREFIX)]

    assert run(names()) == [f"{PREFIX}0003.json", f"{PREFIX}0004.json", path_of(job_run.id)]
    assert [each.id for each in place.all()] == [job_run.id]  # the others are no records


def test_by_the_beginning_of_its_id(place: Place) -> None:
    ids = []
    for _ in range(2):
        with record_job(place, "load", "logs", actor=ANN) as job_run:
            ids.append(job_run.id)
    now = place.clock.wall()
    assert run(job(place.store, ids[0], now)).id == ids[0]
    with pytest.raises(Ambiguous):
        run(job(place.store, ids[0][:2], now))
    for wrong in ("nobody", "../lake", "", "a/b"):
        with pytest.raises((NotFound, Ambiguous)):
            run(job(place.store, wrong, now))


def test_the_verbs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCHAN_LAKE", str(tmp_path / "lake"))
    assert lochan("init").exit_code == 0
    assert lochan("jobs", "-f", "json").output == "[]\n"
    with record_job(Place(tmp_path / "lake"), "compact", "logs@main", actor=ANN, where="local[2]") as job_run:
        job_run.stages([JobStageRecord(0, "scan \x1b[2J", 2, 2), JobStageRecord(1, "write", 1, 3)])
        job_run.log("three objects")
        job_run.wrote(2_500_000)
    title, row = lochan("jobs").output.splitlines()
    assert title.split() == ["ID", "KIND", "ABOUT", "STATE", "PROGRESS", "ROWS", "STARTED", "USER"]
    assert row.split()[:8] == [job_run.id, "compact", "logs@main", "done", "3/5", "in", "1/2", "stages"]
    (listed,) = json.loads(lochan("jobs", "list", "-n", "1", "-f", "json").output)
    assert (listed["stages_done"], listed["stages_total"], listed["user"]) == (1, 2, "ann")
    shown = json.loads(lochan("jobs", "show", job_run.id[:20], "-f", "json").output)
    assert [stage["name"] for stage in shown["stages"]] == ["scan \x1b[2J", "write"]
    assert [line["text"] for line in shown["log"]] == ["three objects"]
    text = lochan("jobs", "show", job_run.id).output
    assert "three objects" in text and "\x1b" not in text
    assert "2.5 MB by executors" in text and "driver" not in text
    assert (shown["executor_bytes"], shown["driver_bytes"]) == (2_500_000, None)
    missing = lochan("jobs", "show", "none")
    assert "there is no job none" in missing.stderr
