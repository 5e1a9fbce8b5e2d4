"""Reads and compacts staged changes: a million of them, in runs, over nothing or over a base of a million."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bench.places import CLOCK, IDS
from bench.sizes import sizes
from bench.table import middle, show
from lochan.formats import run
from lochan.formats.entry import ENTRY_SCHEMA, RUN_SCHEMA, Entry, Tombstone
from lochan.staging.compaction import CompactionPlan, CompactionResult, compact
from lochan.staging.layers import EMPTY, DumpedLayers, Layers, load
from lochan.staging.runs import Runs
from lochan.staging.sources import EmptyBase, ViewBase
from lochan.staging.view import View
from lochan.store.memory import MemoryStore
from lochan.tree.cache import ArrowCache

(_COUNT,) = sizes([1_000_000])
_FOLDER = 1_000  # files in each
_PAGE = 1_000
_ROUNDS = 21
_RANGE = 50_000


def main() -> None:
    asyncio.run(_main())


async def _main() -> None:
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
        # As in a server: runs are read once and then mapped from the local disk.
        one, sixteen = await _measure(_runs(folder))
        rows = [
            (name, _resident(folder, layers)) for name, layers in (("nothing", EMPTY), ("L2", one), ("16 L1", sixteen))
        ]
    show("memory of a process that lists and looks up, runs mapped from the local disk", ("staged", "MiB"), rows)


def _runs(folder: str) -> Runs:
    return Runs(MemoryStore(), "bench", CLOCK, IDS, disk=ArrowCache(folder, 8 << 30, CLOCK))


async def _measure(runs: Runs) -> tuple[Layers, Layers]:
    puts, tombstones = _changes(deleted=False), _changes(deleted=True)
    one = EMPTY.append(*await runs.write_cut(puts, 2, 1))
    sixteen = EMPTY.append(*[await runs.write(_share(puts, part, 16), 1, 1) for part in range(16)])
    buried = one.append(await runs.write(tombstones, 1, 1))
    behind = one.append(await runs.write(_first(tombstones, _COUNT - 2 * _PAGE), 1, 1))
    uneven = one.append(await runs.write(_most(tombstones), 1, 1))
    await _lists(runs, {"one L2 run": one, "16 L1 runs, interleaved": sixteen})
    await _tombstones(
        runs, tombstones, puts, {"same keys": (behind, EmptyBase()), "9 of 10 keys": (uneven, EmptyBase())}
    )
    await _gets(runs, {"one L2 run": one, "16 L1 runs": sixteen, "L1 tombstones over L2": buried})
    await _merges(runs, puts, sixteen, buried)
    return one, sixteen


async def _lists(runs: Runs, stagings: dict[str, Layers]) -> None:
    rows = []
    for name, layers in stagings.items():
        view = View(layers, EmptyBase(), runs)
        for what, query in {
            "flat, from the middle": {"after": _path(_COUNT // 2)},
            "folder of 1,000 files, with delimiter": {"prefix": _path(0)[: _path(0).rindex("/") + 1], "delimiter": "/"},
            "1,000 folders, with delimiter": {"prefix": "tables/", "delimiter": "/"},
        }.items():
            page = await view.list(limit=_PAGE, **query)
            found = len(page.entries) + len(page.prefixes)
            rows.append((f"{name}: {what}", found, 1e3 * await _p50(partial(view.list, limit=_PAGE, **query))))
    show("list a page of 1,000 of 1,000,000 staged", ("", "items", "p50 ms"), rows)


async def _tombstones(
    runs: Runs, tombstones: pa.Table, puts: pa.Table, over: dict[str, tuple[Layers, ViewBase]]
) -> None:
    alone = EMPTY.append(await runs.write(_first(tombstones, _COUNT - 2 * _PAGE), 1, 1))
    over = {**over, "over a base": (alone, _Base(puts)), "over nothing": (alone, EmptyBase())}
    rows = []
    for name, (layers, base) in over.items():
        view = View(layers, base, runs)
        for delimiter in ("", "/", "p"):
            view.cost.rows = 0
            page = await view.list(delimiter=delimiter, limit=_PAGE)
            found, compared = len(page.entries) + len(page.prefixes), view.cost.rows
            p50 = await _p50(partial(view.list, delimiter=delimiter, limit=_PAGE), 5)
            rows.append((f"{name}, delimiter {delimiter!r}", found, compared, 1e3 * p50))
    show("the first page behind 998,000 tombstones", ("", "items", "rows", "p50 ms"), rows)


async def _gets(runs: Runs, stagings: dict[str, Layers]) -> None:
    rng = np.random.default_rng(1)
    rows = []
    for name, layers in stagings.items():
        view = View(layers, EmptyBase(), runs)
        there = [_path(int(at)) for at in rng.integers(0, _COUNT, 2_000)]
        absent = [f"{path}x" for path in there]
        await _each(view, there[:100])  # opens the runs
        rows.append((name, 1e6 * await _each(view, there), 1e6 * await _each(view, absent)))
    show("look up one path of 1,000,000 staged", ("", "there us", "absent us"), rows)


async def _merges(runs: Runs, puts: pa.Table, sixteen: Layers, over: Layers) -> None:
    view = View(sixteen, EmptyBase(), runs)
    data = b""

    async def encode() -> None:
        nonlocal data
        data = run.encode(puts)

    async def decode() -> None:
        run.decode(data, "it")

    async def head_has(paths: pa.StringArray) -> npt.NDArray[np.bool_]:
        return np.zeros(len(paths), np.bool_)

    plain = await _p50(encode, 3)
    works: dict[str, Callable[[], Awaitable[object]]] = {
        "read it back, checked": decode,
        "merge 16 interleaved runs into one table": view.changes,
        "compact 16 L1 runs": lambda: _compacted(compact(CompactionPlan(sixteen.layers, 2), sixteen, runs, head_has)),
        "compact a run of as many tombstones over them": lambda: _compacted(
            compact(CompactionPlan(over.layers, 2), over, runs, head_has)
        ),
    }
    rows: list[tuple[str, float, float]] = [("write it as one run", plain, 1.0)]
    for name, work in works.items():
        taken = await _p50(work, 3)
        rows.append((name, taken, taken / plain))
    show("1,000,000 staged changes", ("", "seconds", "of writing them"), rows)


async def _compacted(compacted: CompactionResult) -> int:
    return sum([len(table) async for table in compacted.changes()])


# --- measuring ------------------------------------------------------------------------------------------------------
async def _p50(work: Callable[[], Awaitable[object]], rounds: int = _ROUNDS) -> float:
    taken = []
    for _ in range(rounds):
        begun = perf_counter()
        await work()
        taken.append(perf_counter() - begun)
    return middle(taken)


async def _each(view: View, paths: list[str]) -> float:
    begun = perf_counter()
    for path in paths:
        await view.get(path)
    return (perf_counter() - begun) / len(paths)


def _resident(folder: str, layers: Layers) -> float:
    """In MiB, of a process that begins with nothing in memory."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak, (folder, msgspec.msgpack.encode(layers.dump())))


def _peak(folder: str, dumped: bytes) -> float:
    async def read() -> None:
        view = View(load(msgspec.msgpack.decode(dumped, type=DumpedLayers)), EmptyBase(), _runs(folder))
        after: str | None = ""
        for _ in range(20):
            after = (await view.list(after=after or "", limit=_PAGE)).next
        await view.list("tables/", delimiter="/", limit=_PAGE)
        await _each(view, [_path(at) for at in range(0, _COUNT, 1_000)])

    asyncio.run(read())
    # getrusage would tell of the parent too: its peak is handed on to a child.
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


# --- data -----------------------------------------------------------------------------------------------------------
class _Base:
    def __init__(self, changes: pa.Table) -> None:
        self._batches = changes.select(ENTRY_SCHEMA.names).to_batches(max_chunksize=_RANGE)

    async def get(self, path: str) -> Entry | None:
        return None

    async def scan(self, prefix: str = "", after: str = "") -> AsyncIterator[pa.RecordBatch]:
        for batch in self._batches:
            if batch.column("path")[-1].as_py() > after:
                yield batch


def _path(at: int) -> str:
    return f"tables/{at // _FOLDER:04d}/part-{at:08d}-{at * 2654435761 % (1 << 32):08x}.parquet"


def _changes(deleted: bool) -> pa.Table:
    """Paths of about 50 bytes; checksums and addresses as random as they are in life."""
    paths = pa.array(map(_path, range(_COUNT)), pa.string())
    rng = np.random.default_rng(7)
    digits = rng.integers(0, 16, (_COUNT, 32), dtype=np.uint8)
    checksums = np.frombuffer(b"0123456789abcdef", np.uint8)[digits].tobytes().decode()
    texts = pa.array((checksums[at : at + 32] for at in range(0, len(checksums), 32)), pa.string())
    ends = pa.array(np.arange(_COUNT + 1), pa.int32())
    nones = pa.array(np.zeros(_COUNT + 1), pa.int32())
    blocks = pa.StructArray.from_arrays(
        [
            pc.binary_join_element_wise("data/12-w", texts, "/"),
            pa.array(np.zeros(_COUNT, np.int64)),
            pa.array(np.full(_COUNT, 1024)),
            texts.cast(pa.binary()),
        ],
        fields=list(RUN_SCHEMA.field("blocks").type.value_type),
    )
    empty_map = pa.MapArray.from_arrays(nones, pa.array([], pa.string()), pa.array([], pa.string()))
    table = pa.table(
        [
            paths,
            pa.ListArray.from_arrays(ends, blocks, type=RUN_SCHEMA.field("blocks").type),
            pa.array(rng.integers(0, 1 << 30, _COUNT)),
            texts,
            texts,
            pa.array(1_700_000_000_000_000 + rng.integers(0, 1 << 40, _COUNT)),
            pa.array(["application/octet-stream"] * _COUNT),
            empty_map,
            pa.ListArray.from_arrays(nones, pa.array([], pa.int64()), type=RUN_SCHEMA.field("parts").type),
            empty_map,
            empty_map,
            pa.array(np.zeros(_COUNT, np.bool_)),
        ],
        schema=RUN_SCHEMA,
    )
    return table if not deleted else _buried(table)


def _buried(table: pa.Table) -> pa.Table:
    """Tombstones at the same paths."""
    one = run.changes_table([Tombstone("x")])
    rows = pa.array(np.zeros(len(table), np.int64))
    return one.take(rows).combine_chunks().set_column(0, RUN_SCHEMA.field("path"), table["path"])


def _share(table: pa.Table, part: int, parts: int) -> pa.Table:
    return table.take(pa.array(np.arange(part, len(table), parts)))


def _first(table: pa.Table, count: int) -> pa.Table:
    return table.slice(0, count)


def _most(table: pa.Table) -> pa.Table:
    """Nine of ten, up to the last two thousand."""
    rows = np.arange(_COUNT - 2 * _PAGE)
    return table.take(pa.array(rows[rows % 10 != 0]))


if __name__ == "__main__":
    main()
