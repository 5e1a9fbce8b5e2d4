"""The whole stack on a local disk: stage, commit, diff, merge and list through an open repository, journal and all.

Bare is pyarrow on the same rows with the same settings, without a sync, a checksum or a name. The repository has a
local cache, as a server's has, and what was just written or read is in it; memory is taken in processes of their own.
Copies for that cache are made behind the answer: the clock does not count them, processor time does, and what comes
next is only begun when they are made.
"""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.bare_response import granian
from bench.places import ACTOR, CLOCK
from bench.sizes import sizes
from bench.table import middle, percentile, show
from bench.tree import Spent, changes_at, differing_files, entries, write_bare
from lochan.formats.entry import ENTRY_SCHEMA, RUN_SCHEMA, Tombstone
from lochan.formats.range import RangeRef
from lochan.formats.repository_events import RunsStaged
from lochan.formats.run import changes_table
from lochan.lake import Lake
from lochan.staging.compaction import LIMITS
from lochan.staging.listing import ViewPage
from lochan.staging.runs import Runs
from lochan.store.local import LocalStore
from lochan.tree import diff as trees_diff
from lochan.tree.cache import ArrowCache
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees
from lochan.versioning import branches, objects
from lochan.versioning.heads import moves as head_moves
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions import diff as diff_module
from lochan.versioning.upkeep import compact, cover

_ROUNDS = 3
_PAGES = 101
_PAGE = 1_000
_CHANGES = 10_000
_CACHE_BYTES = 32 << 30
_MIB = 1 << 20
# As how many runs, what is done to them, with a local cache or not.
_SCATTERED = (
    (16, "commit", False),
    (16, "commit", True),
    (16, "commit a part", False),
    (16, "compact", False),
    (16, "compact", True),
    (100, "commit", False),
    (100, "commit", True),
    (100, "compact", False),
)
T = TypeVar("T")
_names = (f"b{number}" for number in count())


def main() -> None:
    for size in sizes((100_000, 1_000_000)):
        with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
            _Subject(Path(folder), size).run()


class _Subject:
    def __init__(self, folder: Path, size: int) -> None:
        self.folder = folder
        self.size = size
        self.changes = min(_CHANGES, size // 100)
        self.seen: list[tuple[str, RangeRef]] = []
        self.rows: list[list[object]] = []

    def run(self) -> None:
        names = asyncio.run(self.stage())
        self.commit_all(names)
        self.commit_scattered()
        asyncio.run(self.change(names[0]))
        head = ["", "s", "bare s", "ratio", "of processor time", "budget", "opened", "written"]
        show(f"whole stack, {self.size:,} entries, {self.changes:,} changes, local disk", head, self.rows)
        asyncio.run(self.pages(names[0]))

    # --- a million at once -------------------------------------------------------------------------------------------
    async def stage(self) -> list[str]:
        """The same prepared table on a branch for each round, as a smart client stages it."""
        store = LocalStore(str(self.folder / "lake"), create=True)
        lake = await Lake.create(store)
        await lake.create_repository("demo-repo", actor=ACTOR)
        await lake.close()
        table = puts(entries(self.size))
        ours, bare, names = Spent(), Spent(), []
        async with _Opened(self.folder) as repository:
            for _ in range(_ROUNDS + 1):
                names.append(await _branch(repository, "main"))
                with ours:
                    await stage(repository, names[-1], table)
                with bare:
                    write_bare(table, self.folder / "bare.parquet")
        self.add(f"stage {self.size:,} as prepared runs", 0, ours, bare)
        return names

    def commit_all(self, names: Sequence[str]) -> None:
        """Each commit in a process of its own; the first leaves its ranges in the cache for what follows."""
        rows: list[list[object]] = []
        for title, cached in (("without a local cache", False), ("with a local cache", True)):
            found = [_apart(_work_on_staged, self.folder, name, "commit", cached) for name in names[cached * 2 :][:2]]
            ours, bare = Spent(), Spent()
            for each in found:
                ours.add(each.wall, each.processor)
                bare.add(each.bare_wall, each.bare_processor)
            self.add(f"commit {self.size:,} staged, {title}", 2.5, ours, bare)
            rows.append([title, *(max(each[at] for each in found) for at in (4, 5))])
        rows.append(["only opened, nothing done", *_apart(_idle, self.folder)])
        show(f"commit {self.size:,} staged: memory of the process, MiB", ["", "before", "at most"], rows)

    def commit_scattered(self) -> None:
        """What was staged little by little, all of it all over the tree: every run has to be read at once."""
        rows: list[list[object]] = []
        for runs, what, cached in _SCATTERED:
            name = asyncio.run(self.stage_scattered(runs))
            found = _apart(_work_on_staged, self.folder, name, what, cached)
            title = f"{what}, {runs} runs, {'with' if cached else 'without'} a local cache"
            ratios = found.wall / found.bare_wall, found.processor / found.bare_processor
            rows.append([title, found.before_mib, found.peak_mib, found.wall, found.bare_wall, *ratios])
        head = ["", "before MiB", "at most", "s", "bare s", "ratio", "of processor time"]
        show(f"{self.size:,} staged as runs that interleave", head, rows)

    async def stage_scattered(self, runs: int) -> str:
        table = puts(entries(self.size))
        async with _Opened(self.folder, cached=False) as repository:
            name = await _branch(repository, "main")
            for part in range(runs):
                await stage(repository, name, table.take(pa.array(np.arange(part, self.size, runs))).combine_chunks())
        return name

    # --- a few over a million ----------------------------------------------------------------------------------------
    async def change(self, base: str) -> None:
        async with _Opened(self.folder, self.seen) as repository:
            table = entries(self.size)
            every = self.size // self.changes
            scattered = np.arange(0, self.size, every)[: self.changes]
            clustered = np.arange(self.size // 3, self.size // 3 + 2 * self.changes, 2)
            await self.warm(repository, base)
            for title, rows, beside in (("scattered", scattered, every // 2), ("clustered", clustered, 1)):
                theirs = await self.commit_some(repository, base, title, table, rows)
                ours = await _committed(repository, base, changes_at(table, rows + beside))
                await self.diff(repository, base, theirs, title)
                await self.merge(repository, base, ours, theirs, title)
            await self.take_over(repository, base, table)
            await self.merge(repository, base, base, theirs, "only one side changed")

    async def warm(self, repository: OpenRepository, name: str) -> None:
        async for _ in (await _tree(repository, name)).scan():
            pass

    async def commit_some(
        self, repository: OpenRepository, base: str, title: str, table: pa.Table, rows: npt.NDArray[np.int64]
    ) -> str:
        ours, bare, name = Spent(), Spent(), ""
        for _ in range(_ROUNDS):
            name = await _branch(repository, base)
            await stage(repository, name, changes_at(table, rows))
            self.seen.clear()
            with ours:
                await commit(repository, name, CommitRequest("changes"), actor=ACTOR)
            await _settle(repository, ours)
            opened, written = self.verbs()
            touched = await _new_ranges(repository, base, name)
            with bare:
                for each in touched:
                    write_bare(each, self.folder / "bare.parquet")
        self.add(f"commit {self.changes:,}, {title}", 1.3, ours, bare, opened, written)
        return name

    async def diff(self, repository: OpenRepository, left: str, right: str, title: str) -> None:
        files = await self.files(repository, left, right)
        tables, values, bare = Spent(), Spent(), Spent()
        opened = written = 0
        for _ in range(_ROUNDS):
            self.seen.clear()
            with tables:
                trees = await _tree(repository, left), await _tree(repository, right)
                _ = [len(table) async for table in trees_diff.diff(repository.trees, *trees)]
            opened, written = self.verbs()
            with values:
                _ = [each async for each in diff_module.diff(repository, left, right)]
            with bare:
                _read(files)
        self.add(f"diff, {title}", 1.0, tables, bare, opened, written)
        self.add(f"diff, {title}, a Python value for each", 0, values, bare, opened, written)

    async def merge(self, repository: OpenRepository, base: str, ours: str, theirs: str, title: str) -> None:
        files = await self.files(repository, base, ours, theirs)
        spent, bare = Spent(), Spent()
        opened = written = 0
        for _ in range(_ROUNDS):
            target = await _branch(repository, ours)
            self.seen.clear()
            with spent:
                await head_moves.merge(repository, theirs, target, actor=ACTOR)
            await _settle(repository, spent)
            opened, written = self.verbs()
            with bare:
                _read(files)
        self.add(f"merge, {title}", 1.5, spent, bare, opened, written)

    async def take_over(self, repository: OpenRepository, base: str, table: pa.Table) -> None:
        """Each side changes other ranges: nothing needs to be opened."""
        ranges = (await _tree(repository, base)).ranges
        if len(ranges) < 4:
            return
        paths = table["path"]
        low = np.flatnonzero(pc.less(paths, ranges[len(ranges) // 2 - 1].min_path).to_numpy())[::7]
        high = np.flatnonzero(pc.greater(paths, ranges[len(ranges) // 2 + 1].min_path).to_numpy())[::7]
        ours = await _committed(repository, base, changes_at(table, low))
        theirs = await _committed(repository, base, changes_at(table, high))
        await self.merge(repository, base, ours, theirs, "whole ranges")

    # --- listing -----------------------------------------------------------------------------------------------------
    async def pages(self, committed: str) -> None:
        async with _Opened(self.folder, self.seen) as repository:
            await self.warm(repository, committed)
            staged = await _branch(repository, "main")
            table = puts(entries(self.size))
            await stage(repository, staged, table)
            with granian() as bare:
                pages = [
                    await _page(repository, f"{title}, {what}", ref, query)
                    for title, ref in (("committed", committed), ("staged", staged))
                    for what, query in _queries(table).items()
                ]
                rows = [_beside(page, bare.p50_ms(page.bytes)) for page in pages]
            head = ["", "items", "p50 ms", "p99 ms", "answer p50 ms", "its KB", "bare p50 ms", "all x bare", "budget"]
            show(f"list 1,000 of {self.size:,}; bare is a Granian response of as many bytes", head, rows)
            await self.tombstones(repository, committed, table)

    async def tombstones(self, repository: OpenRepository, base: str, table: pa.Table) -> None:
        gone = table.slice(0, len(table) - 2 * _PAGE)
        buried = await _branch(repository, base)
        await stage(repository, buried, _buried(gone))
        behind, rows = gone["path"][-1].as_py(), []
        for delimiter in ("", ".parquet"):
            found, plain = await _in_turn(repository, (buried, ""), (base, behind), delimiter, 5)
            rows.append([f"merged with the base, delimiter {delimiter!r}", found, plain, found / plain])
        begun = perf_counter()
        assert await cover(repository, buried)
        taken = perf_counter() - begun
        for delimiter in ("", ".parquet"):
            found, plain = await _in_turn(repository, (buried, ""), (base, behind), delimiter, _PAGES)
            rows.append([f"by the tree over them, delimiter {delimiter!r}", found, plain, found / plain])
        title = f"the first page behind {len(gone):,} tombstones over as many committed; the tree takes {taken:.2f} s"
        show(title, ["", "p50 ms", "the same page without them", "ratio"], rows)

    # --- counting ----------------------------------------------------------------------------------------------------
    def add(
        self, title: str, budget: float, ours: Spent, bare: Spent, opened: object = "", written: object = ""
    ) -> None:
        shown = f"{budget} x" if budget else ""
        walls, processors = (middle(ours.wall), middle(bare.wall)), (middle(ours.processor), middle(bare.processor))
        ratios = [walls[0] / walls[1], processors[0] / processors[1]]
        self.rows.append([title, *walls, *ratios, shown, opened, written])

    def verbs(self) -> tuple[int, int]:
        told = [what for what, _ in self.seen]
        return told.count("open"), told.count("write")

    async def files(self, repository: OpenRepository, *names: str) -> list[Path]:
        """The range files that not all of these have."""
        trees = [await _tree(repository, name) for name in names]
        stored = self.folder / "lake" / repository.repository.id
        apart = Trees(repository.store, repository.repository.id)  # its own, so that nothing gets warm
        return await differing_files(apart, trees, stored, self.folder / "whole")


class _Opened:
    """The repository of the folder's lake, with a local cache unless told otherwise."""

    def __init__(self, folder: Path, seen: list[tuple[str, RangeRef]] | None = None, *, cached: bool = True) -> None:
        self._folder = folder
        self._seen = seen
        self._cached = cached

    async def __aenter__(self) -> OpenRepository:
        store = LocalStore(str(self._folder / "lake"))
        self._lake = await Lake.open(store)
        self._repository = repository = await self._lake.open_repository("demo-repo")
        repository.staged = lambda branch: None  # what upkeep does is measured by itself
        if self._cached:
            seen, id = self._seen, repository.repository.id
            cache = ArrowCache(str(self._folder / "cache"), _CACHE_BYTES, CLOCK)
            tell = None if seen is None else lambda what, ref: seen.append((what, ref))
            repository.trees = Trees(store, id, cache=cache, seen=tell)
            threads = repository.trees.threads
            repository.runs = Runs(store, id, CLOCK, repository.ids, threads=threads, disk=cache)
        return repository

    async def __aexit__(self, *_: object) -> None:
        await self._repository.close()
        await self._lake.close()


# --- in a process of its own -----------------------------------------------------------------------------------------
class _Committed(NamedTuple):
    wall: float
    processor: float
    bare_wall: float
    bare_processor: float
    before_mib: float
    peak_mib: float


def _apart(work: Callable[..., T], *arguments: object) -> T:
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def _work_on_staged(folder: Path, name: str, what: str, cached: bool) -> _Committed:
    ours, bare = Spent(), Spent()

    async def work() -> tuple[float, float]:
        async with _Opened(folder, cached=cached) as repository:
            refs, _ = await repository.refs()
            files = [repository.repository.id + "/" + run.file for run in refs.branch(name).layers.runs]
            pa.array([0])  # where pandas is installed, pyarrow's first array imports it: 0.3 s that are no commit's
            before = _memory("VmRSS")
            with ours:
                await _WORKS[what](repository, name)
            await _settle(repository, ours)
            after = _memory("VmHWM")
        table = pa.concat_tables([pq.read_table(folder / "lake" / file) for file in files]).select(ENTRY_SCHEMA.names)
        with bare:
            write_bare(table, folder / "bare.parquet")
        return before, after

    before, after = asyncio.run(work())
    return _Committed(ours.wall[0], ours.processor[0], bare.wall[0], bare.processor[0], before, after)


async def _commit_all(repository: OpenRepository, name: str) -> None:
    await commit(repository, name, CommitRequest("all of it"), actor=ACTOR)


async def _commit_part(repository: OpenRepository, name: str) -> None:
    """Ten hours of each day; the rest is written again as what stays staged."""
    await commit(repository, name, CommitRequest("a part", paths=["**/hour=1*/**"]), actor=ACTOR)


async def _compact(repository: OpenRepository, name: str) -> None:
    assert await compact(repository, name, LIMITS._replace(runs=1))


_WORKS = {"commit": _commit_all, "commit a part": _commit_part, "compact": _compact}


def _idle(folder: Path) -> tuple[float, float]:
    async def work() -> tuple[float, float]:
        async with _Opened(folder) as repository:
            await repository.refs()
            return _memory("VmRSS"), _memory("VmHWM")

    return asyncio.run(work())


def _memory(what: str) -> float:
    """In MiB. getrusage would tell of the parent too: its peak is handed on to a child."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[what].split()[0]) * 1024 / _MIB


# --- steps -----------------------------------------------------------------------------------------------------------
async def _settle(repository: OpenRepository, spent: Spent) -> None:
    """Count the processor time of what goes on behind the last answer, and let nothing of it disturb what is next."""
    begun = process_time()
    await repository.trees.ranges.settled()
    spent.processor[-1] += process_time() - begun


async def _branch(repository: OpenRepository, source: str) -> str:
    name = next(_names)
    await branches.create_branch(repository, name, source, actor=ACTOR)
    return name


async def stage(repository: OpenRepository, name: str, changes: pa.Table) -> None:
    _, mint = await repository.refs()
    await repository.submit(ACTOR, RunsStaged(name, await repository.runs.adopt(changes, mint)))


async def _committed(repository: OpenRepository, base: str, changes: pa.Table) -> str:
    name = await _branch(repository, base)
    await stage(repository, name, changes)
    await commit(repository, name, CommitRequest("changes"), actor=ACTOR)
    await repository.trees.ranges.settled()
    return name


async def _tree(repository: OpenRepository, name: str) -> Tree:
    return await repository.tree((await repository.resolve(name)).commit)


async def _new_ranges(repository: OpenRepository, before: str, after: str) -> list[pa.Table]:
    old = set((await _tree(repository, before)).ranges)
    new = [ref for ref in (await _tree(repository, after)).ranges if ref not in old]
    return [pa.Table.from_batches([(await repository.trees.ranges.load_all(ref)).batch]) for ref in new]


class _Page(NamedTuple):
    title: str
    items: int
    bytes: int  # of the answer
    p50_ms: float  # as values
    p99_ms: float
    answer_ms: float  # as columns, and encoded


async def _page(repository: OpenRepository, title: str, ref: str, query: dict[str, str], rounds: int = _PAGES) -> _Page:
    work: Callable[[], Awaitable[ViewPage]] = partial(objects.list_objects, repository, ref, limit=_PAGE, **query)
    page, answer = await work(), await _answer(repository, ref, query)
    ours, answers = [], []
    for _ in range(rounds):
        begun = perf_counter()
        page = await work()
        ours.append((perf_counter() - begun) * 1e3)
        begun = perf_counter()
        answer = await _answer(repository, ref, query)
        answers.append((perf_counter() - begun) * 1e3)
    items = len(page.entries) + len(page.prefixes)
    return _Page(title, items, len(answer), middle(ours), percentile(ours, 99), middle(answers))


async def _in_turn(
    repository: OpenRepository, one: tuple[str, str], other: tuple[str, str], delimiter: str, rounds: int
) -> tuple[float, float]:
    """The middle of each in milliseconds, taken in turn, so that a slow moment of the machine hits both."""
    taken: tuple[list[float], list[float]] = [], []
    for _ in range(rounds):
        for (ref, after), into in zip((one, other), taken, strict=True):
            begun = perf_counter()
            page = await objects.list_objects(repository, ref, "", after, delimiter, _PAGE)
            into.append((perf_counter() - begun) * 1e3)
            assert len(page.entries) + len(page.prefixes) == _PAGE
    return middle(taken[0]), middle(taken[1])


async def _answer(repository: OpenRepository, ref: str, query: dict[str, str]) -> bytes:
    """What S3 shows of a listing, in JSON."""
    view = await repository.view(await repository.resolve(ref))
    page = await view.list_columns(limit=_PAGE, **query)
    shown = [page.entries[name].to_pylist() for name in ("path", "size", "etag", "mtime")]
    return msgspec.json.encode([list(zip(*shown, strict=True)), page.prefixes, page.next])


def _beside(page: _Page, bare_ms: float) -> list[object]:
    """All: the answer made, and sent as the bare app sends it."""
    numbers = [page.p50_ms, page.p99_ms, page.answer_ms, page.bytes / 1000, bare_ms]
    return [page.title, page.items, *numbers, (page.answer_ms + bare_ms) / bare_ms, "5 x"]


def _queries(table: pa.Table) -> dict[str, dict[str, str]]:
    half = table["path"][len(table) // 2].as_py()
    folder = half[: half.rindex("/") + 1]
    return {
        "flat, from the middle": {"after": half},
        "a folder, with delimiter": {"prefix": folder, "delimiter": "/"},
        "folders, with delimiter": {"prefix": "warehouse/events/", "delimiter": "/"},
        "a common prefix for each path": {"prefix": "warehouse/", "delimiter": ".parquet"},
    }


def _read(files: Sequence[Path]) -> None:
    for file in files:
        pq.read_table(file)


def puts(table: pa.Table) -> pa.Table:
    return table.append_column(RUN_SCHEMA.field("deleted"), pa.array(np.zeros(len(table), np.bool_))).cast(RUN_SCHEMA)


def _buried(table: pa.Table) -> pa.Table:
    """Tombstones at the same paths."""
    one = changes_table([Tombstone("x")])
    rows = pa.array(np.zeros(len(table), np.int64))
    return one.take(rows).combine_chunks().set_column(0, RUN_SCHEMA.field("path"), table["path"])


if __name__ == "__main__":
    main()
