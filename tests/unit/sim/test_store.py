"""The simulated store keeps the contract of a store when nothing goes wrong, and breaks it in the ways it says."""

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from lochan.errors import AlreadyExists, DiskFull, Invalid, NotFound, Transient
from tests.sim.chooser import Chooser, Replay, Script
from tests.sim.machine import Machine
from tests.sim.store import SimStore
from tests.sim.world import World

DAY = 86_400


def play(
    code: Callable[[Machine], Coroutine[Any, Any, Any]], chooser: Chooser | None = None, **options: Any
) -> tuple[Any, SimStore]:
    with World(chooser or Replay([], {}), tick_us=1_000) as world:
        store = world.store(faulty=lambda verb, path: True, **options)
        machine = world.machine("A")
        task = machine.spawn(code(machine))
        world.run(max_steps=1_000)
        return task.result(), store


def faulted(*faults: str) -> Chooser:
    return Script(faults)


def test_the_verbs() -> None:
    async def code(machine: Machine) -> None:
        store = machine.store
        with pytest.raises(NotFound):
            await store.get("a/x")
        with pytest.raises(NotFound):
            await store.head("a/x")
        await store.put_if_absent("a/x", b"one")
        with pytest.raises(AlreadyExists):
            await store.put_if_absent("a/x", b"two")
        assert await store.get("a/x") == b"one"
        await store.put("a/x", b"three")
        assert await store.get_range("a/x", 1, 4) == b"hre"
        with pytest.raises(Invalid):
            await store.get_range("a/x", 1, 6)

        async def chunks() -> AsyncIterator[bytes]:
            for _ in range(3):
                yield b"z" * 50_000

        assert await store.put_stream("a/y", chunks()) == 150_000
        assert [len(chunk) async for chunk in store.get_stream("a/y")] == [65_536, 65_536, 18_928]
        assert [stat.path async for stat in store.list("a/", after="a/x")] == ["a/y"]
        stat = await store.head("a/x")
        assert (stat.size, stat.path) == (5, "a/x") and stat.etag
        await store.delete("a/x")
        await store.delete("a/x")
        assert [stat.path async for stat in store.list()] == ["a/y"]

    play(code)


def test_a_listing_goes_page_by_page_in_the_order_of_bytes() -> None:
    names = ["z", "é", "a", "\U0001f600", "b", "ﬀ"]

    async def code(machine: Machine) -> list[str]:
        for name in names:
            await machine.store.put(name, b"")
        return [stat.path async for stat in machine.store.list()]

    paths, store = play(code, page=2)
    assert paths == sorted(names, key=str.encode)
    assert [effect.verb for effect in store.history].count("list") == 4  # the last one finds nothing more


def test_the_history_is_what_truly_happened() -> None:
    async def code(machine: Machine) -> None:
        with pytest.raises(Transient):
            await machine.store.put_if_absent("x", b"1")
        await machine.store.get("x")

    _, store = play(code, faulted("lost"))
    assert [(e.who, e.verb, e.path, e.data, e.outcome, e.fault) for e in store.history] == [
        ("A", "put_if_absent", "x", b"1", "created", "lost"),
        ("A", "get", "x", b"1", "read", ""),
    ]


@pytest.mark.parametrize(
    "fault, error, there",
    [
        ("before", Transient, False),
        ("lost", Transient, True),
        ("conflict", AlreadyExists, False),
        ("full", DiskFull, False),
    ],
)
def test_a_faulty_conditional_put(fault: str, error: type[Exception], there: bool) -> None:
    async def code(machine: Machine) -> None:
        with pytest.raises(error):
            await machine.store.put_if_absent("x", b"1")

    _, store = play(code, faulted(fault))
    assert store.peek("x") == (b"1" if there else None)


def test_a_late_put_lands_after_others_have_looked() -> None:
    async def code(machine: Machine) -> None:
        with pytest.raises(Transient):
            await machine.store.put_if_absent("x", b"1")
        with pytest.raises(NotFound):
            await machine.store.get("x")

    _, store = play(code, faulted("late"))
    assert store.peek("x") == b"1"
    assert store.history[-1].wandering


def test_a_second_delivery_brings_back_what_was_deleted() -> None:
    async def code(machine: Machine) -> None:
        await machine.store.put_if_absent("x", b"1")
        await machine.store.delete("x")

    _, store = play(code, faulted("duplicate"))
    assert store.peek("x") == b"1"
    assert [effect.outcome for effect in store.history] == ["created", "deleted", "created"]


def test_a_second_delivery_is_refused_where_the_object_still_is() -> None:
    async def code(machine: Machine) -> None:
        await machine.store.put_if_absent("x", b"1")

    _, store = play(code, faulted("duplicate"))
    assert [effect.outcome for effect in store.history] == ["created", "exists"]


def test_a_late_delete_removes_a_newer_object() -> None:
    async def code(machine: Machine) -> None:
        await machine.store.put("x", b"1")
        with pytest.raises(Transient):
            await machine.store.delete("x")
        await machine.store.put("x", b"2")

    with World(Script(["late"])) as world:
        store = world.store(faulty=lambda verb, path: verb == "delete")
        machine = world.machine("A")
        machine.spawn(code(machine))
        world.run()
        assert store.peek("x") is None


def test_a_stale_listing_misses_the_newest_and_shows_the_deleted() -> None:
    async def code(machine: Machine) -> list[str]:
        for name in ("a", "b", "c"):
            await machine.store.put(name, b"")
        await machine.store.delete("a")
        return [stat.path async for stat in machine.store.list()]

    paths, _ = play(code, faulted("stale"))
    assert paths == ["a", "b"]


def test_a_corrupt_read_differs_in_one_bit_and_only_once() -> None:
    async def code(machine: Machine) -> tuple[bytes, bytes]:
        await machine.store.put("x", bytes(100))
        return await machine.store.get("x"), await machine.store.get("x")

    (first, second), _ = play(code, faulted("corrupt"))
    assert sum(byte.bit_count() for byte in first) == 1 and len(first) == 100
    assert second == bytes(100)


def test_only_what_the_predicate_names_is_faulty() -> None:
    async def code(machine: Machine) -> None:
        await machine.store.put("safe", b"")
        with pytest.raises(Transient):
            await machine.store.put("x", b"")

    with World(Script(["before"])) as world:
        world.store(faulty=lambda verb, path: path == "x")
        machine = world.machine("A")
        machine.spawn(code(machine))
        world.run()


def test_last_modified_is_the_landing_by_the_stores_clock_in_whole_seconds() -> None:
    async def code(machine: Machine) -> tuple[float, int]:
        await machine.clock.sleep(100.5)
        machine.skew(-5 * DAY)
        await machine.store.put("x", b"")
        return (await machine.store.head("x")).modified, machine.clock.wall()

    (modified, wall), _ = play(code)
    assert modified == (wall + 5 * DAY * 1_000_000) // 1_000_000


def test_misdated_kinds_are_stamped_three_days_early() -> None:
    async def code(machine: Machine) -> float:
        await machine.store.put("main/journal/1", b"")
        await machine.store.put("main/journal/seg/1", b"")
        slot, segment = await machine.store.head("main/journal/1"), await machine.store.head("main/journal/seg/1")
        return slot.modified - segment.modified

    assert play(code, misdated={"seg"})[0] == pytest.approx(3 * DAY, abs=1)


def test_a_late_put_may_be_stamped_when_it_was_sent() -> None:
    def stamp(**options: Any) -> float:
        async def code(machine: Machine) -> None:
            with pytest.raises(Transient):
                await machine.store.put("x", b"")
            await machine.clock.sleep(2 * DAY)

        _, store = play(code, Script(["late", "wait for a timer"]), **options)
        return store.modified("x")

    assert stamp() - stamp(stamped_when_sent=True) == pytest.approx(2 * DAY, abs=1)


def test_planted_objects_have_an_age_and_no_history() -> None:
    with World(Replay([], {})) as world:
        store = world.store()
        store.plant("b", b"2", age_s=2 * DAY)
        store.plant("a", b"1")
        assert store.paths() == ["a", "b"] and store.peek("c") is None
        assert store.modified("a") - store.modified("b") == 2 * DAY
        store.remove("a")
        assert store.paths() == ["b"] and store.history == []
