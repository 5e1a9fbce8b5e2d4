"""Import of files outside the lake against writing their metadata as Parquet: from an inventory, from a listing, and
again when little or nothing has changed, at 1, 4 and 16 times the same size, so that growth shows. `--entries
1000000,4000000,16000000` takes longer.

The files do not exist: a store answers for them out of their numbers, so that the cost of a network is left out, and
nothing but metadata moves. It answers with tables, as the client of a bucket does.

Processor time of all threads is compared, because the machine may be busy. Each size has a process of its own, in
which Arrow takes memory from the C library, as in a command. There bare and import take turns, after a small import
that loads what a process loads once; each figure is the median of `LOCHAN_BENCH_ROUNDS` (3). Bare is pyarrow, which
writes the same entries, as one file and with the options of a range, to memory that is thrown away. For an import by
listing, the bare program lists the same store first. For one from an inventory it reads nothing.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
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
from lochan.store.stat_tables import STAT_SCHEMA
from lochan.versioning.bodies.listed_files import LOCATED_SCHEMA, FileAddresses, as_entries
from lochan.versioning.bodies.outside_files import file_table
from lochan.versioning.heads.imports import ImportFolder, bring_in, for_import, for_ingest
from lochan.without_pandas import arrow_without_pandas

BENCH = Actor("bench", "bench", "here")
_PIECE = 100_000
_PAGE = 10_000
_CHANGED_SHARE = 100  # one file in so many


_WARM = 20_000
_ROUNDS = int(os.environ.get("LOCHAN_BENCH_ROUNDS", "3"))
_LIST, _WRITE = "bare: the store lists", "bare: entries are written as Parquet"
LISTING, INVENTORY = "listing", "inventory"
_IMPORT = ": import"
_JUDGED = 1_000_000  # files; in smaller imports, much is what a process does once


def main() -> None:
    rows: list[list[object]] = []
    first: dict[str, float] = {}
    for size in sizes((62_500, 250_000, 1_000_000)):
        rounds, peak_mib = _measured(size)
        for what in rounds[0]:
            rows.append([*_row(size, what, rounds, first), peak_mib])
    head = ["files", "", "processor s", "bare s", "ratio", "budget", "times the first", "peak RSS MiB"]
    show(f"import of files outside the lake, median of {_ROUNDS}", head, rows)
    for what, grown in _growth(rows).items():
        print(f"  processor time of {what} grows by {', '.join(grown)}")


def _growth(rows: Sequence[Sequence[Any]]) -> dict[str, list[str]]:
    """Of whole imports, how many times the files take how many times as long."""
    found: dict[str, list[str]] = {}
    files = [int(row[0].replace(",", "")) for row in rows]
    for size, (_, what, *_, grown, _) in zip(files, rows, strict=True):
        if what.endswith(_IMPORT):
            found.setdefault(what, []).append(f"{size / files[0]:g}x: {grown:.1f}")
    return found


def _measured(size: int) -> tuple[list[dict[str, float]], int]:
    command = [sys.executable, "-m", "bench.imports", str(size)]
    made = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    )
    if made.returncode:
        sys.exit(made.stderr)
    rounds, peak_mib = json.loads(made.stdout)
    return rounds, peak_mib


def measure(size: int) -> None:
    """The rounds of one size, in this process, and its largest size."""
    arrow_without_pandas()  # as in every process of ours
    asyncio.run(_round(_WARM))
    rounds = [asyncio.run(_round(size)) for _ in range(_ROUNDS)]
    print(json.dumps([rounds, round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)]))


def _row(size: int, what: str, rounds: list[dict[str, float]], first: dict[str, float]) -> list[object]:
    bare = (_LIST, _WRITE) if what.startswith(LISTING) else (_WRITE,)
    bare_s = median(sum(each[name] for name in bare) for each in rounds)
    seconds = median(each[what] for each in rounds)
    ratio = median(each[what] / sum(each[name] for name in bare) for each in rounds)
    budget = "2" if what.endswith(_IMPORT) and size >= _JUDGED else ""
    return [f"{size:,}", what, seconds, bare_s, ratio, budget, seconds / first.setdefault(what, seconds)]


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

    async def list_tables(self, prefix: str = "", after: str = "") -> AsyncIterator[pa.Table]:
        begin = 0 if after < name(0) else number_after(after)
        for start in range(begin, self.count, _PAGE):
            yield self.stats(np.arange(start, min(start + _PAGE, self.count)))

    def stats(self, numbers: npt.NDArray[np.int64]) -> pa.Table:
        """What `stat` says of each, without an object for each."""
        versions = numbers % self._every == 0 if self._every else np.zeros(len(numbers), np.bool_)
        parts = {"data/part=": (numbers // 10_000, 5, 10), "/file-": (numbers, 9, 10), ".parquet": None}
        columns = [
            _texts(parts),
            pa.array(1_000 + numbers % 9_000),
            pa.array(np.full(len(numbers), 1_763_000_000_000_000)),
            _texts({"": (numbers * 7_919 + versions, 32, 16)}),
        ]
        return pa.table(columns, schema=STAT_SCHEMA)

    async def head(self, path: str) -> Stat:
        if not path.endswith(".parquet"):
            raise NotFound(path)
        return self.stat(int(path[-17:-8]))


def name(number: int) -> str:
    return f"data/part={number // 10_000:05d}/file-{number:09d}.parquet"


def _texts(parts: dict[str, tuple[npt.NDArray[np.int64], int, int] | None]) -> pa.StringArray:
    """Each part is a text that is the same everywhere, and behind it a number, with so many digits to that base."""
    letters = np.frombuffer(b"0123456789abcdef", np.uint8)
    count = max(len(each[0]) for each in parts.values() if each)
    pieces: list[npt.NDArray[np.uint8]] = []
    for text, each in parts.items():
        pieces.append(np.broadcast_to(np.frombuffer(text.encode(), np.uint8), (count, len(text))))
        if each is not None:
            left, digits = each[0].copy(), np.zeros((count, each[1]), np.uint8)
            for at in reversed(range(each[1])):
                if not left.any():
                    break
                left, digits[:, at] = left // each[2], left % each[2]
            pieces.append(letters[digits])
    rows = np.concatenate(pieces, axis=1)
    ends = np.arange(count + 1, dtype=np.int32) * rows.shape[1]
    return pa.StringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(rows))


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


async def _round(size: int) -> dict[str, float]:
    """Seconds of each, in a lake of its own."""
    taken: dict[str, float] = {}
    store, changed = NumberedStore(size), NumberedStore(size, size // _CHANGED_SHARE)
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
        begun = process_time()
        async for _ in store.list_tables():
            pass
        taken[_LIST] = process_time() - begun
        taken[_WRITE] = _bare(store)
        lists = [Path(folder, "list.parquet"), Path(folder, "changed.parquet")]
        for file, listed in zip(lists, (store, changed), strict=True):
            _inventory(file, listed)
        for what in (LISTING, INVENTORY):
            taken |= await _imports(Path(folder, what), what, store, changed, lists)
    return taken


async def _imports(
    folder: Path, what: str, store: NumberedStore, changed: NumberedStore, lists: list[Path]
) -> dict[str, float]:
    open_now = [store]

    def open_store(url: str) -> Store:
        return LocalStore("/") if url == "file:///" else open_now[0]  # type: ignore[return-value]

    lake = await Lake.create(LocalStore(str(folder), create=True), world=LakeOptions(open_store))
    await lake.create_repository("demo", actor=BENCH)
    repository = await lake.open_repository("demo")
    first, second = (f"file://{file}" if what == INVENTORY else "" for file in lists)
    source = ImportFolder("s3://bucket/data", "data/", first)
    times = [process_time()]
    plan = await for_import(repository, [source])
    times.append(process_time())
    await bring_in(repository, "main", plan, actor=BENCH)
    times.append(process_time())
    try:
        await bring_in(repository, "main", await for_ingest(repository, source), actor=BENCH)
        raise AssertionError("nothing has changed")
    except NothingToDo:
        times.append(process_time())
    open_now[0] = changed
    repository.outside._stores.clear()  # type: ignore[union-attr]
    gathered = await for_ingest(repository, source._replace(inventory=second))
    done = await bring_in(repository, "main", gathered, actor=BENCH)
    times.append(process_time())
    assert done.counts.changed == store.count // _CHANGED_SHARE, done.counts
    await repository.close()
    await lake.close()
    begun, found, ended, again, last = times
    return {
        f"{what}: files found": found - begun,
        f"{what}: commit": ended - found,
        f"{what}{_IMPORT}": ended - begun,
        f"{what}: again, unchanged": again - ended,
        f"{what}: again, some changed": last - again,
    }


def _pieces(store: NumberedStore) -> "list[range]":
    return [range(start, min(start + _PIECE, store.count)) for start in range(0, store.count, _PIECE)]


def _table(store: NumberedStore, numbers: range) -> pa.Table:
    files = file_table(store.stats(np.arange(numbers.start, numbers.stop)), "data/", "data/")
    return FileAddresses("s3://bucket", "data/", "data/").located(files)


def _inventory(file: Path, store: NumberedStore) -> None:
    with pq.ParquetWriter(
        file, LOCATED_SCHEMA.remove(0).set(0, pa.field("url", pa.string(), nullable=False))
    ) as writer:
        for numbers in _pieces(store):
            writer.write_table(
                _table(store, numbers).drop_columns("path").rename_columns(["url", "size", "etag", "mtime"])
            )


def _bare(store: NumberedStore) -> float:
    """Writes the entries, which are there already."""
    taken, sink = 0.0, pa.BufferOutputStream()
    with pq.ParquetWriter(sink, ENTRY_SCHEMA, **WRITING) as writer:
        for numbers in _pieces(store):
            entries = as_entries(_table(store, numbers))
            begun = process_time()
            writer.write_table(entries, row_group_size=ROW_GROUP)
            taken += process_time() - begun
    return taken


if __name__ == "__main__":
    measure(int(sys.argv[1]))
