"""Garbage collection on Spark: what it lists and deletes is what the embedded engine does, byte for byte."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest

from lochan.engines.spark import session
from lochan.formats.collection_events import Expired
from lochan.formats.record import Actor
from lochan.jobs.collection.run import CollectJobOptions, plan, preview, sweep
from lochan.jobs.record import jobs
from lochan.lake import Lake
from lochan.store.open import open_store
from lochan.versioning import branches, objects, stash, uploads
from lochan.versioning.collection import plan as embedded
from lochan.versioning.collection.engine import read_part
from lochan.versioning.collection.plan import CollectionLimits, CollectionPlan, abandon
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

    @property
    def repository(self) -> OpenRepository:
        return self.history.repository

    async def plan(self, options: CollectJobOptions = SPARK) -> CollectionPlan:
        return await plan(self.repository, self.lake.id, self.lake.place, AT_ONCE, actor=ANN, options=options)

    async def sweep(self, limits: CollectionLimits = AT_ONCE) -> int:
        given = self.repository, self.lake.id, self.lake.place, limits
        return (await sweep(*given, actor=ANN, options=SPARK)).files

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
        assert await self.sweep() == 0


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


def test_both_engines_list_the_same(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with lakeside(tmp_path) as there:
            await everything(there)
            given = there.repository, there.lake.id, there.lake.place, AT_ONCE
            tried = await preview(*given, actor=ANN, options=SPARK)
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
            assert reasons >= {("expired", "logs/2025/"), ("expired", None), ("uncommitted", None)}
            before = await there.files()
            assert await there.sweep() == left.num_rows
            assert before - await there.files() == set(left["path"].to_pylist())
            assert await there.history.read("v1") == "logs/2025/a=4 logs/2025/b=2 pics/c=3"
            found = await jobs(there.lake.store, there.lake.clock.wall(), 10)
            assert {(job.kind, job.state) for job in found} >= {("gc plan", "done"), ("gc sweep", "done")}

    run(scenario())
