"""Machines, their crashes and their clocks; and which thing happens next."""

import asyncio
import gc
from typing import Any

import pytest

from lochan.errors import NotFound
from tests.sim.chooser import Replay, Script
from tests.sim.machine import MACHINE, Machine
from tests.sim.violation import Crashed, Prune, Violation
from tests.sim.world import World

MINUTE_US = 60_000_000


async def put(machine: Machine, *paths: str) -> None:
    for path in paths:
        await machine.store.put(path, machine.name.encode())


def landed(world: World) -> list[str]:
    return [f"{effect.who}:{effect.path}" for effect in world.shared_store().history]


def test_by_default_each_machine_goes_as_far_as_it_can() -> None:
    with World(Replay([], {})) as world:
        for name in "AB":
            machine = world.machine(name)
            machine.spawn(put(machine, "1", "2"))
        world.run()
        assert landed(world) == ["A:1", "A:2", "B:1", "B:2"]


def test_another_machine_may_come_between_effect_and_answer() -> None:
    async def read(machine: Machine) -> bytes:
        return await machine.store.get("x")

    with World(Script(["A get", "B put", "B is answered"])) as world:
        world.store().plant("x", b"old")
        a, b = world.machine("A"), world.machine("B")
        task = a.spawn(read(a))
        b.spawn(put(b, "x"))
        world.run()
        assert task.result() == b"old"
        assert world.shared_store().peek("x") == b"B"
        assert "is answered" in world.lines()[-1]


def test_requests_of_one_machine_may_overtake_each_other() -> None:
    async def both(machine: Machine) -> None:
        await asyncio.gather(put(machine, "1"), put(machine, "2"))

    with World(Script(["A put 2"])) as world:
        a = world.machine("A")
        a.spawn(both(a))
        world.run()
        assert landed(world) == ["A:2", "A:1"]


def test_tasks_made_inside_belong_to_the_machine() -> None:
    async def outer(machine: Machine) -> None:
        async def inner() -> Machine:
            await machine.clock.sleep(1)
            return MACHINE.get()

        assert await asyncio.create_task(inner()) is machine

    with World(Replay([], {})) as world:
        for name in "AB":
            machine = world.machine(name)
            machine.spawn(outer(machine))
        world.run()


def test_a_crash_stops_everything_of_the_machine_and_runs_no_finally_block() -> None:
    log: list[str] = []

    async def doomed(machine: Machine) -> None:
        async def child() -> None:
            try:
                await machine.clock.sleep(1)
                log.append("timer after death")
            finally:
                log.append("child finally")

        task = asyncio.create_task(child())
        try:
            await machine.store.get("x")
        except NotFound:
            log.append("answer after death")
        finally:
            log.append("finally")
            await machine.store.put("tidied", b"")
            await task

    async def survivor(machine: Machine) -> None:
        await machine.clock.sleep(10)
        log.append("survivor ends")

    with World(Script(["A get", "crash A"])) as world:
        a, b = world.machine("A"), world.machine("B")
        a.spawn(doomed(a))
        b.spawn(survivor(b))
        world.run(crashes=True)
        assert log == ["survivor ends"]
        assert world.machines == [b] and not a.alive
    assert world.shared_store().paths() == []  # also not when the world was cleared away


def test_an_event_shared_between_machines_does_not_wake_the_dead() -> None:
    woken: list[str] = []

    async def wait(machine: Machine, event: asyncio.Event) -> None:
        await event.wait()
        woken.append(machine.name)

    async def kill(machine: Machine, victim: Machine, event: asyncio.Event, *, wake_first: bool) -> None:
        if wake_first:
            event.set()  # the victim is ready to run, and does not get to it
        victim.crash()
        event.set()
        await machine.clock.sleep(1)

    for wake_first in (True, False):
        woken.clear()
        with World(Replay([], {})) as world:
            event = asyncio.Event()
            a, b, c = world.machine("A"), world.machine("B"), world.machine("C")
            a.spawn(wait(a, event))
            c.spawn(wait(c, event))
            b.spawn(kill(b, a, event, wake_first=wake_first))
            world.run()
            assert woken == ["C"]


def test_nobody_waits_for_the_timers_of_the_dead() -> None:
    with World(Script(["crash A"])) as world:
        a, b = world.machine("A"), world.machine("B")
        a.spawn(a.clock.sleep(1_000_000))
        b.spawn(put(b, "x"))
        world.run(crashes=lambda machine: machine is a)
        assert world.loop.next_timer_us() is None


def test_a_read_that_was_given_up_is_over() -> None:
    async def give_up(machine: Machine) -> None:
        task = asyncio.create_task(machine.store.get("x"))
        await machine.clock.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    with World(Script(["still on its way"])) as world:
        a = world.machine("A")
        a.spawn(give_up(a))
        world.run()
        assert landed(world) == [] and a.pending == [] and world.wandering == []


def test_the_garbage_collector_does_not_run_during_a_run() -> None:
    async def look(machine: Machine) -> bool:
        return gc.isenabled()

    with World(Replay([], {})) as world:
        a = world.machine("A")
        task = a.spawn(look(a))
        world.run()
        assert not task.result() and gc.isenabled()


def test_a_machine_that_kills_itself_does_nothing_more() -> None:
    async def suicide(machine: Machine) -> None:
        try:
            machine.crash()
        except Exception:
            await put(machine, "swallowed")
        finally:
            await put(machine, "finally")

    with World(Replay([], {})) as world:
        a = world.machine("A")
        task = a.spawn(suicide(a))
        world.run()
        assert isinstance(task.exception(), Crashed)
        assert landed(world) == []


@pytest.mark.parametrize("fate, lands", [("vanishes", False), ("still on its way", True)])
def test_what_a_dead_machine_had_sent_may_still_land(fate: str, lands: bool) -> None:
    async def read(machine: Machine) -> None:
        with pytest.raises(NotFound):
            await machine.store.get("x")

    with World(Script(["crash A", fate])) as world:
        a, b = world.machine("A"), world.machine("B")
        a.spawn(put(a, "x"))
        b.spawn(read(b))
        world.run(crashes=lambda machine: machine is a)
        assert world.shared_store().peek("x") == (b"A" if lands else None)


def test_a_late_put_lands_after_its_machine_died_days_ago() -> None:
    async def watch(machine: Machine) -> None:
        await machine.clock.sleep(3 * 86_400)

    with World(Script(["late", "crash A", "wait for a timer"])) as world:
        world.store(faulty=lambda verb, path: True)
        a, b = world.machine("A"), world.machine("B")
        a.spawn(put(a, "x"))
        b.spawn(watch(b))
        world.run(crashes=True)
        effect = world.shared_store().history[-1]
        assert effect.wandering and effect.outcome == "created" and effect.us > 3 * 86_400 * 1_000_000


def test_a_wandering_request_can_be_left_for_the_next_run() -> None:
    async def give_up(machine: Machine) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(put(machine, "x"), 30)

    with World(Script(["wait for a timer", "A timer", "still on its way"])) as world:
        a = world.machine("A")
        a.spawn(give_up(a))
        world.run(drain=False)
        assert world.shared_store().peek("x") is None and len(world.wandering) == 1
        world.run()
        assert world.shared_store().peek("x") == b"A"


def test_a_new_machine_may_take_the_place_of_a_dead_one() -> None:
    with World(Script(["crash A", "vanishes"])) as world:
        a = world.machine("A")
        a.spawn(put(a, "x"))

        def restart() -> None:
            again = world.machine("A'")
            again.spawn(put(again, "x"))

        a.on_crash = restart
        world.run(crashes=lambda machine: machine is a)
        assert landed(world) == ["A':x"]


def test_one_machine_may_wait_for_anothers_task_or_its_death() -> None:
    async def ask(machine: Machine, other: Machine) -> bool:
        return await other.join(other.spawn(put(other, "x", "y"), daemon=True))

    def play(*words: str) -> tuple[bool, list[str]]:
        with World(Script(words)) as world:
            a, b = world.machine("A"), world.machine("B")
            task = a.spawn(ask(a, b))
            world.run(crashes=lambda machine: machine is b)
            return task.result(), landed(world)

    assert play() == (True, ["B:x", "B:y"])
    assert play("B put y", "crash B") == (False, ["B:x", "B:y"])


def test_a_task_is_seen_to_end_though_the_machine_that_asked_for_it_is_dead() -> None:
    async def ask_and_die(machine: Machine, other: Machine) -> None:
        other.spawn(put(other, "x"))
        machine.crash()

    def restart() -> None:
        c = world.machine("C")
        c.spawn(put(c, "y"))

    with World(Replay([], {})) as world:
        a, b = world.machine("A"), world.machine("B")
        a.on_crash = restart
        a.spawn(ask_and_die(a, b))
        world.run(max_steps=100)
        assert landed(world) == ["B:x", "C:y"]
        with pytest.raises(RuntimeError, match="A is dead"):
            a.spawn(put(a, "z"))


def test_a_stalled_machine_hears_nothing_while_the_others_go_on() -> None:
    heard: list[tuple[str, int]] = []

    async def talk(machine: Machine) -> None:
        await put(machine, machine.name)
        heard.append((machine.name, world.now_us))
        await machine.clock.sleep(30)
        heard.append((machine.name, world.now_us))

    with World(Replay([], {}), tick_us=0) as world:
        a, b = world.machine("A"), world.machine("B")
        a.spawn(talk(a))
        b.spawn(talk(b))
        a.stall(120)
        start = world.now_us
        world.run()
        assert landed(world) == ["A:A", "B:B"]  # what it had sent still lands
        assert [(name, (us - start) / 1e6) for name, us in heard] == [("B", 0), ("B", 30), ("A", 120), ("A", 150)]


def test_stalls_and_skews_can_be_chosen() -> None:
    with World(Script(["stall A 120", "skew B -7200"])) as world:
        a, b = world.machine("A"), world.machine("B", skew_us=5)
        a.spawn(put(a, "x"))
        b.spawn(put(b, "y"))
        assert b.clock.wall() - a.clock.wall() == 5
        world.run(stalls=(120,), skews=(-7200, 7200))
        assert a.clock.wall() - b.clock.wall() == 7_200_000_000
        assert a.clock.boot() == b.clock.boot() > 120


def test_a_jump_makes_answers_and_timers_late() -> None:
    async def timed(machine: Machine) -> float:
        before = machine.clock.boot()
        await machine.store.put("x", b"")
        return machine.clock.boot() - before

    with World(Script(["A put", "clock +7200"])) as world:
        a = world.machine("A")
        task = a.spawn(timed(a))
        world.run(jumps=(120, 7_200))
        assert task.result() == pytest.approx(7_200, abs=1)


def test_a_timeout_can_beat_the_answer_or_not() -> None:
    async def impatient(machine: Machine) -> str:
        try:
            await asyncio.wait_for(put(machine, "x"), 30)
        except TimeoutError:
            return "timeout"
        return "answer"

    def play(*words: str) -> str:
        with World(Script(words)) as world:
            a = world.machine("A")
            task = a.spawn(impatient(a))
            world.run()
            return task.result()

    assert play() == "answer"
    assert play("clock +120") == "answer"  # both had come when the machine woke
    assert play("clock +120", "A timer") == "timeout"
    assert play("A put", "wait for a timer") == "timeout"


def test_time_goes_on_to_the_next_timer_when_nothing_else_is_to_happen() -> None:
    order: list[str] = []

    async def nap(machine: Machine, *naps: float) -> None:
        for seconds in naps:
            await machine.clock.sleep(seconds)
            order.append(f"{machine.name}{seconds}")

    with World(Replay([], {})) as world:
        a, b = world.machine("A"), world.machine("B", boot_offset_s=100)
        a.spawn(nap(a, 10, 20))
        b.spawn(nap(b, 15, 16))
        world.run()
        assert order == ["A10", "B15", "A20", "B16"]
        assert b.clock.boot() - a.clock.boot() == pytest.approx(100)


def test_the_run_ends_with_the_last_task_that_is_not_a_daemon() -> None:
    async def forever(machine: Machine) -> None:
        while True:
            await machine.clock.sleep(1)

    with World(Replay([], {})) as world:
        a = world.machine("A")
        a.spawn(forever(a), daemon=True)
        a.spawn(a.clock.sleep(10))
        world.run()
        a.spawn(forever(a))
        with pytest.raises(Prune):
            world.run(max_steps=100)


def test_waiting_for_what_cannot_come_is_a_violation() -> None:
    async def deadlock(machine: Machine) -> None:
        await asyncio.Event().wait()

    with World(Replay([], {})) as world:
        a = world.machine("A")
        a.spawn(deadlock(a))
        with pytest.raises(Violation, match="nothing can happen: A task-"):
            world.run()


def test_what_a_task_raises_ends_the_run() -> None:
    async def broken(machine: Machine) -> None:
        raise KeyError("x")

    with World(Replay([], {})) as world:
        a = world.machine("A")
        a.spawn(broken(a), daemon=True)
        a.spawn(a.clock.sleep(1))
        with pytest.raises(KeyError):
            world.run()


def test_a_violation_cannot_be_swallowed() -> None:
    async def swallowing(machine: Machine) -> None:
        try:
            world.fail("seen")
        except Exception:
            await machine.clock.sleep(1)

    with World(Replay([], {})) as world:
        a = world.machine("A")
        a.spawn(swallowing(a))
        with pytest.raises(Violation, match="seen"):
            world.run()


def test_a_background_task_that_fails_unheard_is_a_violation() -> None:
    async def careless(machine: Machine) -> Any:
        async def child() -> None:
            raise ValueError("unheard")

        task = asyncio.create_task(child())
        await machine.clock.sleep(1)
        return task

    def play(**options: Any) -> None:
        with World(Replay([], {})) as world:
            a = world.machine("A")
            a.spawn(careless(a))
            world.run(**options)

    with pytest.raises(Violation, match="nobody asked"):
        play()
    play(lost_ok=True)


def test_ids_differ_between_machines_and_seeds_and_not_between_runs() -> None:
    def draw(seed: int) -> list[bytes]:
        with World(Replay([], {}, seed)) as world:
            machines = [world.machine("A"), world.machine("A"), world.machine("B")]
            return [machine.ids.put_id() for machine in machines * 2]

    assert draw(1) == draw(1)
    assert len({*draw(1), *draw(2)}) == 12
