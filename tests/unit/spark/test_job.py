"""A write without Spark: begun, written by tasks that run here, and landed once however often it is tried."""

import pickle
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lochan.api.options import CommitOptions
from lochan.connection import LakeAddress, spark_lake
from lochan.engines.spark.frames.origin import Origin
from lochan.errors import Dirty, Invalid, NotFound, PreconditionFailed, Refused, Transient
from lochan.jobs import write
from lochan.jobs.job_commit import LandResult
from lochan.jobs.messages import TaskMessage
from lochan.jobs.write import WriteJob
from lochan.lake import Lake
from lochan.store.open import StoreLocation
from lochan.versioning.uri import prefix_uri
from tests.run import run
from tests.unit.engines.lake import ANN, QueryLake, query_lake

BATCH = pa.RecordBatch.from_pydict({"k": [3, 1, 2], "x": ["c", "a", None]})


@pytest.fixture
def place(tmp_path: Path) -> LakeAddress:
    async def made() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool", [{"k": 0}])
            await lake.lake.create_repository("files", actor=ANN)

    run(made())
    return spark_lake(tmp_path / "lake")


@dataclass
class Job:
    """As a data source has it: each step opens the lake anew."""

    place: LakeAddress
    job: WriteJob

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
        return self.job.write(batches)

    def land(self, messages: Iterable[TaskMessage]) -> LandResult:
        every = list(messages)
        with self.place.connect(counted=True) as lake:
            return lake.frames.begun(self.job).land(every)


def begin(
    place: LakeAddress,
    uri: str,
    message: str = "",
    *,
    replace: bool = False,
    origins: Collection[Origin] = (),
    expect: str = "",
) -> Job:
    mode = "overwrite" if replace else "append"
    with place.connect() as lake:
        begun = lake.frames.write(uri, CommitOptions(message=message), mode=mode, origins=origins, expect=expect)
    return Job(place, begun.job)


def query_rows(place: LakeAddress, text: str) -> list[Any]:
    return place.run(lambda lake: QueryLake(lake).rows(text))


@pytest.mark.thorough
@pytest.mark.parametrize("uri, table", [("pool", "pool"), ("files@main/t/", "files@main/t/*")])
@pytest.mark.parametrize("replace", [False, True])
def test_what_is_landed_twice_is_there_once(place: LakeAddress, uri: str, table: str, replace: bool) -> None:
    """As after a commit whose answer was lost: by another process, with nothing but what the first had."""
    before = 1 if uri == "pool" and not replace else 0
    job = pickle.loads(pickle.dumps(begin(place, uri, "once", replace=replace)))
    messages = [*job.write([BATCH]), *job.write([BATCH])]
    first = job.land(messages)
    again = pickle.loads(pickle.dumps(job)).land(messages)
    assert (first.rows, first.again) == (6, False)
    assert (again.commit, again.again) == (first.commit, True)
    assert query_rows(place, f"from {table} | count()") == [{"count": 6 + before}]
    other = begin(place, uri, replace=False)
    assert not other.land(other.write([BATCH])).again
    assert query_rows(place, f"from {table} | count()") == [{"count": 9 + before}]


def origin(place: LakeAddress, ref: str) -> Origin:
    async def found(lake: Lake) -> Origin:
        uri = prefix_uri(ref)
        repository = await lake.open_repository(uri.repository)
        try:
            resolved = await repository.resolve(uri.ref or "main")
            return Origin(repository.repository.id, resolved.commit_id)
        finally:
            await repository.close()

    return place.run(found)


def append(place: LakeAddress, uri: str, message: str) -> None:
    job = begin(place, uri, message)
    job.land(job.write([BATCH]))


@pytest.mark.thorough
@pytest.mark.parametrize("uri, table", [("pool", "pool"), ("files@main/t/", "files@main/t/*")])
def test_an_overwrite_drops_nothing_that_came_since_its_rows_were_read(
    place: LakeAddress, uri: str, table: str
) -> None:
    """Before its tasks, or while they run: then its commit is what finds it."""
    append(place, uri, "first")
    read = origin(place, uri)
    job = begin(place, uri, replace=True, origins=[read])
    messages = list(job.write([BATCH]))
    append(place, uri, "late news")
    count = query_rows(place, f"from {table} | count()")
    for late in (
        lambda: job.land(messages),
        lambda: begin(place, uri, replace=True, origins=[read]),
    ):
        with pytest.raises(PreconditionFailed, match="would drop what came since: 'late news'") as refused:
            late()
        head = origin(place, uri).commit
        assert f"expect={head[:12]!r}" in refused.value.hint
    assert query_rows(place, f"from {table} | count()") == count
    with pytest.raises(PreconditionFailed, match="is not at"):
        begin(place, uri, replace=True, origins=[read], expect=read.commit)
    named = begin(place, uri, replace=True, origins=[read], expect=head[:12])
    landed = named.land(named.write([BATCH]))
    assert query_rows(place, f"from {table} | count()") == [{"count": 3}]
    assert named.land([]).commit == landed.commit  # again, though the head is its own commit now


def test_an_overwrite_by_rows_of_elsewhere_replaces_all(place: LakeAddress) -> None:
    read = origin(place, "files")
    append(place, "pool", "late news")
    job = begin(place, "pool", replace=True, origins=[read])
    job.land(job.write([BATCH]))
    assert query_rows(place, "from pool | count()") == [{"count": 3}]
    back = begin(place, "pool", replace=True, origins=[origin(place, "pool")])
    back.land(back.write([BATCH]))


@pytest.mark.thorough
def test_what_came_to_other_files_is_in_nobodys_way(place: LakeAddress) -> None:
    append(place, "files@main/t/", "first")
    read = origin(place, "files")
    append(place, "files@main/other/", "elsewhere")
    job = begin(place, "files@main/t/", replace=True, origins=[read])
    append(place, "files@main/other/", "elsewhere")
    job.land(job.write([BATCH]))
    assert query_rows(place, "from files@main/t/* | count()") == [{"count": 3}]
    assert query_rows(place, "from files@main/other/* | count()") == [{"count": 6}]


def test_a_store_that_does_not_answer_is_asked_again(place: LakeAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    job = begin(place, "pool", replace=False)
    messages = list(job.write([BATCH]))
    real, tries = write._land, 0

    async def after_the_answer(*what: Any) -> Any:
        nonlocal tries
        tries += 1
        done = await real(*what)
        if tries < 3:
            raise Transient("the answer was lost")
        return done

    monkeypatch.setattr("lochan.jobs.write._land", after_the_answer)
    landed = job.land(messages)
    assert (tries, landed.again) == (3, True)
    assert query_rows(place, "from pool | count()") == [{"count": 4}]


def test_what_cannot_be_written_to(place: LakeAddress) -> None:
    for uri, error in (
        ("nowhere", NotFound),
        ("pool@nowhere", NotFound),
        ("pool@main~1", Invalid),
        ("pool@main/t/", Invalid),
        ("files@main/t", Invalid),
        ("files@nowhere/t/", NotFound),
    ):
        with pytest.raises(error):
            begin(place, uri, replace=False)

    async def stage(lake: Any) -> None:
        from lochan.versioning.objects import put
        from tests.unit.pools.place import once

        repository = await lake.open_repository("files")
        await put(repository, "main", "a", once(b"x"), actor=ANN)
        await repository.close()

    place.run(stage)
    with pytest.raises(Dirty):
        begin(place, "files@main/t/", replace=False)


def test_which_lake_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCHAN_LAKE", "s3://bucket/lake")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "HIDDEN")
    monkeypatch.setenv("LOCHAN_AUTH__ENCRYPT__SECRET_KEY", "MORE_HIDDEN")
    found = spark_lake(options={"region": "eu"})
    assert found.location.url == "s3://bucket/lake"
    assert found.options is not None
    assert found.options["secret_access_key"] == "HIDDEN"
    assert found.options["region"] == "eu"
    assert "HIDDEN" not in repr(found)
    assert b"MORE_HIDDEN" not in pickle.dumps(found), "executors get what opens the store, and no more"
    assert pickle.loads(pickle.dumps(found)).options == found.options
    assert spark_lake("here").location.url == str(tmp_path / "here")
    with pytest.raises(NotFound, match="no lake"):
        spark_lake(tmp_path).run(lambda lake: lake.repositories())
    with pytest.raises(Refused):
        StoreLocation(spark_lake("memory://x").location.url).for_others()
