"""The outcome of a create is right whatever answers were lost on the way."""

import pytest

from lochan.errors import AlreadyExists, DiskFull, Invalid, Refused, Unknown
from lochan.store.capabilities import Wrapper
from lochan.store.memory import MemoryStore
from lochan.store.retry import settle
from tests.run import run
from tests.store_faults import FITTING, FaultStore, StoreFault, by_odds
from tests.unit.store.clocks import StillClock, counting_ids


class Rig:
    def __init__(self, *faults: StoreFault | None) -> None:
        self.clock = StillClock()
        self.faults = list(faults)
        self.memory = MemoryStore()
        self.store = FaultStore(self.memory, self.clock, lambda verb, path: self.faults.pop(0) if self.faults else None)

    def settle(self, data: bytes = b"ours", deadline: float = 20) -> bytes:
        return run(settle(self.store, "k", data, self.clock, counting_ids(), deadline))

    @property
    def calls(self) -> list[str]:
        return [shot.verb for shot in self.store.shots]


CREATE, READ = "put_if_absent", "get"


@pytest.mark.parametrize(
    "faults, calls",
    [
        pytest.param([], [CREATE], id="no fault"),
        pytest.param([StoreFault.UNAVAILABLE], [CREATE, CREATE], id="nothing done"),
        pytest.param([StoreFault.TIMEOUT], [CREATE, CREATE], id="nothing done, late"),
        pytest.param([StoreFault.LOST], [CREATE, CREATE, READ], id="done, answer lost"),
        pytest.param([StoreFault.LOST, StoreFault.LOST], [CREATE, CREATE, CREATE, READ], id="twice lost"),
        pytest.param([StoreFault.CONFLICT], [CREATE, READ, CREATE], id="a 409 that came to nothing"),
        pytest.param(
            [StoreFault.LOST, None, StoreFault.UNAVAILABLE],
            [CREATE, CREATE, READ, CREATE, READ],
            id="lost, then unreadable",
        ),
    ],
)
def test_ours_in_the_end(faults: list[StoreFault | None], calls: list[str]) -> None:
    rig = Rig(*faults)
    assert rig.settle() == b"ours"
    assert run(rig.memory.get("k")) == b"ours"
    assert rig.calls == calls


@pytest.mark.parametrize("faults", [[], [StoreFault.UNAVAILABLE], [StoreFault.LOST], [StoreFault.CONFLICT]])
def test_a_rival_in_the_end(faults: list[StoreFault | None]) -> None:
    rig = Rig(*faults)
    run(rig.memory.put("k", b"theirs"))
    assert rig.settle() == b"theirs"
    assert run(rig.memory.get("k")) == b"theirs"


def test_certain_failures_are_raised_unchanged() -> None:
    rig = Rig(StoreFault.FULL)
    with pytest.raises(DiskFull):
        rig.settle()
    with pytest.raises(Invalid):
        run(settle(rig.store, "../k", b"", rig.clock, counting_ids(), 20))


@pytest.mark.parametrize("doubt", [StoreFault.LOST, StoreFault.UNAVAILABLE, StoreFault.CONFLICT])
def test_a_failure_after_a_doubt_is_unknown(doubt: StoreFault) -> None:
    rig = Rig(doubt, *([None] if doubt is StoreFault.CONFLICT else []), StoreFault.FULL)
    with pytest.raises(Unknown):
        rig.settle()


def test_a_store_that_is_down_is_unknown_at_the_deadline() -> None:
    rig = Rig(*[StoreFault.UNAVAILABLE] * 1000)
    with pytest.raises(Unknown, match="k was created in memory://"):
        rig.settle(deadline=5)
    assert rig.clock.now < 5


def test_credentials_lost_on_the_way_are_unknown() -> None:
    class Revoked(Wrapper):
        async def put_if_absent(self, path: str, data: bytes) -> None:
            try:
                await super().put_if_absent(path, data)
            except AlreadyExists:
                raise Refused("403") from None

    rig = Rig(StoreFault.LOST)
    with pytest.raises(Unknown):
        run(settle(Revoked(rig.store), "k", b"ours", rig.clock, counting_ids(), 20))


@pytest.mark.thorough
def test_ten_thousand_creates_under_faults_have_the_right_verdict() -> None:
    clock, ids, memory = StillClock(), counting_ids(), MemoryStore()
    odds = {
        CREATE: {StoreFault.LOST: 0.3, StoreFault.UNAVAILABLE: 0.1, StoreFault.TIMEOUT: 0.1, StoreFault.CONFLICT: 0.1},
        READ: {StoreFault.UNAVAILABLE: 0.2},
    }
    assert all(chances.keys() <= FITTING[verb] for verb, chances in odds.items())
    store = FaultStore(memory, clock, by_odds(odds, ids.fraction))

    async def play() -> tuple[int, int]:
        verdicts = wrong = 0
        for number in range(10_000):
            path, ours = f"k{number // 2}", b"%d" % number  # each second one meets a rival
            found = await settle(store, path, ours, clock, ids, clock.boot() + 60)
            verdicts += 1
            wrong += found != await memory.get(path) or (found == ours) != (number % 2 == 0)
        return verdicts, wrong

    assert run(play()) == (10_000, 0)
