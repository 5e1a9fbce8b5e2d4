"""What is retried, how often and for how long; and what never is."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from lochan.errors import AlreadyExists, DiskFull, NotFound, Transient
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Store
from lochan.store.retry import RetryStore
from tests.run import run
from tests.store_contract import MIB, chunks, joined, paths
from tests.store_faults import FaultStore, StoreFault, by_odds
from tests.unit.store.clocks import StillClock, counting_ids

CALLS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "get": lambda store: store.get("k"),
    "get_range": lambda store: store.get_range("k", 0, 1),
    "get_stream": lambda store: joined(store.get_stream("k")),
    "head": lambda store: store.head("k"),
    "put": lambda store: store.put("k", b"1"),
    "delete": lambda store: store.delete("k"),
    "list": lambda store: paths(store),
    "put_if_absent": lambda store: store.put_if_absent("new", b"1"),
    "put_stream": lambda store: store.put_stream("k", chunks(1, 1)),
}
REPEATED = [verb for verb in CALLS if verb not in ("put_if_absent", "put_stream")]


class Rig:
    """A store that gives the next fault of a list to the next call."""

    def __init__(self, *faults: StoreFault, immutable: bool = False, deadline_s: float = 20) -> None:
        self.clock = StillClock()
        self.faults = list(faults)
        self.memory = MemoryStore()
        self.counts = RequestCounts()
        failing = FaultStore(self.memory, self.clock, lambda verb, path: self.faults.pop(0) if self.faults else None)
        counting = CountingStore(failing, self.counts)
        self.store = RetryStore(
            counting, self.clock, counting_ids(), deadline_s=deadline_s, immutable=lambda path: immutable
        )
        run(self.memory.put("k", b"1"))


@pytest.mark.parametrize("verb", REPEATED)
def test_these_are_repeated_until_they_succeed(verb: str) -> None:
    rig = Rig(*[StoreFault.UNAVAILABLE] * 3)
    run(awaited(CALLS[verb](rig.store)))
    assert rig.counts.verbs[verb].requests == 4
    assert len(rig.clock.sleeps) == 3


@pytest.mark.parametrize("verb", ["put_if_absent", "put_stream"])
@pytest.mark.parametrize("fault", [StoreFault.UNAVAILABLE, StoreFault.TIMEOUT, StoreFault.LOST])
def test_these_are_never_repeated(verb: str, fault: StoreFault) -> None:
    rig = Rig(fault)
    with pytest.raises(Transient):
        run(awaited(CALLS[verb](rig.store)))
    assert rig.counts.total.requests == 1


def test_a_lost_answer_to_a_create_goes_to_the_caller_as_it_is() -> None:
    rig = Rig(StoreFault.LOST)
    with pytest.raises(Transient):
        run(rig.store.put_if_absent("new", b"1"))
    assert run(rig.memory.get("new")) == b"1"


@pytest.mark.parametrize("verb", REPEATED)
def test_a_store_that_is_down_is_given_up_at_the_deadline(verb: str) -> None:
    rig = Rig(*[StoreFault.UNAVAILABLE] * 1000, deadline_s=10)
    with pytest.raises(Transient):
        run(awaited(CALLS[verb](rig.store)))
    assert 5 < rig.clock.now < 10
    assert rig.counts.total.requests < 40


def test_waits_grow_and_are_jittered() -> None:
    rig = Rig(*[StoreFault.UNAVAILABLE] * 12)
    run(rig.store.get("k"))
    longest = [min(2.0, 0.05 * 2**attempt) for attempt in range(12)]
    assert all(0 <= wait < limit for wait, limit in zip(rig.clock.sleeps, longest, strict=True))
    assert len(set(rig.clock.sleeps)) == 12


def test_only_transient_is_repeated() -> None:
    rig = Rig(StoreFault.FULL)
    with pytest.raises(DiskFull):
        run(rig.store.put("k", b"1"))
    with pytest.raises(NotFound):
        run(rig.store.get("nothing"))
    with pytest.raises(AlreadyExists):
        run(rig.store.put_if_absent("k", b""))
    assert rig.clock.sleeps == []


def test_a_list_goes_on_after_the_last_path() -> None:
    rig = Rig(*[StoreFault.BROKEN] * 5)
    names = ["k", *(f"n{number}" for number in range(9))]
    for name in names:
        run(rig.memory.put(name, b""))
    assert run(paths(rig.store)) == names
    assert rig.counts.list.requests == 6


@pytest.mark.thorough
def test_a_broken_stream_is_resumed_where_objects_never_change() -> None:
    rig = Rig(StoreFault.UNAVAILABLE, StoreFault.BROKEN, StoreFault.UNAVAILABLE, StoreFault.UNAVAILABLE, immutable=True)
    whole = run(joined(chunks(20, MIB)))
    run(rig.memory.put("k", whole))
    assert run(joined(rig.store.get_stream("k"))) == whole
    assert rig.counts.get_stream.bytes_in == 4 * MIB
    assert rig.counts.get_range.bytes_in == 16 * MIB


def test_a_broken_stream_is_not_resumed_where_objects_may_change() -> None:
    rig = Rig(StoreFault.BROKEN)
    run(rig.memory.put("k", bytes(20 * MIB)))
    with pytest.raises(Transient, match="broke"):
        run(joined(rig.store.get_stream("k")))
    assert rig.counts.total.requests == 1


def test_the_chunks_of_a_failed_upload_are_asked_for_once() -> None:
    asked = 0

    async def source() -> AsyncIterator[bytes]:
        nonlocal asked
        asked += 1
        yield b"1"

    rig = Rig(StoreFault.LOST)
    with pytest.raises(Transient):
        run(rig.store.put_stream("k", source()))
    assert asked == 1


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_few_failures_reach_the_caller(share: float) -> None:
    clock, ids = StillClock(), counting_ids()
    memory = MemoryStore()
    run(memory.put("k", b"1"))
    failing = FaultStore(memory, clock, by_odds({"get": {StoreFault.UNAVAILABLE: share}}, ids.fraction))
    store = RetryStore(failing, clock, ids)

    async def play() -> int:
        return sum([len(await store.get("k")) for _ in range(1000)])

    assert run(play()) == 1000


async def awaited(call: Awaitable[object]) -> object:
    return await call
