"""Counting and latency, and the order in which wrappers are stacked."""

import pytest

from lochan.errors import NotFound
from lochan.store.counts import CountingStore, RequestCounts, Tally
from lochan.store.memory import MemoryStore
from lochan.store.open import stack
from tests.run import run
from tests.store_contract import chunks, joined, paths
from tests.store_faults import FaultStore, LatencyStore, StoreFault
from tests.unit.store.clocks import StillClock, counting_ids


def test_counts_by_verb() -> None:
    counts = RequestCounts()
    store = CountingStore(MemoryStore(), counts)

    async def play() -> None:
        await store.put("a", b"12345")
        await store.put_if_absent("b", b"123")
        await store.put_stream("c", chunks(3, 2))
        await store.get("a")
        await store.get("a")
        await store.get_range("a", 1, 3)
        await joined(store.get_stream("c"))
        await store.head("a")
        assert await paths(store) == ["a", "b", "c"]
        await store.delete("a")
        with pytest.raises(NotFound):
            await store.get("a")

    run(play())
    assert counts.get == Tally(requests=3, errors=1, bytes_in=10)
    assert counts.get_range == Tally(requests=1, bytes_in=2)
    assert counts.get_stream == Tally(requests=1, bytes_in=6)
    assert counts.put == Tally(requests=1, bytes_out=5)
    assert counts.put_if_absent == Tally(requests=1, bytes_out=3)
    assert counts.put_stream == Tally(requests=1, bytes_out=6)
    assert counts.head == counts.list == counts.delete == Tally(requests=1)
    assert counts.total == Tally(requests=11, errors=1, bytes_in=18, bytes_out=14)


def test_latency_by_verb() -> None:
    clock = StillClock()
    store = LatencyStore(MemoryStore(), clock, lambda verb: {"get": 0.02, "put": 0.1}.get(verb, 0))

    async def play() -> None:
        await store.put("a", b"")
        await store.get("a")
        await store.head("a")

    run(play())
    assert clock.sleeps == [0.1, 0.02]


def test_each_attempt_is_counted() -> None:
    clock, counts = StillClock(), RequestCounts()
    faults = [None, StoreFault.UNAVAILABLE, StoreFault.UNAVAILABLE]
    faulty = FaultStore(MemoryStore(), clock, lambda verb, path: faults.pop(0) if faults else None)
    store = stack(faulty, clock=clock, ids=counting_ids(), counts=counts)

    async def play() -> None:
        await store.put("a", b"1")
        assert await store.get("a") == b"1"

    run(play())
    assert counts.get.requests == 3
    assert counts.get.errors == 2


def test_without_options_a_stack_is_only_the_retry() -> None:
    memory = MemoryStore("a name")
    store = stack(memory, clock=StillClock(), ids=counting_ids())
    run(store.put("a", b"1"))
    assert run(memory.get("a")) == b"1"
    assert store.url == "memory://a name"
