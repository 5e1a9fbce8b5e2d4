"""What a task does with files and lines of text."""

import asyncio
import gzip
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lochan.engines.duckdb.load.load import LoaderOptions
from lochan.errors import Invalid, NotFound
from lochan.jobs.messages import TaskFailed, TaskMessage, error_of, together
from lochan.jobs.streams.sources import local_path, write_files, write_texts
from tests.run import run
from tests.unit.jobs.place import JobPool, job_pool

Work = Callable[[Any, Iterator[pa.RecordBatch]], Iterator[TaskMessage]]


async def done(pool: JobPool, work: Work, name: str, values: list[Any]) -> TaskMessage:
    batch = pa.RecordBatch.from_pydict({name: pa.array(values, pa.string())})
    target = await pool.target()
    return together(await asyncio.to_thread(lambda: list(work(target, iter([batch])))))


def test_files_of_any_format_become_rows(tmp_path: Path) -> None:
    (tmp_path / "a b%20.ndjson").write_text('{"k":1}\n{"k":2}\n')
    (tmp_path / "b.csv").write_text("k,x\n3,y\n")
    (tmp_path / "c.json.gz").write_bytes(gzip.compress(b'[{"k":4}]'))
    (tmp_path / "empty.ndjson").touch()
    names = [f"file:{path}" for path in sorted(tmp_path.iterdir()) if path.is_file()]

    async def work() -> None:
        async with job_pool(tmp_path / "place") as pool:
            message = await done(pool, partial(write_files, LoaderOptions()), "path", names)
            await pool.land([message])
            assert message.rows == 4
            assert await pool.lake.rows("from logs | sort k | cut k") == [{"k": 1}, {"k": 2}, {"k": 3}, {"k": 4}]

    (tmp_path / "place").mkdir()
    run(work())


def test_errors_name_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "bad.ndjson").write_text('{"k":1}\n{"k":\n')

    async def work() -> None:
        async with job_pool(tmp_path / "place") as pool:
            bad = [str(tmp_path / "bad.ndjson")]
            with pytest.raises(TaskFailed) as failed:
                await done(pool, partial(write_files, LoaderOptions()), "path", bad)
            error = error_of(failed.value)
            assert isinstance(error, Invalid) and "bad.ndjson:2" in error.message
            skipped = await done(pool, partial(write_files, LoaderOptions(on_error="skip")), "path", bad)
            assert (skipped.rows, skipped.faults, skipped.first_faults[0].line) == (1, 1, 2)
            with pytest.raises(TaskFailed) as failed:
                await done(pool, partial(write_files, LoaderOptions()), "path", [str(tmp_path / "gone.ndjson")])
            error = error_of(failed.value)
            assert isinstance(error, NotFound) and "gone.ndjson" in error.message

    (tmp_path / "place").mkdir()
    run(work())


def test_texts_become_rows(tmp_path: Path) -> None:
    async def work() -> None:
        async with job_pool(tmp_path) as pool:
            texts = ['{"k":1}', None, '{"k":2,"deep":{"a":[1]}}', "", "no row"]
            found = await done(pool, partial(write_texts, "host:1", "skip"), "value", texts)
            assert (found.rows, found.faults) == (2, 1)
            assert str(found.first_faults[0]).startswith("host:1:")

    run(work())


@pytest.mark.parametrize(
    "name, path",
    [
        ("file:/in/a b.json", "/in/a b.json"),
        ("file:///in/100%.json", "/in/100%.json"),
        ("/in/file:x.json", "/in/file:x.json"),
    ],
)
def test_names_as_hadoop_writes_them(name: str, path: str) -> None:
    assert local_path(name) == Path(path)
