"""Small protocols with one known bug each, to see whether the simulator finds it; and the same without the bug."""

import asyncio

from lochan.errors import AlreadyExists, NotFound, Retry
from tests.sim.chooser import Chooser
from tests.sim.machine import Machine
from tests.sim.violation import Violation
from tests.sim.world import World


class Counter:
    """Two machines add one each. Reading and writing back loses one; claiming numbered slots does not."""

    def __init__(self, *, buggy: bool) -> None:
        self._add = self._read_modify_write if buggy else self._claim

    def __call__(self, chooser: Chooser) -> None:
        world = World(chooser)
        store = world.store()
        for name in "AB":
            machine = world.machine(name)
            machine.spawn(self._add(machine))
        world.run(jumps=())
        total = int(store.peek("count") or len(store.paths("slot/")))
        if total != 2:
            raise Violation(f"lost update: the count is {total}")

    async def _read_modify_write(self, machine: Machine) -> None:
        try:
            count = int(await machine.store.get("count"))
        except NotFound:
            count = 0
        await machine.store.put("count", b"%d" % (count + 1))

    async def _claim(self, machine: Machine) -> None:
        for number in range(3):
            try:
                await machine.store.put_if_absent(f"slot/{number}", machine.name.encode())
                return
            except AlreadyExists:
                continue


class Creator:
    """Creates an object and reports whether it did. The buggy one takes "no answer" for "no"; the other reads back."""

    def __init__(self, *, buggy: bool) -> None:
        self._buggy = buggy

    def __call__(self, chooser: Chooser) -> None:
        world = World(chooser)
        store = world.store(faulty=lambda verb, path: verb == "put_if_absent", faults=("before", "lost", "conflict"))
        machines = [world.machine(name) for name in "AB"]
        tasks = [machine.spawn(self._create(machine)) for machine in machines]
        world.run(jumps=(), crashes=True)
        for machine, task in zip(machines, tasks, strict=True):
            owns = store.peek("x") == machine.name.encode()
            if machine.alive and task.result() != owns:
                raise Violation(f"wrong answer: {machine.name} says {task.result()}, the truth is {owns}")

    async def _create(self, machine: Machine) -> bool:
        while True:
            try:
                await machine.store.put_if_absent("x", machine.name.encode())
                return True
            except (AlreadyExists, Retry):
                if self._buggy:
                    return False
            try:
                return await machine.store.get("x") == machine.name.encode()
            except NotFound:
                continue


class Lease:
    """Two machines take turns by a lease of a minute. The buggy holder tests its lease before it sends, and a write
    that lands later overwrites its successor's; the other one writes each term to a path of its own."""

    def __init__(self, *, buggy: bool) -> None:
        self._buggy = buggy

    def __call__(self, chooser: Chooser) -> None:
        world = World(chooser)
        store = world.store()
        store.plant("lease", b"0")
        for name in "AB":
            machine = world.machine(name)
            machine.spawn(self._work(machine))
        world.run(max_steps=200)
        for path in store.paths("work"):
            writes = [int(effect.data or b"") for effect in store.history if effect.path == path]
            if writes != sorted(writes):
                raise Violation(f"overwritten: the holders wrote in the order {writes}")

    async def _work(self, machine: Machine) -> None:
        term = int((await machine.store.get("lease")).decode().partition("@")[0])
        if term:
            await machine.clock.sleep(60)
        taken = machine.clock.boot()
        await machine.store.put("lease", b"%d@%f" % (term + 1, taken))
        if machine.clock.boot() - taken < 60:
            await machine.store.put("work" if self._buggy else f"work/{term + 1}", b"%d" % (term + 1))


class Busy:
    """A bit of everything, for comparing traces: tasks, timers, retries, ids, wall clocks, sets, deaths."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, chooser: Chooser) -> None:
        world = World(chooser)
        world.store(faulty=lambda verb, path: True, page=2)

        def start(name: str) -> None:
            machine = world.machine(name, skew_us=len(name))
            machine.on_crash = lambda: start(name + "'") if len(name) < 3 else None
            machine.spawn(self._serve(machine))

        for name in "ABC":
            start(name)
        try:
            world.run(max_steps=2_000, crashes=True, stalls=(5, 500), skews=(-86_400, 3_600), lost_ok=True)
        finally:
            self.lines = world.lines()

    async def _serve(self, machine: Machine) -> None:
        try:
            async with asyncio.timeout(3_600):
                while not await self._round(machine):
                    await machine.clock.sleep(machine.ids.fraction())
        except TimeoutError:
            machine.world.note(machine.name, "gives up")

    async def _round(self, machine: Machine) -> bool:
        name = machine.ids.ksuid(machine.clock.wall())
        tasks = {asyncio.create_task(machine.store.put_if_absent(f"{name}/{i}", b"%d" % i)) for i in range(3)}
        done, _ = await asyncio.wait(tasks)
        for task in done:  # a set: its order is part of the trace
            machine.world.note(machine.name, repr(task.exception()))
        try:
            paths = [stat.path async for stat in machine.store.list()]
            await machine.store.delete(paths[0])
            await asyncio.wait_for(machine.store.get(paths[-1]), 30)
        except (Retry, NotFound, TimeoutError, IndexError) as error:
            machine.world.note(machine.name, type(error).__name__)
            return False
        return True
