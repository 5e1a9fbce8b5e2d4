"""Plans and sweeps on a store whose listings lag behind: they miss what is fresh, and show what is deleted."""

from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from lochan.errors import Gone, Refused
from lochan.formats.collection_events import Expired
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.store.capabilities import Wrapper
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Stat, Store
from lochan.versioning import branches, copy
from lochan.versioning.collection.listing import KINDS
from tests.run import run
from tests.unit.collection.test_plan_and_sweep import DaysClock, Lakeside
from tests.unit.versioning.history import History

pytestmark = pytest.mark.thorough

ANN = Actor("ann", "test", "here")
FOLDERS = {kind.folder.rstrip("/") for kind in KINDS}
ROUNDS = 8


class StaleLists(Wrapper):
    """Shows the folders that are collected as they were some pictures ago, and everything else as it is."""

    def __init__(self, inner: Store, lag: int) -> None:
        super().__init__(inner)
        self.lag = lag
        self._pictures: list[list[Stat]] = [[]]
        self.missed = self.ghosts = 0  # objects of which a listing did not tell the truth

    async def take_picture(self) -> None:
        self._pictures.append([stat async for stat in self.inner.list("")])

    async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        now = [stat async for stat in self.inner.list(prefix, after)]
        if self.lag and prefix.split("/")[1:2] and prefix.split("/")[1] in FOLDERS:
            old = self._pictures[-min(self.lag, len(self._pictures))]
            shown = [stat for stat in old if stat.path.startswith(prefix) and stat.path > after]
            paths = {stat.path for stat in now}, {stat.path for stat in shown}
            self.missed += len(paths[0] - paths[1])
            self.ghosts += len(paths[1] - paths[0])
            now = shown
        for stat in now:
            yield stat


@pytest.mark.parametrize("lag", [1, 2, 5])
def test_nothing_that_is_alive_goes_and_nothing_that_is_dead_stays(lag: int) -> None:
    async def scenario() -> None:
        clock = DaysClock()
        store = StaleLists(MemoryStore(clock=clock), lag)
        lake = await Lake.create(store, clock=clock)
        await lake.create_repository("demo-repo", actor=ANN)
        there = Lakeside(lake, History(await lake.open_repository("demo-repo")), clock)
        gone = 0
        for number in range(ROUNDS):
            await store.take_picture()
            await written(there.history, number)
            gone += await there.round()
            await all_is_there(there.history, number)
        assert store.missed and (store.ghosts or lag == 1)
        store.lag = 0
        gone += await there.rounds()
        await all_is_there(there.history, ROUNDS - 1)
        assert gone > ROUNDS
        made = await there.plan()
        assert not await there.listed(made)

    run(scenario())


async def written(history: History, number: int) -> None:
    """An object is overwritten, one stays, one is copied and its source deleted, and an old commit expires."""
    repository = history.repository
    await history.stage("main", f"often={number} kept/{number}={number} moved/{number}={number}")
    commit = await history.write("main", f"also={number}")
    await copy.copy(repository, "main", f"moved/{number}", "main", f"copy/{number}", actor=ANN)
    await history.stage("main", f"-moved/{number} often={number}-again")
    if number % 3 == 0:
        await branches.create_tag(repository, f"v{number}", commit, actor=ANN)
    refs, _ = await repository.refs()
    with suppress(Refused):  # a tag
        await repository.submit(ANN, Expired(refs.recorded(commit).parents))


async def all_is_there(history: History, number: int) -> None:
    try:
        staged = await history.read("main")
        for each in range(number + 1):
            assert f"kept/{each}={each}" in staged
            assert f"copy/{each}={each}" in staged
            if each % 3 == 0:
                assert f"often={each}" in await history.read(f"v{each}")
    except Gone as error:
        raise AssertionError(f"live objects deleted: {error}") from error
