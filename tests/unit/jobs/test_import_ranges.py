"""Ranges that tasks write from runs are those that one process would cut, whatever the tree has before and behind."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pyarrow as pa
import pytest

from lochan.errors import Refused
from lochan.formats.entry import Entry
from lochan.formats.entry_table import table_of
from lochan.formats.range import RangeRef
from lochan.formats.record import Actor
from lochan.formats.repository_events import Staged
from lochan.jobs import import_files
from lochan.jobs.import_files import ImportTarget, RunFiles
from lochan.jobs.import_ranges import _put_ranges, range_tasks
from lochan.jobs.messages import EntryRun
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from lochan.store.open import StoreLocation
from lochan.tree.assemble import RangeCut
from lochan.tree.trees import Trees
from lochan.versioning import bulk, objects
from lochan.versioning.bodies.listed_files import LOCATED_SCHEMA, as_entries
from lochan.versioning.collection.plan import CollectionLimits, plan
from lochan.versioning.collection.sweep import sweep
from lochan.versioning.heads.imports import (
    NOWHERE,
    ImportFolder,
    ImportPlan,
    ListedRanges,
    bring_in,
    import_plan,
    ingest_plan,
)
from lochan.versioning.job_hold import give_up, hold_ids, open_job
from lochan.versioning.open_repository import OpenRepository
from tests.run import run

pytestmark = pytest.mark.thorough

ANN = Actor("ann", "test", "here")
CUT = RangeCut(4, 5, 11)
AT_ONCE = CollectionLimits(grace_s=-1e9, confirmed=True)
SOURCE = ImportFolder("s3://bucket/in", "in/")


def files(names: Sequence[str]) -> pa.Table:
    count = len(names)
    columns = [names, [f"s3://bucket/{name}" for name in names], [5] * count, ["e"] * count, [7] * count]
    return pa.table(
        [pa.array(each, field.type) for each, field in zip(columns, LOCATED_SCHEMA, strict=True)], LOCATED_SCHEMA
    )


def empty(path: str) -> Entry:
    return Entry(path=path, blocks=(), size=0, checksum="", etag="", mtime=0)


async def put_runs(target: ImportTarget, store: MemoryStore, names: Sequence[str], rows: int) -> list[EntryRun]:
    made: list[EntryRun] = []
    for number, start in enumerate(range(0, len(names), rows)):
        batches = files(names[start : start + rows]).to_batches()
        message, _ = await asyncio.to_thread(import_files._put, target, store, batches, "", f"{number:027d}")
        made += message.runs
    return made


async def put_ranges(target: ImportTarget, store: MemoryStore, runs: Sequence[EntryRun]) -> tuple[RangeRef, ...]:
    return tuple([ref for task in range_tasks(runs, CUT) for ref in await _put_ranges(target, store, task)])


@pytest.mark.parametrize("rows", [1, 3, 7, 50, 1000])
@pytest.mark.parametrize("count", [1, 4, 11, 12, 200])
def test_the_ranges_are_those_of_a_tree(count: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_files, "STANDARD", CUT)

    async def play() -> None:
        store = MemoryStore()
        target = ImportTarget(StoreLocation("memory://x"), "repo", 3, {})
        names = sorted(f"in/{number * 7919 % 1000:03d}" for number in range(count))
        trees = Trees(store, "repo", cut=CUT)
        found = await put_ranges(target, store, await put_runs(target, store, names, rows))
        assert found == (await trees.build(as_entries(files(names)), 3)).ranges
        for around in (
            [],
            ["a"],
            ["z"],
            [f"a{number:02d}" for number in range(40)],
            [f"z{number}" for number in range(9)],
        ):
            base = await trees.build(table_of([empty(name) for name in around]), 1)
            assert ListedRanges(found, 3).fit(base, NOWHERE)
            expected = await trees.apply(base, bulk.puts(as_entries(files(names))), 5)
            assert (await trees.insert(base, found, 5)).ref.id == expected.ref.id
        base = await trees.build(table_of([empty("a"), empty("z")]), 1)
        assert not ListedRanges(found, 3).fit(base, NOWHERE)

    run(play())


async def held_import(repository: OpenRepository, store: MemoryStore, names: Sequence[str]) -> tuple[ImportPlan, str]:
    """What a job on Spark has written before it lands."""
    _, mint = await repository.refs()
    job = repository.ids.ksuid(repository.clock.wall())
    await open_job(repository, job, mint, "main", actor=ANN)
    target = ImportTarget(StoreLocation("memory://x"), repository.repository.id, mint, {})
    runs = await put_runs(target, store, names, 50)
    ranges = ListedRanges(await put_ranges(target, store, runs), mint)
    found = import_plan([SOURCE], RunFiles(repository, runs))
    return found._replace(closes=hold_ids(job), ranges=ranges), job


async def opened(monkeypatch: pytest.MonkeyPatch) -> tuple[OpenRepository, MemoryStore, str]:
    monkeypatch.setattr(import_files, "STANDARD", CUT)
    store = MemoryStore()
    lake = await Lake.create(store)
    await lake.create_repository("demo", actor=ANN)
    repository = await lake.open_repository("demo")
    repository.trees.cut = CUT
    return repository, store, lake.id


def test_an_import_outlives_collections_and_closes_its_job(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        repository, store, lake = await opened(monkeypatch)
        found, _ = await held_import(repository, store, [f"in/{number:03d}" for number in range(90)])
        monkeypatch.setattr(RunFiles, "between", _never)  # the driver reads no file of the list
        for _ in range(3):
            await plan(repository, lake, AT_ONCE, actor=ANN)
            await sweep(repository, lake, AT_ONCE, actor=ANN)
        done = await bring_in(repository, "main", found, actor=ANN)
        assert (done.counts.added, done.counts.bytes) == (90, 450)
        assert repository.folded().collection.all_held() == []
        listed = await objects.list_objects(repository, "main", limit=1000)
        assert [entry.path for entry in listed.entries] == [f"in/{number:03d}" for number in range(90)]
        await repository.close()

    run(play())


def test_an_import_that_was_given_up_does_not_land(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        repository, store, lake = await opened(monkeypatch)
        found, job = await held_import(repository, store, ["in/1", "in/2"])
        await give_up(repository, job, actor=ANN)
        for _ in range(2):
            await plan(repository, lake, AT_ONCE, actor=ANN)
            await sweep(repository, lake, AT_ONCE, actor=ANN)
        with pytest.raises(Refused, match="is not open"):
            await bring_in(repository, "main", found, actor=ANN)
        assert (await objects.list_objects(repository, "main")).entries == []
        await repository.close()

    run(play())


@pytest.mark.parametrize("what", ["an object between them", "something staged", "an object that an ingest removes"])
def test_what_has_to_be_compared_is_compared(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        repository, store, _ = await opened(monkeypatch)
        names = [f"in/{number:03d}" for number in range(60)]
        path = {
            "an object between them": "in/005x",
            "something staged": "else",
            "an object that an ingest removes": "in/999",
        }
        if what != "something staged":
            other, _ = await held_import(repository, store, [path[what]])
            await bring_in(repository, "main", other, actor=ANN)
        found, _ = await held_import(repository, store, names)
        if what == "something staged":
            await repository.submit(ANN, Staged("main", (empty("else"),)))
        if "ingest" in what:
            plain = ingest_plan(SOURCE, found.files, keep_removed=False)
            found = plain._replace(closes=found.closes, ranges=found.ranges)
        asked: list[str] = []
        between = RunFiles.between

        def seen(self: RunFiles, after: str, upto: str | None) -> AsyncIterator[pa.Table]:
            asked.append(after)
            return between(self, after, upto)

        monkeypatch.setattr(RunFiles, "between", seen)
        done = await bring_in(repository, "main", found, actor=ANN)
        assert asked
        assert (done.counts.added, done.counts.removed) == (60, int("ingest" in what))
        await repository.close()

    run(play())


def _never(*_: object) -> None:
    raise AssertionError("the driver has read a run")
