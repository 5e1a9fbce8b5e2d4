"""Garbage collection on Spark: what it lists and deletes is what the embedded engine does, byte for byte."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pytest

from lochan.engines.spark import session
from lochan.errors import Corrupt, Gone, LochanError, Refused
from lochan.formats import plan_list
from lochan.formats.collection_events import Expired, PlanBegun, Planned
from lochan.formats.record import Actor
from lochan.jobs.collection import spark as spark_collection
from lochan.jobs.collection import tasks
from lochan.jobs.collection.run import CollectJobOptions, plan, preview, sweep
from lochan.jobs.record import jobs
from lochan.lake import Lake
from lochan.store.open import StoreLocation, open_store
from lochan.versioning import branches, objects, stash, uploads
from lochan.versioning.collection import plan as embedded
from lochan.versioning.collection.engine import read_part
from lochan.versioning.collection.listing import list_all
from lochan.versioning.collection.plan import CollectionLimits, CollectionPlan, abandon
from lochan.versioning.collection.reasons import Evidence, ExpiredNames, explain_reasons
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.workspaces import write as workspace_write
from tests.run import run
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.unit.versioning.history import History

pytestmark = LEFT_SOCKETS
ANN = Actor("ann", "test", "here")
SPARK = CollectJobOptions("spark", spark=HERE)
AT_ONCE = CollectionLimits(grace_s=-1e9, share_max=1)


@pytest.fixture(scope="module", autouse=True)
def stopped() -> Iterator[None]:
    yield
    session.stop()


class Lakeside(NamedTuple):
    lake: Lake
    history: History
    location: StoreLocation | None = None  # for executors, if it is not the lake's

    @property
    def place(self) -> StoreLocation:
        return self.location or self.lake.place

    @property
    def repository(self) -> OpenRepository:
        return self.history.repository

    async def plan(self, options: CollectJobOptions = SPARK) -> CollectionPlan:
        return await plan(self.repository, self.lake.id, self.place, AT_ONCE, actor=ANN, options=options)

    async def sweep(self, limits: CollectionLimits = AT_ONCE, options: CollectJobOptions = SPARK) -> int:
        given = self.repository, self.lake.id, self.place, limits
        return (await sweep(*given, actor=ANN, options=options)).files

    async def rows(self, made: CollectionPlan) -> pa.Table:
        id = self.repository.repository.id
        return pa.concat_tables([await read_part(self.repository.store, id, each) for each in made.head.parts])

    async def files(self) -> set[str]:
        prefix = f"{self.repository.repository.id}/"
        found = {stat.path.removeprefix(prefix) async for stat in self.repository.store.list(prefix)}
        return {path for path in found if path.split("/")[0] not in ("journal", "plans", "checkpoints")}

    async def line(self) -> None:
        """The first plan, which only draws a line."""
        assert (await self.plan(CollectJobOptions("duckdb"))).head.dead_files == 0
        assert await self.sweep(options=CollectJobOptions("duckdb")) == 0


@asynccontextmanager
async def lakeside(folder: Path) -> AsyncIterator[Lakeside]:
    lake = await Lake.create(open_store(str(folder / "lake"), create=True))
    await lake.create_repository("demo-repo", actor=ANN)
    repository = await lake.open_repository("demo-repo")
    yield Lakeside(lake, History(repository))
    await repository.close()
    await lake.close()


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def everything(there: Lakeside) -> None:
    """All kinds of roots, and all kinds of garbage; names that are not plain."""
    history, repository = there.history, there.repository
    first = await history.write("main", "logs/2025/a=1 logs/2025/b=2 pics/c=3")
    await branches.create_tag(repository, "v1", await history.write("main", "logs/2025/a=4"), actor=ANN)
    await history.write("main", "logs/2025/a=5 -pics/c")
    await history.branch("dev")
    await history.stage("dev", "x=stashed")
    await stash.push(repository, "dev", actor=ANN)
    await history.stage("main", "staged=1")
    await history.stage("main", "staged=2")
    for name in ("ünïcode/é 文.txt", "percent/%41%2F.txt", "plus+and&amp;/q?.txt"):
        await objects.put(repository, "main", name, once(b"old"), actor=ANN)
        await objects.put(repository, "main", name, once(b"new"), actor=ANN)
    upload = await uploads.open_upload(repository, "main", "big", actor=ANN)
    await uploads.put_part(repository, upload, 1, once(b"part"), actor=ANN)
    kept = (await workspace_write.open_workspace(repository, "main", actor=ANN)).id
    dropped = (await workspace_write.open_workspace(repository, "main", actor=ANN)).id
    for each in (kept, dropped):
        await workspace_write.put(repository, each, "w/ä", once(each.encode()), actor=ANN)
    await workspace_write.drop(repository, dropped, actor=ANN)
    await repository.submit(ANN, Expired((first,)))


def test_both_engines_list_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with lakeside(tmp_path) as there:
            await everything(there)
            given = there.repository, there.lake.id, there.lake.place, AT_ONCE
            tried = await preview(*given, actor=ANN, options=SPARK)
            with monkeypatch.context() as patched:
                patched.setattr(spark_collection, "_TREES_HERE", 0)  # as if there were many
                assert (await preview(*given, actor=ANN, options=SPARK)).head == tried.head
            alone = await embedded.preview(there.repository, there.lake.id, AT_ONCE)
            assert tried.head.totals == alone.head.totals
            assert (tried.head.files, tried.head.bytes) == (alone.head.files, alone.head.bytes)
            await there.line()
            here = await there.plan(CollectJobOptions("duckdb"))
            await abandon(there.repository, actor=ANN)
            on_spark = await there.plan()
            left, right = await there.rows(here), await there.rows(on_spark)
            assert left.equals(right)
            assert left.num_rows == here.head.dead_files == 8
            assert left["path"].to_pylist() == sorted(left["path"].to_pylist())
            reasons = {(each.why, each.prefix) for each in on_spark.head.totals}
            assert reasons >= {("expired", "logs/2025/"), ("expired", None), ("staged", None)}
            before = await there.files()
            assert await there.sweep() == left.num_rows
            assert before - await there.files() == set(left["path"].to_pylist())
            assert await there.history.read("v1") == "logs/2025/a=4 logs/2025/b=2 pics/c=3"
            found = await jobs(there.lake.store, there.lake.clock.wall(), 10)
            assert {(job.kind, job.state) for job in found} >= {("gc plan", "done"), ("gc sweep", "done")}

    run(scenario())


def test_parts_in_order_whatever_the_shards_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard for every second file, and some without any."""

    async def scenario() -> None:
        async with lakeside(tmp_path) as there:
            for number in range(8):
                await there.history.stage("main", f"p/{number}=1")
                await there.history.stage("main", f"p/{number}=2")
            await there.line()
            files = sorted(await there.files())
            bounds = tuple(sorted({"a", "b", *files[::2], "z"}))
            monkeypatch.setattr(spark_collection, "bounds_of", lambda *_: bounds)
            made = await there.plan()
            assert made.head.dead_files == 8
            assert len(made.head.parts) > 4
            paths = (await there.rows(made))["path"].to_pylist()
            assert paths == sorted(paths)
            assert await there.sweep() == 8
            assert (await there.history.read("main")).count("=2") == 8

    run(scenario())


@pytest.mark.parametrize("damage", ["damaged", "missing", "another lake", "alive", "too much"])
def test_tripwires(tmp_path: Path, damage: str) -> None:
    async def scenario() -> None:
        async with lakeside(tmp_path) as there:
            await there.history.stage("main", "a=1 b=kept")
            await there.history.stage("main", "a=2")
            await there.line()
            made = await there.plan()
            id, store = there.repository.repository.id, there.repository.store
            path = f"{id}/{made.head.parts[0].file}"
            data, before = await store.get(path), await there.files()
            match damage:
                case "damaged":
                    await store.put(path, data[:-9] + bytes(9))
                    with pytest.raises(Corrupt, match="fails its checksum"):
                        await there.sweep()
                case "missing":
                    await store.delete(path)
                    with pytest.raises(Corrupt, match="is gone"):
                        await there.sweep()
                case "another lake":
                    given = there.repository, "another", there.lake.place, AT_ONCE
                    with pytest.raises(Corrupt, match="of another lake"):
                        await sweep(*given, actor=ANN, options=SPARK)
                case "alive":
                    await _list_everything(there, made)
                    with pytest.raises(Corrupt, match="are named again"):
                        await there.sweep()
                case "too much":
                    with pytest.raises(Refused, match="of the repository's bytes"):
                        await there.sweep(AT_ONCE._replace(share_max=0.01))
            assert await there.files() == before
            assert await there.history.read("main") == "a=2 b=kept"

    run(scenario())


async def _list_everything(there: Lakeside, made: CollectionPlan) -> None:
    """A plan whose list has a file that is alive cannot come about by the rules: it is made by hand."""
    id, store = there.repository.repository.id, there.repository.store
    await abandon(there.repository, actor=ANN)
    found = await list_all(store, id)
    listed = explain_reasons(found, Evidence(ExpiredNames(0)))
    begun = await there.repository.submit(ANN, PlanBegun(made.number))
    part, data = plan_list.encode_part(begun, listed)
    await store.put(f"{id}/{part.file}", data)
    head = msgspec.structs.replace(
        made.head, parts=(part,), marked=begun, dead_files=part.files, dead_bytes=part.bytes, bytes=2 * part.bytes
    )
    file, data = plan_list.encode_head(head)
    await store.put(f"{id}/{file}", data)
    await there.repository.submit(ANN, Planned(made.number, begun, file, begun))


@pytest.mark.parametrize("damage", ["damaged", "missing"])
def test_a_range_that_cannot_be_read_stops_the_plan(tmp_path: Path, damage: str) -> None:
    async def scenario() -> None:
        async with lakeside(tmp_path) as there:
            await there.history.write("main", "a=1")
            await there.history.stage("main", "b=1")
            await there.history.stage("main", "b=2")
            await there.line()
            [range] = [path for path in await there.files() if path.startswith("ranges/")]
            path = f"{there.repository.repository.id}/{range}"
            data = await there.repository.store.get(path)
            if damage == "missing":
                await there.repository.store.delete(path)
            else:
                await there.repository.store.put(path, data[:20] + bytes(4) + data[24:])
            before = await there.files()
            with pytest.raises((Corrupt, Gone), match="range"):
                await there.plan()
            refs, _ = await there.repository.refs()
            assert not refs.collection.running
            assert await there.files() == before
            await there.repository.store.put(path, data)
            assert (await there.plan()).head.dead_files == 1

    run(scenario())


def test_a_sweep_goes_on_where_it_was_stopped_and_may_be_done_twice(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with lakeside(tmp_path) as there:
            for number in range(4):
                await there.history.stage("main", f"p/{number}=1")
                await there.history.stage("main", f"p/{number}=2")
            await there.line()
            made = await there.plan()
            paths = (await there.rows(made))["path"].to_pylist()
            for path in paths[:2]:  # an executor that died behind its first deletions
                await there.repository.store.delete(f"{there.repository.repository.id}/{path}")
            assert await there.sweep() == 2
            assert (await there.history.read("main")).count("=2") == 4
            with pytest.raises(Refused, match="no plan is under way"):
                await there.sweep()

    run(scenario())


def dying(work: Callable[..., Iterator[Any]], flag: Path) -> Any:
    """The first task's process is killed when its work is done and nobody knows of it yet. Spark on one machine does
    not try again, so the whole job fails."""

    def killed(*given: Any) -> Iterator[Any]:
        for each in work(*given):
            if not flag.exists():
                flag.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield each

    return killed


@pytest.mark.parametrize("step", ["mark_files", "collect_shard", "check_part", "delete_parts"])
def test_a_job_whose_workers_are_killed_is_run_again(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with lakeside(tmp_path) as there:
            await there.history.write("main", "c=committed")
            for number in range(4):
                await there.history.stage("main", f"p/{number}=1")
                await there.history.stage("main", f"p/{number}=2")
            await there.line()
            alive = await there.history.read("main")
            flag = tmp_path / "killed"
            monkeypatch.setattr(tasks, step, dying(getattr(tasks, step), flag))
            if step in ("mark_files", "collect_shard"):
                before = await there.files()
                with pytest.raises(LochanError):
                    await there.plan()
                assert await there.files() == before
            made = await there.plan()
            if step not in ("mark_files", "collect_shard"):
                with pytest.raises(LochanError):
                    await there.sweep()
                assert await there.history.read("main") == alive
            assert flag.exists(), "a worker was killed"
            await there.history.stage("main", "late=1")  # beside the second try
            assert await there.sweep() == (0 if step == "delete_parts" else 4)
            assert made.head.dead_files == 4
            assert await there.history.read("main") == f"c=committed late=1 {alive.partition(' ')[2]}"
            again = await embedded.preview(there.repository, there.lake.id, AT_ONCE)
            assert {each.why for each in again.head.totals} <= {"metadata"}, "no data is left"

    run(scenario())
