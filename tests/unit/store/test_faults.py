"""Each fault does what its name says, and a run's choices can be replayed."""

from collections import Counter
from pathlib import Path

import pytest

from lochan.errors import AlreadyExists, DiskFull, LochanError, NotFound, Transient
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Store
from tests.run import run
from tests.store_contract import MIB, chunks, joined, paths
from tests.store_faults import FITTING, FaultStore, Shot, StoreFault, by_odds, replaying
from tests.unit.store.clocks import StillClock, counting_ids


class Rig:
    def __init__(self) -> None:
        self.clock = StillClock()
        self.memory = MemoryStore()
        self.next: StoreFault | None = None
        self.store = FaultStore(self.memory, self.clock, self.choose)
        run(self.store.put("old", b"0123456789"))

    def choose(self, verb: str, path: str) -> StoreFault | None:
        chosen, self.next = self.next, None
        return chosen


@pytest.fixture
def rig() -> Rig:
    return Rig()


WRITES = ["put", "put_if_absent", "put_stream"]


@pytest.mark.parametrize("verb", WRITES)
@pytest.mark.parametrize(
    "fault, error, done",
    [
        pytest.param(StoreFault.UNAVAILABLE, Transient, False),
        pytest.param(StoreFault.TIMEOUT, Transient, False),
        pytest.param(StoreFault.FULL, DiskFull, False),
        pytest.param(StoreFault.LOST, Transient, True),
        pytest.param(StoreFault.SLOW, None, True),
    ],
)
def test_writes(rig: Rig, verb: str, fault: StoreFault, error: type[LochanError] | None, done: bool) -> None:
    rig.next = fault
    try:
        run(write(rig.store, verb, "new"))
    except LochanError as raised:
        assert type(raised) is error
    else:
        assert error is None
    assert ("new" in run(paths(rig.memory))) is done
    assert (rig.clock.now > 0) is (fault in (StoreFault.TIMEOUT, StoreFault.SLOW))


def test_a_conflict_creates_nothing(rig: Rig) -> None:
    rig.next = StoreFault.CONFLICT
    with pytest.raises(AlreadyExists):
        run(rig.store.put_if_absent("new", b"1"))
    with pytest.raises(NotFound):
        run(rig.store.get("new"))


def test_a_lost_answer_hides_also_that_another_was_first(rig: Rig) -> None:
    rig.next = StoreFault.LOST
    with pytest.raises(Transient):
        run(rig.store.put_if_absent("old", b"1"))
    assert run(rig.store.get("old")) == b"0123456789"


def test_a_lost_answer_to_a_delete(rig: Rig) -> None:
    rig.next = StoreFault.LOST
    with pytest.raises(Transient):
        run(rig.store.delete("old"))
    assert run(paths(rig.memory)) == []


def test_a_short_read(rig: Rig) -> None:
    rig.next = StoreFault.SHORT
    assert len(run(rig.store.get("old"))) < 10
    rig.next = StoreFault.SHORT
    assert run(joined(rig.store.get_stream("old"))) == b"012345678"


def test_a_corrupt_read_differs_in_one_bit(rig: Rig) -> None:
    for read in (rig.store.get("old"), rig.store.get_range("old", 0, 10), joined(rig.store.get_stream("old"))):
        rig.next = StoreFault.CORRUPT
        data = run(read)
        assert len(data) == 10
        assert sum((a ^ b).bit_count() for a, b in zip(data, b"0123456789", strict=True)) == 1
    assert run(rig.store.get("old")) == b"0123456789"


def test_a_broken_stream(rig: Rig) -> None:
    run(rig.store.put("big", bytes(10 * MIB)))
    rig.next = StoreFault.BROKEN

    async def play() -> int:
        size = 0
        with pytest.raises(Transient):
            async for chunk in rig.store.get_stream("big"):
                size += len(chunk)
        return size

    assert 0 < run(play()) < 10 * MIB


def test_stale_answers(rig: Rig) -> None:
    for name in ("a", "b", "c"):
        run(rig.store.put(name, b""))
    run(rig.store.delete("b"))
    run(rig.store.delete("c"))
    run(rig.store.put("c", b"again"))
    rig.next = StoreFault.SHOWN
    assert run(paths(rig.store)) == ["a", "b", "c", "old"]
    rig.next = StoreFault.SHOWN
    assert run(paths(rig.store, "b", "a")) == ["b"]
    rig.next = StoreFault.HIDDEN
    assert run(paths(rig.store)) == []
    rig.next = StoreFault.HIDDEN
    with pytest.raises(NotFound):
        run(rig.store.head("a"))
    assert run(paths(rig.store)) == ["a", "c", "old"]


def test_odds_are_kept() -> None:
    ids = counting_ids()
    choose = by_odds({"get": {StoreFault.UNAVAILABLE: 0.1, StoreFault.SLOW: 0.3}}, ids.fraction)
    seen = Counter(choose("get", "k") for _ in range(10_000))
    assert seen[StoreFault.UNAVAILABLE] == pytest.approx(1000, rel=0.15)
    assert seen[StoreFault.SLOW] == pytest.approx(3000, rel=0.1)
    assert all(choose("put", "k") is None for _ in range(100))


@pytest.mark.parametrize(
    "odds",
    [
        pytest.param({"get": {StoreFault.LOST: 0.1}}, id="a fault that does not fit"),
        pytest.param({"get": {StoreFault.SLOW: 0.6, StoreFault.SHORT: 0.6}}, id="more than certain"),
    ],
)
def test_odds_that_make_no_sense(odds: dict[str, dict[StoreFault, float]]) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        by_odds(odds, lambda: 0.5)


def test_a_run_is_replayed() -> None:
    odds = {verb: {fault: 0.9 / len(faults) for fault in sorted(faults)} for verb, faults in FITTING.items()}
    first = FaultStore(MemoryStore(), StillClock(), by_odds(odds, counting_ids().fraction))
    seen = run(story(first))
    assert len({shot.fault for shot in first.shots}) == len(StoreFault) + 1, "every fault happened, and none"
    again = FaultStore(MemoryStore(), StillClock(), replaying(first.shots))
    assert run(story(again)) == seen
    assert again.shots == first.shots


def test_every_fault_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "operations" / "stores.md").read_text()
    rows = {line.split("|")[1].strip(" `"): line for line in page.splitlines() if line.startswith("| `")}
    assert {fault.value for fault in StoreFault} <= rows.keys()


def test_a_replay_that_differs_says_so() -> None:
    store = FaultStore(MemoryStore(), StillClock(), replaying([Shot("get", "k", None)]))
    with pytest.raises(AssertionError, match="put k instead of get k"):
        run(store.put("k", b""))


async def story(store: Store) -> list[str]:
    """Some of everything, many times; what came of it."""
    seen: list[str] = []
    for turn in range(150):
        path = f"k{turn % 7}"
        calls = [write(store, verb, path) for verb in WRITES]
        reads = [store.get(path), store.get_range(path, 0, 1), joined(store.get_stream(path)), store.head(path)]
        for call in [*calls, *reads, paths(store), store.delete(path)]:
            try:
                seen.append(repr(await call)[:40].partition("modified")[0])
            except LochanError as error:
                seen.append(repr(error))
    return [line.partition(", modified")[0] for line in seen]


async def write(store: Store, verb: str, path: str) -> None:
    match verb:
        case "put":
            await store.put(path, b"12")
        case "put_if_absent":
            await store.put_if_absent(path, b"12")
        case "put_stream":
            await store.put_stream(path, chunks(2, 2))
