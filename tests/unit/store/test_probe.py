"""The probe accepts stores that create once, and refuses those that only claim to."""

import asyncio
from pathlib import Path

import pytest

from lochan.clock import SystemClock
from lochan.errors import AlreadyExists, NotFound, Refused, Transient
from lochan.ids import Ids
from lochan.store.capabilities import Wrapper
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.store.probe import ProbeReport, probe
from lochan.store.protocol import Stat, Store
from lochan.store.retry import RetryStore
from tests.run import run
from tests.store_contract import paths
from tests.store_faults import FaultStore, StoreFault, by_odds
from tests.unit.store.clocks import StillClock, counting_ids


def probed(store: Store) -> ProbeReport:
    return run(probe(store, Ids(), SystemClock()))


def test_honest_stores_are_accepted_and_left_clean(tmp_path: Path) -> None:
    for store in (MemoryStore("honest"), LocalStore(str(tmp_path / "lake"), create=True)):
        report = probed(store)
        assert report.url == store.url
        assert report.rounds == 4
        assert report.skew_s == 0
        assert 0 <= report.latency_s < 1
        assert run(paths(store)) == []


class IgnoresTheCondition(Wrapper):
    async def put_if_absent(self, path: str, data: bytes) -> None:
        await self.inner.put(path, data)


class LooksThenPuts(Wrapper):
    """Refuses a second create, but two at once may both find nothing."""

    async def put_if_absent(self, path: str, data: bytes) -> None:
        try:
            await self.inner.head(path)
        except NotFound:
            await asyncio.sleep(0)
            await self.inner.put(path, data)
        else:
            raise AlreadyExists(path)


class OverwritesAndDenies(Wrapper):
    """Tells the second creator that it lost, and keeps its bytes."""

    async def put_if_absent(self, path: str, data: bytes) -> None:
        try:
            await self.inner.put_if_absent(path, data)
        except AlreadyExists:
            await self.inner.put(path, data)
            raise


class LastOneWins(Wrapper):
    """Right one after another. Of several at once, the first gets a success, but the last one's bytes
    stay."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.busy: set[str] = set()

    async def put_if_absent(self, path: str, data: bytes) -> None:
        if path in self.busy:
            await self.inner.put(path, data)
            raise AlreadyExists(path)
        self.busy.add(path)
        await asyncio.sleep(0)
        try:
            await self.inner.put_if_absent(path, data)
        except AlreadyExists:
            if "twice" in path:
                raise
        self.busy.discard(path)


@pytest.mark.parametrize(
    "broken, seen",
    [
        pytest.param(IgnoresTheCondition, "was created twice, and holds b'second'", id="ignores the condition"),
        pytest.param(LooksThenPuts, "of 8 creators .* 8 were told", id="looks, then puts"),
        pytest.param(OverwritesAndDenies, "was created twice, and holds b'second'", id="overwrites and denies it"),
        pytest.param(LastOneWins, "holds b'creator 7' although b'creator 0' was told", id="keeps a loser's bytes"),
    ],
)
def test_a_store_that_breaks_the_promise_is_refused(broken: type[Wrapper], seen: str) -> None:
    store = broken(MemoryStore("broken"))
    with pytest.raises(Refused, match=f"memory://broken does not keep its promise.*{seen}"):
        probed(store)
    assert run(paths(store)) == []


def test_faults_do_not_make_it_refuse() -> None:
    for _ in range(30):
        clock, ids = StillClock(), Ids()
        odds = {
            "put_if_absent": {StoreFault.LOST: 0.1, StoreFault.UNAVAILABLE: 0.1, StoreFault.CONFLICT: 0.1},
            "get": {StoreFault.UNAVAILABLE: 0.1},
        }
        failing = FaultStore(MemoryStore(), clock, by_odds(odds, ids.fraction))
        run(probe(RetryStore(failing, clock, ids), ids, clock))


def test_a_store_that_never_answers_is_not_called_broken() -> None:
    clock = StillClock()
    store = FaultStore(
        MemoryStore(), clock, lambda verb, path: StoreFault.LOST if "race" in path and verb == "put_if_absent" else None
    )
    with pytest.raises(Transient, match="no creator got a clear answer"):
        run(probe(store, counting_ids(), clock))


@pytest.mark.parametrize("skew", [-3600, 0, 3600])
def test_the_clocks_are_compared(skew: int) -> None:
    class Skewed(Wrapper):
        async def head(self, path: str) -> Stat:
            stat = await self.inner.head(path)
            return stat._replace(modified=float(int(stat.modified)) + skew)

    assert probed(Skewed(MemoryStore())).skew_s == pytest.approx(skew, abs=3)
