"""The corpus as a real lake in a folder: every pool in several loads, so that objects of different layouts meet in one
scan; a branch and a tag; a repository of files, one of them staged only."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lochan.api.pool import load_rows
from lochan.api.queries import run_query
from lochan.engines.run_query import RunOptions
from lochan.engines.spark.place import STANDARD, SparkPlace
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.pools.settings import parse
from lochan.query import ast
from lochan.store.local import LocalStore
from lochan.versioning.branches import create_branch, create_tag
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.objects import put
from tests.corpus.data import Pool, Row, pools
from tests.corpus.reference.operators import Rows
from tests.corpus.reference.sources import Pools, Unknown

ANN = Actor("ann", "test", "here")
_LOADS = 3
_ON_DEV: tuple[Row, ...] = (
    {"id": 8, "name": "Frances Allen", "city": "New York", "age": 88, "score": 8.5},
    {"id": 9, "name": "Niklaus Wirth", "city": "Zürich", "age": 89, "likes": ["pascal"]},
)


Ask = Callable[[str, str], list[Any]]  # a query and an engine


@contextmanager
def answers(folder: Path, spark: SparkPlace = STANDARD) -> Iterator[Ask]:
    """A new lake in this folder, open as long as the context is."""
    with asyncio.Runner() as runner:
        runner.run(make(folder))
        lake = runner.run(Lake.open(LocalStore(str(folder / "lake"))))
        try:
            yield lambda query, engine: runner.run(
                _answer(lake, query, RunOptions(actor=ANN, engine=engine, spark=spark))
            )
        finally:
            runner.run(lake.close())


async def make(folder: Path) -> None:
    await fill(await Lake.create(LocalStore(str(folder / "lake"), create=True)))


async def fill(lake: Lake) -> None:
    """And close it."""
    try:
        for pool in pools():
            await lake.create_pool(pool.name, parse(pool.keys), actor=ANN)
            for rows in _loads(pool):
                await load_rows(lake, pool.name, rows, actor=ANN)
        await _branches(lake)
        await _files(lake)
    finally:
        await lake.close()


class LakeRows(Pools):
    """The rows of this lake for the reference: pools at every ref, and files, without metadata."""

    def __init__(self) -> None:
        super().__init__(pools())
        dev = [pool._replace(rows=pool.rows + _ON_DEV) if pool.name == "people" else pool for pool in pools()]
        self._dev = Pools(dev)
        rows = {path: tuple({**row, **_IN_PATHS.get(path, {})} for row in rows) for path, rows in _file_rows().items()}
        self._of_files = Pools([Pool(path, (), all) for path, all in rows.items()])

    def __call__(self, source: ast.Source) -> Rows:
        if source.meta:
            raise Unknown(source)
        if source.path:
            folder, _, name = source.path.rpartition("/")
            begin, end = folder.partition("*")[0], name.lstrip("*")
            paths = [path for path in _file_rows() if path.startswith(begin) and path.endswith(end)]
            return [row for path in paths for row in self._of_files.rows(path)]
        here = self._dev if source.ref.startswith("dev") and "~" not in source.ref else self
        return [row for name in here._names(source) for row in here._of(name, source)]


async def _answer(lake: Lake, query: str, how: RunOptions) -> list[Any]:
    with await run_query(lake, query, how) as result:
        return list(result.rows())


def _loads(pool: Pool) -> list[Sequence[Row]]:
    """Rows of a log come as time goes by; all others in turns, so that their objects' keys overlap."""
    if pool.name == "logs":
        third = len(pool.rows) // _LOADS + 1
        return [pool.rows[at : at + third] for at in range(0, len(pool.rows), third)]
    return [rows for at in range(_LOADS) if (rows := pool.rows[at::_LOADS])]


async def _branches(lake: Lake) -> None:
    people = await lake.open_repository("people")
    await create_branch(people, "dev", "main", actor=ANN)
    await create_tag(people, "v1", "main", actor=ANN)
    await people.close()
    await load_rows(lake, "people", list(_ON_DEV), branch="dev", actor=ANN)


async def _files(lake: Lake) -> None:
    await lake.create_repository("files", actor=ANN)
    files = await lake.open_repository("files")
    for path, rows in _file_rows().items():
        await put(files, "main", path, _once(_written(path, rows)), actor=ANN)
    await commit(files, "main", CommitRequest("rows of files"), actor=ANN)
    await put(files, "main", "new/staged.txt", _once(b"staged"), actor=ANN)
    await files.close()


def file_sizes() -> dict[str, int]:
    """The sizes of the committed files, in bytes."""
    return {path: len(_written(path, rows)) for path, rows in _file_rows().items()}


def _file_rows() -> dict[str, list[Row]]:
    all = {pool.name: pool.rows for pool in pools()}
    return {
        "data/cities.csv": list(all["cities"]),
        "data/people.parquet": [row for row in all["people"] if row["id"] < 4],
        "logs/a.ndjson": list(all["logs"][:20]),
        "logs/b.ndjson": list(all["logs-old"]),
        "parts/year=2025/a.parquet": [{"n": 1, "year": 1999}, {"n": 2, "year": 1999}],
        "parts/year=2026/day=2026-11-01/b.parquet": [{"n": 3, "new": "x"}],
        "parts/year=2026/day=__HIVE_DEFAULT_PARTITION__/c.parquet": [{"n": 4.5}],
    }


_IN_PATHS: dict[str, Row] = {  # fields that rows of these files have beside their own
    "parts/year=2025/a.parquet": {"year": 2025},
    "parts/year=2026/day=2026-11-01/b.parquet": {"year": 2026, "day": "2026-11-01"},
    "parts/year=2026/day=__HIVE_DEFAULT_PARTITION__/c.parquet": {"year": 2026, "day": None},
}


def _written(path: str, rows: Sequence[Row]) -> bytes:
    if path.endswith(".parquet"):
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), sink)
        return sink.getvalue()
    if path.endswith(".csv"):
        lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
        return "".join(f"{line}\n" for line in lines).encode()
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data
