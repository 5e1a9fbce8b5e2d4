"""Plans and sweeps on Spark, on a store whose listings lag behind: tasks miss what is fresh, and are shown what is
deleted. They list what the embedded engine lists, nothing that is alive goes, and what is dead goes later.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from lochan.clock import Clock
from lochan.engines.spark import session
from lochan.ids import Ids
from lochan.jobs.collection.run import CollectJobOptions
from lochan.lake import Lake
from lochan.store.capabilities import Wrapper
from lochan.store.local import LocalStore
from lochan.store.open import StoreLocation
from lochan.store.protocol import Stat, Store
from lochan.versioning.collection.plan import abandon
from tests.run import run
from tests.spark.local_spark import LEFT_SOCKETS
from tests.spark.test_collection import ANN, SPARK, Lakeside
from tests.unit.collection.test_stale_lists import FOLDERS, all_is_there, written
from tests.unit.versioning.history import History

pytestmark = LEFT_SOCKETS
EMBEDDED = CollectJobOptions("duckdb")
ROUNDS = 4
FILE = ["path", "kind", "size", "mint", "modified"]


@pytest.fixture(scope="module", autouse=True)
def stopped() -> Iterator[None]:
    yield
    session.stop()


class PicturedStore(Wrapper):
    """Shows the folders that are collected as they were when the picture was taken, and everything else as it is. The
    picture is a file, so that all processes see the same; without one, listings are true."""

    def __init__(self, inner: Store, picture: str) -> None:
        super().__init__(inner)
        self.picture = Path(picture)

    async def take_picture(self) -> None:
        self.picture.write_text(json.dumps([tuple(stat) async for stat in self.inner.list("")]))

    async def untrue(self) -> tuple[int, int]:
        """How many files the picture misses, and how many it shows that are gone."""
        shown = {stat.path for stat in self._shown() if _is_collected(stat.path)}
        there = {stat.path async for stat in self.inner.list("") if _is_collected(stat.path)}
        return len(there - shown), len(shown - there)

    async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        if self.picture.exists() and _is_collected(prefix):
            for stat in self._shown():
                if stat.path.startswith(prefix) and stat.path > after:
                    yield stat
            return
        async for stat in self.inner.list(prefix, after):
            yield stat

    def _shown(self) -> Sequence[Stat]:
        return [Stat(*fields) for fields in json.loads(self.picture.read_text())]


def _is_collected(path: str) -> bool:
    return path.partition("/")[2].partition("/")[0] in FOLDERS


@dataclass(frozen=True, slots=True)
class PicturedLocation(StoreLocation):
    """What the configuration gives to executors: they open the same store, with the same picture."""

    picture: str = ""

    def open(self, *, clock: Clock, ids: Ids) -> Store:
        return PicturedStore(StoreLocation(self.url).open(clock=clock, ids=ids), self.picture)


def test_tasks_whose_listings_are_stale(tmp_path: Path) -> None:
    async def scenario() -> None:
        picture = str(tmp_path / "picture")
        store = PicturedStore(LocalStore(str(tmp_path / "lake"), create=True), picture)
        lake = await Lake.create(store)
        await lake.create_repository("demo-repo", actor=ANN)
        history = History(await lake.open_repository("demo-repo"))
        there = Lakeside(lake, history, PicturedLocation(store.url, picture=picture))
        await there.line()
        gone, untrue = 0, []
        for number in range(ROUNDS):
            if number % 2 == 0:  # so that every other plan is shown what the last sweep deleted
                await store.take_picture()
            await written(history, number)
            await same_plan(there)
            untrue.append(await store.untrue())
            before = await there.files()
            await there.sweep()
            gone += len(before - await there.files())
            await all_is_there(history, number)
        assert all(missed for missed, _ in untrue) and any(ghosts for _, ghosts in untrue), untrue
        store.picture.unlink()
        for _ in range(2):
            await same_plan(there)
            gone += await there.sweep()
        await all_is_there(history, ROUNDS - 1)
        assert gone > ROUNDS
        assert (await there.plan()).head.dead_files == 0
        await there.repository.close()
        await lake.close()

    run(scenario())


async def same_plan(there: Lakeside) -> None:
    """Both engines are shown the same listings. Reasons are left out: this process remembers what the expired trees
    named that the last sweep deleted, and tasks do not."""
    here = await there.plan(EMBEDDED)
    left = await there.rows(here) if here.head.parts else None
    await abandon(there.repository, actor=ANN)
    made = await there.plan(SPARK)
    assert made.head.dead_files == here.head.dead_files
    if left is not None:
        assert left.select(FILE).equals((await there.rows(made)).select(FILE))
