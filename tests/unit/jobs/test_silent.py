"""Jobs that report only when they begin and when they end."""

from __future__ import annotations

from pathlib import Path

import pytest

from lochan.clock import SystemClock
from lochan.errors import Refused, Transient
from lochan.formats.job import PREFIX, JobRecord
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.jobs import record as records
from lochan.jobs.job_commit import LandResult
from lochan.jobs.record import LOST_S, SILENT_S, add_silent_batch, begin_silent, end_silent, jobs
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.local import LocalStore
from tests.run import run

ANN = Actor("ann", "test", "here")
LANDED = LandResult("c", rows=5, put_bytes=700)


class Place:
    """The lake as each process of a job opens it."""

    def __init__(self, folder: Path) -> None:
        self.store = CountingStore(LocalStore(str(folder), create=True), RequestCounts())
        self.clock = SystemClock()
        self.ids = Ids()

    def all(self, later_s: float = 0) -> list[JobRecord]:
        return run(jobs(self.store, self.clock.wall() + int(later_s * 1e6), 100))


def test_it_begins_in_one_process_and_ends_in_another(tmp_path: Path) -> None:
    place = Place(tmp_path)
    job = run(begin_silent(place, "write", "logs@main", ANN))
    for seconds, state in ((0, "running"), (LOST_S + 1, "running"), (SILENT_S + 1, "lost")):
        (found,) = place.all(seconds)
        assert (found.state, found.about, found.rows) == (state, "logs@main", None)
    first = (tmp_path / PREFIX / f"{job.id}.json").stat().st_size
    assert job.driver_bytes == first

    other = Place(tmp_path)
    run(other.store.put("somewhere", bytes(1_000)))
    run(end_silent(other, job, LANDED))
    (found,) = place.all()
    assert (found.id, found.state, found.rows, found.executor_bytes) == (job.id, "done", 5, 700)
    assert found.driver_bytes == first + 1_000
    assert found.started <= found.ended


@pytest.mark.parametrize(
    ("error", "message"), [(Transient("the store is away"), "the store is away"), (Refused("'secret'"), "refused")]
)
def test_it_fails(tmp_path: Path, error: Exception, message: str) -> None:
    place = Place(tmp_path)
    run(end_silent(place, run(begin_silent(place, "write", "logs@main", ANN)), error))
    (found,) = place.all()
    assert (found.state, found.error) == ("failed", message)


def test_the_batches_of_a_stream_are_one_job(tmp_path: Path) -> None:
    place = Place(tmp_path)
    one, other = b"1" * 16, b"2" * 32
    for stream in (one, one, other):
        run(add_silent_batch(Place(tmp_path), stream, "logs@main", ANN, LANDED))
    found = sorted(place.all(), key=lambda each: each.rows or 0)
    assert [(each.kind, each.state, each.rows, each.executor_bytes) for each in found] == [
        ("ingest", "done", 5, 700),
        ("ingest", "done", 10, 1_400),
    ]
    run(add_silent_batch(place, one, "logs@main", ANN, Transient("away")))
    failed = next(each for each in place.all() if each.id == found[1].id)
    assert (failed.state, failed.rows, failed.error) == ("failed", 10, "away")


def test_a_store_that_refuses_writes_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(path: str, data: bytes) -> None:
        raise Refused("read only")

    place = Place(tmp_path)
    monkeypatch.setattr(place.store, "put", refuse)
    job = run(begin_silent(place, "write", "logs", ANN))
    run(end_silent(place, job, LANDED))
    run(add_silent_batch(place, bytes(16), "logs", ANN, LANDED))
    assert place.all() == []


@pytest.mark.thorough
def test_now_and_then_the_oldest_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_KEPT_MAX", 3)
    place = Place(tmp_path)
    for _ in range(400):  # one in 62 of them looks
        run(begin_silent(place, "write", "logs", ANN))
    assert 3 <= len(place.all()) < 400
