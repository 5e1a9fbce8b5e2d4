"""Writers that die in the queue of a branch do not hold up others for long, and a living writer is not mistaken for a
dead one (S1).

Some machines queue, each with one or several requests, and crash. One stands still for a while and goes on. Another is
alive but slow: it is first in the queue for longer than a writer may be silent. Whoever commits after all of them have
died lands within fifteen seconds.
"""

import random
from collections.abc import Iterable, Sequence

from lochan.formats.record import Actor
from lochan.formats.repository_events import TurnOver
from lochan.versioning.heads import branch_queue
from lochan.versioning.heads.branch_queue import BranchQueue
from lochan.versioning.state.branch import Turn
from tests.sim.chooser import WALK_RATES, Chooser
from tests.sim.explore import Result, Run, walk
from tests.sim.machine import Machine
from tests.sim.plants import NONE, Plant, ShortDay
from tests.sim.versioning.cached_codecs import cache_codecs
from tests.sim.versioning.client import Client
from tests.sim.versioning.oracle import RepositoryOracle
from tests.sim.versioning.place import WHOLE, Place
from tests.sim.versioning.steady_writes import BUDGETS
from tests.sim.world import World

HELD_UP_S_MAX = 15.0
_SLOW_S = 3.5  # that the living one takes for each file of its commit, of which there are five


class DeadQueue:
    def __init__(self, chooser: Chooser, plant: Plant) -> None:
        self.random = random.Random(chooser.seed * 17 + 5)
        self.world = World(chooser)
        self.plant = plant
        self.oracle = RepositoryOracle(self.world, self.world.store(), "repo")
        self.place = Place(self.oracle, instant=True, cut=WHOLE)

    def run(self) -> None:
        with cache_codecs(), self.plant.planted():
            self._all_at_once([("old", self._begin)])
            if self.random.random() < 0.5:
                self._slow_and_alive()
            self._die_in_the_queue()
            self._all_at_once([("next", self._commit_soon)])
            self.oracle.judge()

    def _all_at_once(self, plays: list[tuple[str, object]]) -> None:
        for name, play in plays:
            machine = self.world.machine(name)
            machine.spawn(play(machine))  # type: ignore[operator]
        self.world.run(max_steps=20_000, jumps=())

    async def _begin(self, machine: Machine) -> None:
        client = Client(self.place, machine, await self.place.begin(machine), "old")
        await client.put("main", "a")
        await client.repository.close()

    # --- a living one ------------------------------------------------------------------------------------------------
    def _slow_and_alive(self) -> None:
        """It is refused once, by a move that comes first, and then needs longer than anybody may be silent."""
        self._all_at_once([("slow", self._commit_slowly), ("quick", self._move_often)])

    async def _commit_slowly(self, machine: Machine) -> None:
        client = Client(self.place, machine, await self.place.open(machine, slow_s=_SLOW_S), "slow")
        await client.put("main", "s")
        if not await client.commit("main", "s"):
            self.world.fail("STARVED: the slow commit was given up")
        if any("slow" in tag and type == "turn-over" for type, tag in self.oracle.events):
            self.world.fail("DROPPED: a writer that was alive was sent away")
        await client.repository.close()

    async def _move_often(self, machine: Machine) -> None:
        client = Client(self.place, machine, await self.place.open(machine), "quick")
        machine.spawn(self._set_wall_clock(machine), daemon=True)
        for number in range(2):
            await machine.clock.sleep(self.random.uniform(5, 8))  # the slow one has sealed, and writes its files
            await client.bring_in("main", f"q{number}")
        others = [tag for type, tag in self.oracle.events if type == "turn-over"]
        if others:
            self.world.fail(f"DROPPED: {others} sent a writer away that was alive")
        await client.repository.close()

    async def _set_wall_clock(self, machine: Machine) -> None:
        await machine.clock.sleep(self.random.uniform(12, 25))
        machine.skew(3_600)

    # --- dead ones ---------------------------------------------------------------------------------------------------
    def _die_in_the_queue(self) -> None:
        dead = [self.world.machine(f"dead{number}") for number in range(self.random.choice((1, 3, 6)))]
        reaper = self.world.machine("reaper")
        for machine in dead:
            machine.spawn(self._queue(machine, self.random.choice((1, 2, 6))), daemon=True)
        reaper.spawn(self._reap(reaper, dead))
        self.world.run(max_steps=20_000, jumps=())

    async def _queue(self, machine: Machine, requests: int) -> None:
        repository = await self.place.open(machine)
        for _ in range(requests):
            await BranchQueue(repository, "main", Actor("user", "sim", "on the way"))._enter()
        await machine.clock.sleep(1_000)

    async def _reap(self, reaper: Machine, dead: list[Machine]) -> None:
        await reaper.clock.sleep(2)
        for machine in dead:
            await reaper.clock.sleep(self.random.uniform(0, 2))
            machine.crash()

    async def _commit_soon(self, machine: Machine) -> None:
        client = Client(self.place, machine, await self.place.open(machine), "next")
        began = machine.clock.boot()
        if not await client.commit("main"):
            self.world.fail("STARVED: the commit behind dead writers was given up")
        held_up_s = machine.clock.boot() - began
        if held_up_s > HELD_UP_S_MAX:
            self.world.fail(f"HELD UP: dead writers held a commit up for {held_up_s:.0f} s")
        await client.repository.close()


def dead_queue(plant: Plant = NONE) -> Run:
    return lambda chooser: DeadQueue(chooser, plant).run()


def live_with_dead_queues(seeds: range, plant: Plant = NONE) -> Result:
    return walk(dead_queue(plant), seeds, budgets=BUDGETS, rates=WALK_RATES)


# --- planted bugs ----------------------------------------------------------------------------------------------------
def _first_alone(self: BranchQueue, turns: Sequence[Turn], ahead: Sequence[Turn], now: float) -> Iterable[TurnOver]:
    """Only the first in the queue ages, from the moment when it became the first."""
    if self._ages.at_front_s(now) > branch_queue.SILENT_S:
        yield TurnOver(self._branch, ahead[0].request)


def _by_the_wall(self: BranchQueue) -> float:
    return self._repository.clock.wall() / 1e6


PLANTS: dict[str, Plant] = {
    "S1: only the first in the queue ages": Plant(ShortDay(), ((BranchQueue, "_overdue_turns", _first_alone),)),
    "S1: nobody in the queue renews": Plant(ShortDay(), ((branch_queue, "RENEW_S", 1e6),)),
    "S1: ages in the queue are judged by wall clocks": Plant(ShortDay(), ((BranchQueue, "_now", _by_the_wall),)),
}
