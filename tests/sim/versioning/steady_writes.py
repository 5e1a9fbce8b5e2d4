"""A commit under a steady stream of writes and head moves always lands: the turn of rule S1.

One machine takes long to write the files of its commit. Others move the head of the same branch as fast as they can,
and write to it, for as long as the commit is under way. Without turns, each of its attempts would come too late,
forever.
"""

import random

from lochan.versioning.state import refs_fold
from tests.sim.chooser import WALK_BUDGETS, WALK_RATES, Chooser
from tests.sim.explore import Result, Run, walk
from tests.sim.machine import Machine
from tests.sim.plants import NONE, Plant
from tests.sim.versioning.cached_codecs import cache_codecs
from tests.sim.versioning.client import Client
from tests.sim.versioning.oracle import RepositoryOracle
from tests.sim.versioning.place import WHOLE, Place
from tests.sim.world import World

# No crash, no fault and no jump, except the one that a seed plants: the promise is to clients that go on.
BUDGETS = {**WALK_BUDGETS, "fault": 0, "jump": 0, "crash": 0, "stall": 0, "skew": 0, "stale": 0}
MAX_STEPS = 20_000
EVENTS_MAX = 1_000


class Steady:
    def __init__(self, chooser: Chooser, plant: Plant) -> None:
        self.random = random.Random(chooser.seed * 13 + 3)
        self.world = World(chooser)
        self.plant = plant
        self.oracle = RepositoryOracle(self.world, self.world.store(), "repo")
        self.place = Place(self.oracle, instant=True, cut=WHOLE)
        self.movers = self.random.choice((1, 2, 3))
        # So few seals that committers are in each other's way: to evict the oldest would let them do so for ever.
        self.seals = Plant(plant.rules, ((refs_fold, "SEALS_MAX", self.random.choice((1, 2, 8))),))
        self.landed = False

    def run(self) -> None:
        with cache_codecs(), self.seals.planted(), self.plant.planted():
            begun = self.world.machine("old")
            begun.spawn(self._begin(begun))
            self.world.run(jumps=())
            committer = self.world.machine("slow")
            committer.spawn(self._commit(committer))
            for number in range(self.movers):
                mover = self.world.machine(f"m{number}")
                mover.spawn(self._move(mover, number))
            writer = self.world.machine("w")
            writer.spawn(self._write(writer))
            if self.random.random() < 0.3:
                self._lose_one(writer)
            self.world.run(max_steps=MAX_STEPS, jumps=())
            self.oracle.judge()

    def _lose_one(self, by: Machine) -> None:
        """A writer queues and is never heard of again: the others drop it when its time is over."""
        machine = self.world.machine("lost")
        machine.spawn(self._move(machine, 9))
        by.spawn(self._crash(by, machine))

    async def _crash(self, by: Machine, machine: Machine) -> None:
        await by.clock.sleep(self.random.uniform(0.02, 0.5))
        machine.crash()

    async def _begin(self, machine: Machine) -> None:
        client = Client(self.place, machine, await self.place.begin(machine), "old")
        await client.put("main", "a")
        await client.create("dev", "main")
        await client.repository.close()

    async def _commit(self, machine: Machine) -> None:
        repository = await self.place.open(machine, slow_s=self.random.choice((0.02, 0.05, 0.1)))
        client = Client(self.place, machine, repository, "slow")
        if not await client.commit("main"):
            self.world.fail("STARVED: the commit was given up")
        self.landed = True
        await repository.close()

    async def _move(self, machine: Machine, number: int) -> None:
        client = Client(self.place, machine, await self.place.open(machine), machine.name)
        imports = self.random.random() < 0.6
        while not self.landed:
            if imports:
                await client.bring_in("main", f"m{number}")
            else:
                await client.put("main", f"m{number}")
                await client.commit("main", f"m{number}")
            if self.overtaken() > self.movers + 1:
                self.world.fail(f"STARVED: {self.overtaken()} head moves came first since the commit queued")
            if len(self.oracle.events) > EVENTS_MAX:
                self.world.fail("STARVED: the commit has neither landed nor queued")
        await client.repository.close()

    def overtaken(self) -> int:
        """How many landed after the commit was refused once and queued. Those before it in the queue may."""
        count, queued = 0, False
        for type, tag in self.oracle.events:
            if "slow" in tag:
                if type == "committed":
                    return count
                queued = queued or type == "turned"
            count += queued and type in ("moved", "committed")
        return count

    async def _write(self, machine: Machine) -> None:
        client = Client(self.place, machine, await self.place.open(machine), "w")
        while not self.landed:
            await client.put("main", "b")
            await machine.clock.sleep(0.05)
        await client.repository.close()


def steady(plant: Plant = NONE) -> Run:
    return lambda chooser: Steady(chooser, plant).run()


def live_steadily(seeds: range, plant: Plant = NONE) -> Result:
    return walk(steady(plant), seeds, budgets=BUDGETS, rates=WALK_RATES)
