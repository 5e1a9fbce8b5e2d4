"""Bulk loads on Spark: the rows of the embedded load, one commit or nothing, and tasks that die."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import time
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import serializers
from pyspark.core import rdd

from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.duckdb.load.load import LoadCommit, LoaderOptions, load
from lochan.engines.spark import session
from lochan.errors import Invalid
from lochan.formats.job import JobStageRecord
from lochan.ingest.streams import file_input
from lochan.jobs.load.files import File, local_file
from lochan.jobs.load.load import LoadContext, cut, load_files, load_part
from lochan.jobs.load.sizes import LoadSizes
from lochan.pools.facts import from_metadata
from tests.hostile_files import fast
from tests.lost_answer import lost_answer
from tests.run import run
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.unit.cli.invoke import lochan
from tests.unit.engines.lake import ANN
from tests.unit.jobs.load.test_load import BROKEN, FILES, MIXED, ndjson
from tests.unit.jobs.place import JobPool, job_pool

pytestmark = LEFT_SOCKETS
AGAIN = HERE._replace(master="local[2,3]")  # a task may fail twice
SMALL = LoadSizes(part_bytes=8_000, split_bytes=8_000)


@pytest.fixture(scope="module", autouse=True)
def stopped() -> Iterator[None]:
    yield
    session.stop()


async def loaded(pool: JobPool, paths: list[Path], how: LoaderOptions | None = None, **more: Any) -> LoadCommit:
    where = LoadContext(session.session_at(AGAIN, STANDARD), **more)
    files = [local_file(path) for path in paths]
    return await load_files(
        pool.repository,
        pool.lake.lake.place,
        "main",
        files,
        actor=ANN,
        where=where,
        options=how or LoaderOptions(),
        sizes=SMALL,
    )


def written(folder: Path, files: dict[str, bytes]) -> list[Path]:
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in files]


def test_every_format_is_equal_to_the_embedded_load(tmp_path: Path) -> None:
    stages: list[JobStageRecord] = []

    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            paths = written(tmp_path, {**FILES, "broken.ndjson": BROKEN})
            how = LoaderOptions(on_error="keep")
            here = await loaded(pool, paths, how, listener=lambda found: stages.__setitem__(slice(None), found))
            await pool.lake.pool("same")
            repository = await pool.lake.lake.open_repository("same")
            there = await load(repository, "main", [file_input(path) for path in paths], actor=ANN, options=how)
            await repository.close()
            assert (here.rows, here.faults.count) == (there.rows, there.faults.count)
            ours, theirs = await pool.lake.rows("from logs"), await pool.lake.rows("from same")
            assert sorted(map(json.dumps, ours)) == sorted(map(json.dumps, theirs))
            assert _scalars(ours) == _scalars(theirs)
            log = await pool.lake.rows("from logs@main:log | cut message")
            assert log[0] == {"message": f"Load {here.rows:,} rows"}

    run(play())
    assert len(stages) >= 2 and all(stage.done == stage.total for stage in stages)


def _scalars(rows: list[Any]) -> list[Any]:
    return [row.get("k") for row in rows if not isinstance(row.get("k"), dict | list)]


def test_a_broken_line_and_nothing_is_loaded(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            before = await pool.head()
            rows = ndjson(MIXED) * 10
            paths = written(tmp_path, {"good.ndjson": rows, "bad.ndjson": rows + b'{"k":\n' + rows})
            with pytest.raises(Invalid, match=rf"{tmp_path}/bad.ndjson:{rows.count(bytes([10])) + 1}:"):
                await loaded(pool, paths)
            assert await pool.head() == before

    run(play())


def test_files_that_lie_are_refused_in_words(tmp_path: Path) -> None:
    names = ("offsets-beyond.arrow", "count-of-nulls.avro", "deep-closed.xml", "zeros.orc", "not-utf8.parquet")
    hostile = {each.path: each.data for each in fast() if each.path in names}

    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            before = await pool.head()
            for path in written(tmp_path, hostile):
                with pytest.raises(Invalid, match=path.name):
                    await loaded(pool, [path])
            assert await pool.head() == before

    run(play())


def test_a_worker_that_dies_once_in_each_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    died = [tmp_path / "first", tmp_path / "second"]

    def dying(work: Any, flag: Path) -> Any:
        def once(about: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
            for number, each in enumerate(work(about, batches)):
                if number == 0 and not flag.exists():
                    flag.touch()
                    os._exit(9)
                yield each

        return once

    monkeypatch.setattr("lochan.jobs.load.load.cut", dying(cut, died[0]))
    monkeypatch.setattr("lochan.jobs.load.load.load_part", dying(load_part, died[1]))

    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            rows = [{"k": number * 7919 % 2_000} for number in range(2_000)]
            done = await loaded(pool, written(tmp_path, {"a.ndjson": ndjson(rows)}))
            assert all(flag.exists() for flag in died)
            assert done.rows == 2_000
            assert await pool.lake.rows("from logs") == [{"k": number} for number in range(2_000)]
            spans = sorted((facts.key_min, facts.key_max) for facts in map(_facts, await pool.entries()))
            assert len(spans) > 2
            assert all(one[1] < other[0] for one, other in pairwise(spans))

    run(play())


def test_what_goes_to_tasks_and_what_the_driver_opens_do_not_grow_with_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Faults are still named by file and line, though no task knows all files."""
    opened: list[str] = []
    sent: list[int] = []

    def counted(file: File) -> Any:
        opened.append(file.name)
        return open_file(file)

    def prepared(context: Any, command: Any) -> Any:
        pickler: Any = serializers.CloudPickleSerializer
        sent.append(len(pickler().dumps(command)))
        return prepare(context, command)

    prepare: Any = rdd._prepare_for_python_RDD
    open_file = File.open
    monkeypatch.setattr(rdd, "_prepare_for_python_RDD", prepared)

    async def play(count: int) -> int:
        folder = tmp_path / str(count)
        folder.mkdir()
        async with job_pool(folder) as pool:
            keys = [{"k": number * 7919 % 4_000} for number in range(4_000)]
            files = {f"{n}.ndjson": ndjson(keys[n::count]) for n in range(count - 1)}
            files["last.ndjson.gz"] = gzip.compress(ndjson(keys[count - 1 :: count]) + b"no row\n")
            paths = written(folder, files)
            opened.clear()
            sent.clear()
            with monkeypatch.context() as patched:
                patched.setattr("lochan.jobs.load.files.File.open", counted)
                done = await loaded(pool, paths, LoaderOptions(on_error="skip"))
            (fault,) = done.faults.first
            assert (done.rows, fault.name) == (4_000, str(paths[-1]))
            assert fault.line == len(keys[count - 1 :: count]) + 1
            assert opened == []
            return max(sent)

    few, many = run(play(20)), run(play(80))
    assert abs(many - few) < 200


def test_rows_of_a_sorted_packed_file_are_shared_out(tmp_path: Path) -> None:
    """Also those of a key that has half of all rows; several tasks write them."""

    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            rows = [{"k": min(number, 2_000)} for number in range(4_000)]
            done = await loaded(pool, written(tmp_path, {"a.ndjson.gz": gzip.compress(ndjson(rows))}))
            assert done.rows == 4_000
            rows_of_objects = [facts.rows for facts in map(_facts, await pool.entries())]
            assert max(rows_of_objects) <= 2 * 4_000 / len(rows_of_objects)
            assert await pool.lake.rows("from logs") == rows

    run(play())


def test_it_is_cancelled_and_its_tasks_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = tmp_path / "begun"

    def slow(about: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
        begun.touch()
        time.sleep(100)
        yield from ()

    monkeypatch.setattr("lochan.jobs.load.load.cut", slow)

    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            before = await pool.head()
            rows = ndjson([{"k": number} for number in range(2_000)])
            work = asyncio.create_task(loaded(pool, written(tmp_path, {"a.ndjson": rows})))
            await asyncio.to_thread(_wait_for, begun)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(work, 60)
            assert await pool.head() == before

    run(play())
    tracker = session.session_at(AGAIN, STANDARD).sparkContext.statusTracker()
    assert list(tracker.getActiveJobsIds()) == []


def _wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.1)


def _facts(entry: Any) -> Any:
    return from_metadata(entry.metadata)


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` takes Spark for what is beyond its threshold, and where there is none the embedded engine."""
    monkeypatch.setenv("LOCHAN_LAKE", str(tmp_path / "lake"))
    monkeypatch.setenv("LOCHAN_SPARK__LOCAL_THRESHOLD", "1B")
    good, bad, empty = written(
        tmp_path, {"a.ndjson": ndjson([{"k": 2}, {"k": 1}]), "bad.ndjson": b'{"k":\n', "empty.ndjson": b"\n\n\n"}
    )
    assert lochan("init").exit_code == 0
    words = ["load", "logs", "--key", "k", "-m", "on Spark", "-f", "json", "--master", AGAIN.master]
    refused = lochan(*words, str(good), "--engine", "spark", env={"JAVA_HOME": "/nowhere"})
    assert refused.exit_code == 5 and "Java" in refused.stderr
    for wrong in (bad, empty):
        assert lochan(*words, str(wrong)).exit_code != 0
        assert lochan("ls", "-f", "json").stdout == "[]\n", "no pool is left"
    ran = lochan(*words, str(good))
    assert ran.exit_code == 0, ran.stderr
    assert json.loads(ran.stdout)["rows"] == 2
    assert ran.stderr.splitlines() == ["lochan: created pool logs, sorted by k"]
    record, *others = json.loads(lochan("jobs", "-f", "json").stdout)
    assert (record["kind"], record["about"], record["state"], record["rows"]) == ("load", "logs@main", "done", 2)
    assert record["executor_bytes"] == json.loads(ran.stdout)["bytes"]
    assert [each["state"] for each in others] == ["failed", "failed"]
    here = lochan(*words, str(good), env={"JAVA_HOME": "/nowhere"})
    assert here.exit_code == 0, here.stderr
    found = lochan("query", "from logs", "-f", "json", "--engine", "duckdb")
    assert [row["k"] for row in json.loads(found.stdout)] == [1, 1, 2, 2]


def test_sent_again_with_its_key_nothing_comes_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever answer was lost: of the pool that is made, of the key that is held, of the commit."""
    (rows,) = written(tmp_path, {"a.ndjson": ndjson([{"k": 2}, {"k": 1}])})
    monkeypatch.chdir(tmp_path)
    for lake, before in (("new", []), ("there", ["create", "logs", "--key", "k"])):
        for number in range(1, 5 - len(before[:1])):
            monkeypatch.setenv("LOCHAN_LAKE", str(tmp_path / f"{lake}-{number}"))
            assert lochan("init").exit_code == 0
            assert not before or lochan(*before).exit_code == 0
            words = ["load", "logs", str(rows), "--key", "k", "--engine", "spark", "--master", AGAIN.master]
            words += ["--request-key", "mine", "-f", "json"]
            with lost_answer(number) as appends:
                broken = lochan(*words)
            assert broken.exit_code == (9 if len(appends) >= number else 0), (lake, number, broken.stderr)
            assert broken.exit_code == 0 or "--request-key mine" in broken.stderr
            again = [lochan(*words) for _ in range(2)]
            assert [each.exit_code for each in again] == [0, 0], [each.stderr for each in again]
            first, second = (json.loads(each.stdout) for each in again)
            assert first["rows"] == 2 and first == second
            found = lochan("query", "from logs", "-f", "json", "--engine", "duckdb")
            assert [row["k"] for row in json.loads(found.stdout)] == [1, 2], (lake, number)
