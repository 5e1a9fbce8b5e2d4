"""Import of files outside the lake against writing their metadata as Parquet: from an inventory, from a listing, and
again when little or nothing has changed. `--entries 1000000,4000000,16000000` shows how it grows.

The files do not exist: a store answers for them out of their numbers, so that the cost of a network is left out, and
nothing but metadata moves. Processor time of all threads is compared, because the machine may be busy. Bare is pyarrow,
which writes the same entries to one file, without a sync or a checksum.
"""

import asyncio
import resource
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from time import process_time

import pyarrow as pa
import pyarrow.parquet as pq

from bench.sizes import sizes
from bench.table import show
from lochan.errors import NotFound, NothingToDo
from lochan.formats.entry import ENTRY_SCHEMA
from lochan.formats.range import ROW_GROUP, WRITING
from lochan.formats.record import Actor
from lochan.lake import Lake, LakeOptions
from lochan.store.local import LocalStore
from lochan.store.protocol import Stat, Store
from lochan.versioning.bodies.file_list import LIST_SCHEMA, as_entries
from lochan.versioning.heads.imports import ImportFolder, bring_in, for_import, for_ingest

BENCH = Actor("bench", "bench", "here")
_PIECE = 100_000
_CHANGED = 10_000


def main() -> None:
    rows: list[list[object]] = []
    first: dict[str, float] = {}
    for size in sizes((1_000_000,)):
        with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
            rows += asyncio.run(_run(Path(folder), size, first))
    head = ["files", "", "processor s", "bare s", "ratio", "budget", "times the first", "peak RSS MiB"]
    show("import of files outside the lake", head, rows)


class NumberedStore:
    """A bucket of `count` objects, whose stats follow from their numbers. `other` of them have another version."""

    url = "s3://bucket"

    def __init__(self, count: int, other: int = 0) -> None:
        self.count = count
        self._every = count // other if other else 0

    def stat(self, number: int) -> Stat:
        version = 1 if self._every and number % self._every == 0 else 0
        return Stat(name(number), 1_000 + number % 9_000, 1_763_000_000.0, f"{number * 7_919 + version:032x}")

    async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        begin = 0 if after < name(0) else number_after(after)
        for number in range(begin, self.count):
            yield self.stat(number)

    async def head(self, path: str) -> Stat:
        if not path.endswith(".parquet"):
            raise NotFound(path)
        return self.stat(int(path[-17:-8]))


def name(number: int) -> str:
    return f"data/part={number // 10_000:05d}/file-{number:09d}.parquet"


def number_after(key: str) -> int:
    """The first object whose name is greater."""
    low, high = 0, 10**9
    while low < high:
        middle = (low + high) // 2
        if name(middle) <= key:
            low = middle + 1
        else:
            high = middle
    return low


async def _run(folder: Path, size: int, first: dict[str, float]) -> list[list[object]]:
    bare_s = _bare(folder / "bare.parquet", size)
    store = NumberedStore(size)
    _inventory(folder / "list.parquet", store)
    changed = NumberedStore(size, _CHANGED)
    _inventory(folder / "changed.parquet", changed)
    open_now: list[NumberedStore] = [store]

    def open_store(url: str) -> Store:
        return LocalStore("/") if url == "file:///" else open_now[0]  # type: ignore[return-value]

    rows: list[list[object]] = []
    begun = process_time()
    async for _ in store.list():
        pass
    rows.append(_row(size, "listing: what the store itself takes", process_time() - begun, bare_s, "", first))
    for what, listed in (("listing", ""), ("inventory", f"file://{folder}/list.parquet")):
        open_now[0] = store
        lake = await Lake.create(LocalStore(str(folder / what), create=True), world=LakeOptions(open_store))
        await lake.create_repository("demo", actor=BENCH)
        repository = await lake.open_repository("demo")
        source = ImportFolder("s3://bucket/data", "data/", listed)
        begun = process_time()
        plan = await for_import(repository, [source])
        gathered = process_time()
        await bring_in(repository, "main", plan, actor=BENCH)
        ended = process_time()
        rows.append(_row(size, f"{what}: files found", gathered - begun, bare_s, "", first))
        rows.append(_row(size, f"{what}: commit", ended - gathered, bare_s, "", first))
        rows.append(_row(size, f"{what}: import", ended - begun, bare_s, "2", first))
        begun = process_time()
        with suppress(NothingToDo):
            await bring_in(repository, "main", await for_ingest(repository, source), actor=BENCH)
        rows.append(_row(size, f"{what}: again, unchanged", process_time() - begun, bare_s, "", first))
        if listed:
            open_now[0] = changed
            repository.outside._stores.clear()  # type: ignore[union-attr]
            source = source._replace(inventory=f"file://{folder}/changed.parquet")
            begun = process_time()
            done = await bring_in(repository, "main", await for_ingest(repository, source), actor=BENCH)
            rows.append(
                _row(size, f"{what}: again, {done.counts.changed:,} changed", process_time() - begun, bare_s, "", first)
            )
        await repository.close()
        await lake.close()
    return rows


def _row(size: int, what: str, seconds: float, bare_s: float, budget: str, first: dict[str, float]) -> list[object]:
    before = first.setdefault(what, seconds)
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [f"{size:,}", what, seconds, bare_s, seconds / bare_s, budget, seconds / before, round(rss)]


def _pieces(store: NumberedStore) -> "list[range]":
    return [range(start, min(start + _PIECE, store.count)) for start in range(0, store.count, _PIECE)]


def _table(store: NumberedStore, numbers: range) -> pa.Table:
    stats = [store.stat(number) for number in numbers]
    return pa.table(
        [
            [stat.path for stat in stats],
            [f"s3://bucket/{stat.path}" for stat in stats],
            [stat.size for stat in stats],
            [stat.etag for stat in stats],
            [int(stat.modified * 1e6) for stat in stats],
        ],
        schema=LIST_SCHEMA,
    )


def _inventory(file: Path, store: NumberedStore) -> None:
    with pq.ParquetWriter(file, LIST_SCHEMA.remove(0).set(0, pa.field("url", pa.string(), nullable=False))) as writer:
        for numbers in _pieces(store):
            writer.write_table(
                _table(store, numbers).drop_columns("path").rename_columns(["url", "size", "etag", "mtime"])
            )


def _bare(file: Path, size: int) -> float:
    """Writes the entries, which are there already."""
    store, taken = NumberedStore(size), 0.0
    with pq.ParquetWriter(file, ENTRY_SCHEMA, **WRITING) as writer:
        for numbers in _pieces(store):
            entries = as_entries(_table(store, numbers))
            begun = process_time()
            writer.write_table(entries, row_group_size=ROW_GROUP)
            taken += process_time() - begun
    return taken
