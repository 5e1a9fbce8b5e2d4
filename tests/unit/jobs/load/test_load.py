"""The same inputs loaded by tasks and by the embedded load give the same rows, in the same order of the key."""

from __future__ import annotations

import gzip
import io
import json
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from lochan.engines.duckdb.load.load import LoaderOptions, load
from lochan.errors import Conflict, Invalid, NothingToDo, Refused
from lochan.formats.pool_settings import PoolSettings
from lochan.ingest.streams import file_input
from lochan.jobs.load.files import local_file
from lochan.jobs.messages import TaskFailed, error_of
from lochan.pools.facts import from_metadata
from lochan.pools.settings import parse
from tests.run import run
from tests.unit.engines.lake import ANN
from tests.unit.jobs.load.local_load import load_here
from tests.unit.jobs.place import JobPool, job_pool

MIXED: list[dict[str, Any]] = [
    *({"k": number * 7 % 50, "s": f"text {number}"} for number in range(50)),
    {"k": 2**53 + 1, "n": 2**53 + 1},
    {"k": 2**53, "big": 2**80},
    {"k": 1.5, "o": {"a": None, "b": [1, 2, "x"]}},
    {"k": "12", "é\n": True},
    {"k": "a/b~c"},
    {"k": True},
    {"k": None, "x": None},
    {"x": 1},
    {"k": {"deep": 1}},
    {"k": [1, 2]},
    {"k": "2026-11-01T10:00:00Z"},
    {"k": "2026-11-01", "ts": "2026-11-01"},
]
TABLE = pa.table(
    {
        "k": pa.array([5, 1, None, 2, 4] * 40, pa.int32()),
        "s": pa.array(["a", None, "c", "", "é"] * 40),
        "o": pa.array([{"x": 1}, None, {"x": None}, {"x": 2}, {"x": 3}] * 40),
    }
)


def ndjson(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=20)
    return bytes(sink.getvalue())


def avro_file(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pl.DataFrame(table).write_avro(sink)
    return sink.getvalue()


def orc_file(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    orc.write_table(table, sink)
    return bytes(sink.getvalue())


FILES = {
    "mixed.ndjson": ndjson(MIXED),
    "packed.ndjson.gz": gzip.compress(ndjson(MIXED)),
    "list.json": json.dumps(MIXED, indent=1).encode(),
    "table.csv": b"k,s\n" + b"".join(b"%d,007\n" % (number * 7 % 50) for number in range(100)),
    "lines.txt": "b é\na\n\nc".encode() * 30,
    "table.parquet": parquet(TABLE),
    "table.orc": orc_file(TABLE),
    "table.avro": avro_file(TABLE),
    "rows.xml": b"<rows>"
    + b"".join(b'<r k="%d"><s>a</s></r>' % (number * 7 % 50) for number in range(60))
    + b"</rows>",
}


async def same(pool: JobPool, folder: Path, names: list[str], how: LoaderOptions | None = None) -> None:
    """Loads the files in both ways."""
    settings = (await pool.target()).settings
    await pool.lake.pool("same", settings=settings)
    here = await load_here(pool, [local_file(folder / name) for name in names], how)
    repository = await pool.lake.lake.open_repository("same")
    there = await load(
        repository, "main", [file_input(folder / name) for name in names], actor=ANN, options=how or LoaderOptions()
    )
    await repository.close()
    assert (here.rows, here.faults.count) == (there.rows, there.faults.count)
    ours, theirs = await pool.lake.rows("from logs"), await pool.lake.rows("from same")
    assert _keys(ours, settings) == _keys(theirs, settings)
    assert sorted(map(json.dumps, ours)) == sorted(map(json.dumps, theirs))


def _keys(rows: list[Any], pool: PoolSettings) -> list[list[Any]]:
    """The keys of rows that have scalars there."""
    found = [[reduce(_field, key.path, row) for key in pool.keys if key.path] for row in rows]
    return [key for key in found if not any(isinstance(value, dict | list) for value in key)]


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def check_same(folder: Path, name: str, settings: PoolSettings) -> None:
    async def play() -> None:
        async with job_pool(folder, settings) as pool:
            (folder / name).write_bytes(FILES[name])
            await same(pool, folder, [name])

    run(play())


@pytest.mark.thorough
@pytest.mark.parametrize("name", FILES)
def test_each_format_is_equal_to_the_embedded_load(tmp_path: Path, name: str) -> None:
    check_same(tmp_path, name, parse(["k"]))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name, settings",
    [
        pytest.param("mixed.ndjson", parse(["k:time:desc"], nulls="first"), id="a time, descending"),
        pytest.param("mixed.ndjson", parse([]), id="the whole row"),
        pytest.param("table.parquet", parse([]), id="the whole row, in columns"),
        pytest.param("table.parquet", parse(["s", "o.x:desc"]), id="two fields"),
        pytest.param("table.csv", parse(["missing", "s"]), id="a field that no row has"),
    ],
)
def test_each_key_is_equal_to_the_embedded_load(tmp_path: Path, name: str, settings: PoolSettings) -> None:
    check_same(tmp_path, name, settings)


@pytest.mark.thorough
def test_objects_do_not_overlap(tmp_path: Path) -> None:
    """Though each piece has rows from everywhere, of several kinds."""

    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            rows = [{"k": n * 7919 % 1000 if n % 3 else f"{n * 7919 % 1000:03}"} for n in range(500)]
            (tmp_path / "a.ndjson").write_bytes(ndjson(rows))
            await load_here(pool, [local_file(tmp_path / "a.ndjson")])
            spans = sorted((facts.key_min, facts.key_max) for facts in map(_facts, await pool.entries()))
            assert len(spans) > 4
            assert all(low <= high for low, high in spans)
            assert all(one[1] < other[0] for one, other in pairwise(spans))

    run(play())


def _facts(entry: Any) -> Any:
    return from_metadata(entry.metadata)


BROKEN = b'{"k":1}\n{"k":2}\nno row\n{"k":3}\n{"k":4,"k":4}\n\xff\n' * 20


@pytest.mark.thorough
@pytest.mark.parametrize("on_error", ["skip", "keep"])
def test_faults_are_counted_and_named_alike(tmp_path: Path, on_error: str) -> None:
    """Also by tasks that begin in the middle of a file, and do not know how many lines are before."""

    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            (tmp_path / "a.ndjson").write_bytes(BROKEN)
            (tmp_path / "b.csv").write_bytes(b"k,s\n1,a\n2\n" + b"3,b\n" * 50)
            await same(pool, tmp_path, ["a.ndjson", "b.csv"], LoaderOptions(on_error=on_error))

    run(play())


def test_a_fault_ends_the_load(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            before = await pool.head()
            rows = ndjson([{"k": number} for number in range(100)])
            (tmp_path / "a.ndjson").write_bytes(rows + b'{"k": 1, "k": 2}\n' + rows)
            with pytest.raises(TaskFailed) as failed:
                await load_here(pool, [local_file(tmp_path / "a.ndjson")])
            error = error_of(failed.value)
            assert isinstance(error, Invalid)
            assert f"{tmp_path}/a.ndjson:101:" in error.message
            assert await pool.head() == before

    run(play())


def test_a_file_that_changes_meanwhile(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            path = tmp_path / "a.ndjson"
            path.write_bytes(ndjson(MIXED))
            file = local_file(path)
            path.write_bytes(ndjson(MIXED) * 2)
            with pytest.raises(TaskFailed) as failed:
                await load_here(pool, [file])
            assert isinstance(error_of(failed.value), Conflict)
            path.unlink()
            with pytest.raises(Refused, match="does not see"):
                await load_here(pool, [file])

    run(play())


def test_files_without_rows(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            (tmp_path / "a.ndjson").write_bytes(b"")
            (tmp_path / "b.ndjson").write_bytes(b"\n" * 5_000)
            with pytest.raises(NothingToDo):
                await load_here(pool, [local_file(tmp_path / name) for name in ("a.ndjson", "b.ndjson")])

    run(play())
