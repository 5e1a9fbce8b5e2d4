"""Trees against bare Parquet files of the same rows: build, apply, diff, merge; and what a listing and a look-up take.

"warm" has the ranges on the local disk as Arrow files, "cold" fetches, checks and keeps them first. Bare is pyarrow on
the same rows with the same settings, without a sync, a checksum or a name. Copies of what is written are made for the
local disk behind the answer: the clock does not count them, processor time does.
"""

import asyncio
import resource
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event, Thread
from time import perf_counter, process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.sizes import sizes
from bench.table import middle, percentile, show
from lochan.clock import SystemClock
from lochan.formats.entry import ENTRY_SCHEMA, RUN_SCHEMA
from lochan.formats.range import ROW_GROUP, WRITING, RangeRef
from lochan.store.local import LocalStore
from lochan.tree.cache import ArrowCache
from lochan.tree.diff import diff
from lochan.tree.merge import merge
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees

_ROUNDS = 3
_CHANGES = 10_000
_LOOKUPS = 5_000
_numbers = count()


def main() -> None:
    for size in sizes((100_000, 1_000_000)):
        with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
            asyncio.run(_Subject(Path(folder), size).run())


class _Subject:
    def __init__(self, folder: Path, size: int) -> None:
        self.folder = folder
        self.size = size
        self.changes = min(_CHANGES, size // 100)
        self.rows: list[list[object]] = []
        self.seen: list[tuple[str, RangeRef]] = []
        self.made: list[Trees] = []
        self.store = LocalStore(str(folder / "lake"), create=True)
        self.trees = self.fresh("warm")

    def fresh(self, name: str = "") -> Trees:
        """With nothing kept yet."""
        cache = ArrowCache(str(self.folder / (name or f"cold-{next(_numbers)}")), 8 << 30, SystemClock())
        trees = Trees(self.store, "repo", cache=cache, seen=lambda what, ref: self.seen.append((what, ref)))
        self.made.append(trees)
        return trees

    async def run(self) -> None:
        table = entries(self.size)
        base = await self.build(table)
        every = self.size // self.changes
        scattered = np.arange(0, self.size, every)[: self.changes]
        clustered = np.arange(self.size // 3, self.size // 3 + 2 * self.changes, 2)
        for name, rows, beside in (("scattered", scattered, every // 2), ("clustered", clustered, 1)):
            theirs = await self.apply(name, base, changes_at(table, rows))
            ours = await self.trees.apply(base, changes_at(table, rows + beside), 3)
            await self.diff(name, base, theirs)
            await self.merge(name, base, ours, theirs)
        await self.take_over(table, base)
        head = ["", "s", "bare s", "ratio", "of processor time", "budget", "opened", "written", "grew by MiB"]
        show(f"trees, {self.size:,} entries in {len(base.ranges)} ranges, {self.changes:,} changes", head, self.rows)
        await self.reading(base)
        print(f"  peak RSS {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")

    async def build(self, table: pa.Table) -> Tree:
        await self.compare(
            "build", 4, lambda: self.trees.build(table, 1), lambda: write_bare(table, self.folder / "bare.parquet")
        )
        return await self.trees.build(table, 1)

    async def apply(self, name: str, base: Tree, changes: pa.Table) -> Tree:
        after = await self.trees.apply(base, changes, 2)
        new = [await self.table(ref) for ref in after.ranges if ref not in base.ranges]

        def bare() -> None:
            for table in new:
                write_bare(table, self.folder / "bare.parquet")

        await self.compare(f"apply, {name}", 2, lambda: self.trees.apply(base, changes, 2), bare)
        await self.compare(f"apply, {name}, cold", 0, lambda: self.fresh().apply(base, changes, 2), bare, cold=True)
        return after

    async def diff(self, name: str, left: Tree, right: Tree) -> None:
        bare = await self.bare_read(left, right)
        await self.compare(f"diff, {name}", 2, lambda: _consumed(diff(self.trees, left, right)), bare)
        await self.compare(
            f"diff, {name}, cold", 0, lambda: _consumed(diff(self.fresh(), left, right)), bare, cold=True
        )

    async def merge(self, name: str, base: Tree, ours: Tree, theirs: Tree) -> None:
        bare = await self.bare_read(base, ours, theirs)
        await self.compare(f"merge, {name}", 2, lambda: merge(self.trees, base, ours, theirs, mint=4), bare)
        await self.compare(
            f"merge, {name}, cold", 0, lambda: merge(self.fresh(), base, ours, theirs, mint=4), bare, cold=True
        )

    async def take_over(self, table: pa.Table, base: Tree) -> None:
        """Each side rewrites other ranges as a whole."""
        if len(base.ranges) < 4:
            return
        half = base.ranges[len(base.ranges) // 2].min_path
        low = np.arange(0, self.size // 2 - 200_000 if self.size > 500_000 else self.size // 8, 7)
        ours = await self.trees.apply(base, changes_at(table, low), 3)
        high = np.flatnonzero(pc.greater(table["path"], half).to_numpy())[::7]
        theirs = await self.trees.apply(base, changes_at(table, high), 3)
        bare = await self.bare_read(base, ours, theirs)
        await self.compare("merge, whole ranges", 2, lambda: merge(self.trees, base, ours, theirs, mint=4), bare)

    async def reading(self, tree: Tree) -> None:
        paths = [path for ref in tree.ranges for path in (await self.table(ref))["path"][::777].to_pylist()]
        chosen = [paths[index] for index in np.random.default_rng(1).integers(0, len(paths), _LOOKUPS)]
        for path in paths:
            await tree.get(path)
        rows = [await _microseconds("get", lambda index: tree.get(chosen[index]))]
        rows.append(await _microseconds("get, not there", lambda index: tree.get(chosen[index] + "!")))
        for prefix, delimiter, title in (
            ("", "", "list 1,000"),
            ("warehouse/", "", "list 1,000 under a prefix"),
            ("warehouse/", "/", "list common prefixes: days"),
            ("warehouse/", ".parquet", "list 1,000 common prefixes of one path"),
            ("warehouse/", "7.", "list 1,000, some under common prefixes"),
        ):
            page = await tree.list(prefix, "", delimiter)
            what = f"{title} ({len(page.entries):,} entries, {len(page.prefixes):,} prefixes)"
            listing = partial(_list, tree, chosen, prefix, delimiter)
            rows.append(await _microseconds(what, listing, rounds=200))
        show("reading, warm, microseconds", ["", "p50", "p99"], rows)

    async def bare_read(self, *trees: Tree) -> Callable[[], None]:
        """Read the ranges that not all of the trees have."""
        files = await differing_files(self.trees, trees, self.folder / "lake/repo", self.folder / "whole")

        def bare() -> None:
            for file in files:
                pq.read_table(file)

        return bare

    async def table(self, ref: RangeRef) -> pa.Table:
        return pa.Table.from_batches([(await self.trees.ranges.load(ref)).batch])

    async def compare(
        self,
        name: str,
        budget: float,
        work: Callable[[], Awaitable[object]],
        bare: Callable[[], object],
        *,
        cold: bool = False,
    ) -> None:
        if not cold:
            await work()
            await self.settle(Spent(0.0))
        ours, theirs, grown = Spent(), Spent(), 0.0
        for _ in range(_ROUNDS):  # taken in turn, so that a slow moment of the machine hits both
            self.seen.clear()
            with _Memory() as memory, ours:
                await work()
            await self.settle(ours)
            grown = max(grown, memory.grown)
            with theirs:
                bare()
            self.clear_caches()
        verbs = [what for what, _ in self.seen]
        ratios = [middle(ours.wall) / middle(theirs.wall), middle(ours.processor) / middle(theirs.processor)]
        shown = f"{budget} x" if budget else ""
        numbers = [middle(ours.wall), middle(theirs.wall), *ratios, shown, verbs.count("open"), verbs.count("write")]
        self.rows.append([name, *numbers, round(grown)])

    async def settle(self, spent: "Spent") -> None:
        """Count the processor time of what goes on behind the last answer, and let none of it disturb what is next."""
        begun = process_time()
        for trees in self.made:
            await trees.ranges.settled()
        del self.made[1:]  # those that are warm stay
        spent.processor[-1] += process_time() - begun

    def clear_caches(self) -> None:
        for folder in self.folder.glob("cold-*"):
            shutil.rmtree(folder)


class Spent:
    """Seconds by the clock, and seconds of processor time: on a busy machine only the latter can be compared."""

    def __init__(self, *processor: float) -> None:
        self.wall: list[float] = []
        self.processor: list[float] = [*processor]

    def __enter__(self) -> None:
        self._begun = perf_counter(), process_time()

    def __exit__(self, *_: object) -> None:
        self.add(perf_counter() - self._begun[0], process_time() - self._begun[1])

    def add(self, wall: float, processor: float) -> None:
        self.wall.append(wall)
        self.processor.append(processor)


class _Memory:
    """By how many MiB the process grew at most, mapped files included."""

    def __enter__(self) -> "_Memory":
        self._over = Event()
        self._least = self._most = _resident()
        self._thread = Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.grown = (self._most - self._least) / (1 << 20)

    def _watch(self) -> None:
        while not self._over.wait(0.01):
            self._most = max(self._most, _resident())


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


async def _list(tree: Tree, after: Sequence[str], prefix: str, delimiter: str, index: int) -> object:
    return await tree.list(prefix, after[index], delimiter)


async def _consumed(tables: AsyncIterator[pa.Table]) -> int:
    return sum([len(table) async for table in tables])


async def _microseconds(name: str, work: Callable[[int], Awaitable[Any]], rounds: int = _LOOKUPS) -> list[object]:
    taken = []
    for index in range(rounds):
        begun = perf_counter()
        await work(index)
        taken.append((perf_counter() - begun) * 1e6)
    return [name, percentile(taken, 50), percentile(taken, 99)]


async def differing_files(made: Trees, trees: Sequence[Tree], stored: Path, whole: Path) -> list[Path]:
    """Parquet files of the ranges that not all of these trees have. What is stored as a patch is written as a whole
    first: bare is to read ranges, not patches."""
    shared = set.intersection(*({ref.id for ref in tree.ranges} for tree in trees))
    files = []
    for ref in (ref for tree in trees for ref in tree.ranges if ref.id not in shared):
        if ref.base is None:
            files.append(stored / ref.file)
            continue
        files.append(whole / ref.file)
        if not files[-1].exists():
            files[-1].parent.mkdir(parents=True, exist_ok=True)
            write_bare(pa.Table.from_batches([(await made.ranges.load_all(ref)).batch]), files[-1])
    return files


def write_bare(table: pa.Table, file: Path) -> None:
    pq.write_table(table, file, row_group_size=ROW_GROUP, **WRITING)


# --- sample data ----------------------------------------------------------------------------------------------------
def entries(size: int) -> pa.Table:
    """A year of hourly files: one block each, no metadata, as most entries are."""
    random = np.random.default_rng(0)
    numbers = np.arange(size)
    per_day = max(size // 365, 1)
    names = pa.array(
        f"warehouse/events/date=2026-{n // per_day:03d}/hour={n % per_day * 24 // per_day:02d}/part-{n:08d}.parquet"
        for n in numbers.tolist()
    )
    checksums, sizes = _hex(random, size, 32), pa.array(random.integers(100, 1 << 26, size))
    addresses = pa.array([f"data/0000000000000{n // 1000:07d}-2f8a/{n:027x}" for n in numbers.tolist()])
    digests = pa.Array.from_buffers(pa.binary(), size, [None, _ends(size, 32), pa.py_buffer(random.bytes(32 * size))])
    block = ENTRY_SCHEMA.field("blocks").type
    spans = pa.StructArray.from_arrays(
        [addresses, pa.array(np.zeros(size, np.int64)), sizes, digests], fields=list(block.value_type)
    )
    blocks = pa.ListArray.from_arrays(pa.array(np.arange(size + 1, dtype=np.int32)), spans, type=block)
    nothing = pa.array(np.zeros(size + 1, np.int32))
    maps = pa.MapArray.from_arrays(nothing, pa.array([], pa.string()), pa.array([], pa.string()))
    parts = pa.ListArray.from_arrays(nothing, pa.array([], pa.int64()))
    types = pa.array(["application/octet-stream"]).take(pa.array(np.zeros(size, np.int64)))
    times = pa.array(1_790_000_000_000_000 + numbers * 1_000)
    columns = [names, blocks, sizes, checksums, checksums, times, types, maps, parts, maps, maps]
    return pa.table(columns, schema=ENTRY_SCHEMA)


def changes_at(table: pa.Table, rows: npt.NDArray[np.int64]) -> pa.Table:
    """Of ten: eight get other content, one goes, one comes (beside the path)."""
    rows = rows[rows < len(table)]
    picked = table.take(pa.array(rows)).combine_chunks()
    which = np.arange(len(rows)) % 10
    paths = [path + ".new" if at == 9 else path for path, at in zip(picked["path"].to_pylist(), which, strict=True)]
    picked = picked.set_column(0, ENTRY_SCHEMA.field("path"), pa.array(paths))
    picked = picked.set_column(3, ENTRY_SCHEMA.field("checksum"), _hex(np.random.default_rng(len(rows)), len(rows), 32))
    return picked.append_column(RUN_SCHEMA.field("deleted"), pa.array(which == 8))


def _hex(random: np.random.Generator, size: int, digits: int) -> pa.StringArray:
    data = random.bytes(size * digits // 2).hex().encode()
    return pa.Array.from_buffers(pa.string(), size, [None, _ends(size, digits), pa.py_buffer(data)])


def _ends(size: int, each: int) -> pa.Buffer:
    return pa.py_buffer(np.arange(0, (size + 1) * each, each, dtype=np.int32))


if __name__ == "__main__":
    main()
