"""Ordinary asyncio code runs on the simulated loop, in virtual time, always the same way."""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.sim.chooser import Replay
from tests.sim.machine import Machine
from tests.sim.world import World


def play(code: Callable[[Machine], Coroutine[Any, Any, Any]]) -> Any:
    """The result of one coroutine on one machine, nothing going wrong."""
    with World(Replay([], {}), tick_us=0) as world:
        machine = world.machine("A")
        task = machine.spawn(code(machine))
        world.run(max_steps=1_000)
        return task.result()


def test_sleeping_takes_virtual_time_only() -> None:
    async def code(machine: Machine) -> float:
        before = machine.clock.boot()
        await machine.clock.sleep(3 * 86_400)
        return machine.clock.boot() - before

    assert play(code) == pytest.approx(3 * 86_400)


def test_a_deadline_that_was_slept_out_is_over() -> None:
    async def code(machine: Machine) -> None:
        for delay in (0.1, 0.3, 1 / 3, 0.7, 1e-7):
            deadline = machine.clock.boot() + delay
            await machine.clock.sleep(deadline - machine.clock.boot())
            assert machine.clock.boot() >= deadline

    play(code)


def test_gather_event_lock_and_queue() -> None:
    async def code(machine: Machine) -> list[str]:
        log: list[str] = []
        event, lock, queue = asyncio.Event(), asyncio.Lock(), asyncio.Queue[str]()

        async def waiter(name: str) -> None:
            await event.wait()
            async with lock:
                log.append(name)
                await machine.clock.sleep(1)
                log.append(name)
            await queue.put(name)

        async def opener() -> None:
            await machine.clock.sleep(5)
            event.set()

        await asyncio.gather(waiter("x"), waiter("y"), opener())
        return [*log, await queue.get(), await queue.get()]

    assert play(code) == ["x", "x", "y", "y", "x", "y"]


def test_timeouts_cancel_what_takes_too_long_and_only_that() -> None:
    async def code(machine: Machine) -> list[str]:
        out = []
        try:
            async with asyncio.timeout(1):
                await machine.clock.sleep(2)
        except TimeoutError:
            out.append("timeout")
        try:
            await asyncio.wait_for(machine.clock.sleep(2), 1)
        except TimeoutError:
            out.append("wait_for")
        await asyncio.wait_for(machine.clock.sleep(1), 2)
        async with asyncio.timeout(2):
            await machine.clock.sleep(1)
        return [*out, f"{machine.clock.boot():.0f}"]

    assert play(code) == ["timeout", "wait_for", "9"]  # the world begins at 5


def test_cancel_runs_the_finally_block_of_a_living_task() -> None:
    async def code(machine: Machine) -> list[str]:
        log = []

        async def child() -> None:
            try:
                await machine.clock.sleep(10)
            finally:
                await machine.store.put("x", b"tidied")
                log.append("finally")

        task = asyncio.create_task(child())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return [*log, (await machine.store.get("x")).decode()]

    assert play(code) == ["finally", "tidied"]


def test_a_task_group_aborts_its_tasks_in_the_order_of_their_making() -> None:
    async def code(machine: Machine) -> list[int]:
        log = []

        async def child(i: int) -> None:
            try:
                await machine.clock.sleep(10)
            finally:
                log.append(i)

        async def fail() -> None:
            await machine.clock.sleep(1)
            raise ValueError

        with pytest.raises(ExceptionGroup):
            async with asyncio.TaskGroup() as group:
                for i in range(40):
                    group.create_task(child(i))
                group.create_task(fail())
        return log

    assert play(code) == list(range(40))


def test_async_generators_left_half_way_are_closed_by_the_loop() -> None:
    async def code(machine: Machine) -> bool:
        closed = []

        async def numbers() -> Any:
            try:
                for i in range(10):
                    yield i
            finally:
                await machine.clock.sleep(1)
                closed.append(True)

        async for i in numbers():
            if i == 2:
                break
        await machine.clock.sleep(5)
        return closed == [True]

    assert play(code)


def test_threads_are_refused() -> None:
    async def code(machine: Machine) -> None:
        with pytest.raises(RuntimeError, match="no threads"):
            await asyncio.to_thread(len, "x")

    play(code)


def test_code_that_never_waits_is_stopped() -> None:
    async def code(machine: Machine) -> None:
        while machine.alive:
            await asyncio.create_task(nothing())

    async def nothing() -> None: ...

    with pytest.raises(RuntimeError, match="without waiting"):
        play(code)


def test_what_a_callback_raises_ends_the_run() -> None:
    async def code(machine: Machine) -> None:
        asyncio.get_running_loop().call_later(1, lambda: 1 // 0)
        await machine.clock.sleep(2)

    with pytest.raises(ZeroDivisionError):
        play(code)


def test_many_cancelled_timers_do_not_pile_up() -> None:
    async def code(machine: Machine) -> None:
        for _ in range(2_000):
            async with asyncio.timeout(1_000):
                await asyncio.sleep(0)

    with World(Replay([], {})) as world:
        machine = world.machine("A")
        machine.spawn(code(machine))
        world.run()
        assert len(world.loop._timers) < 300


@pytest.mark.thorough
def test_a_world_leaves_nothing_for_the_collector_to_complain_about() -> None:
    async def stubborn(machine: Machine) -> None:
        while True:
            try:
                await machine.clock.sleep(1e9)
            finally:
                await machine.store.put("x", b"never")
                await asyncio.sleep(1)
                await asyncio.create_task(machine.clock.sleep(1))

    with World(Replay([], {})) as world:
        machine = world.machine("A")
        machine.spawn(stubborn(machine), daemon=True)
        machine.spawn(machine.clock.sleep(1))
        world.run()
    assert world.shared_store().history == []
    del world, machine
    gc.collect()  # a warning or an error in a finaliser fails the test
