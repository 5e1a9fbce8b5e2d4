"""Random lives of a repository: servers with their clients, compaction at every step, and everything that may go wrong.

One seed is one life. What the seed decides beside the schedule: disk or bucket, how many servers, what the clients do
and how long they think, how eager compaction is, and how often a checkpoint is made.
"""

import random

from lochan.staging.compaction import CompactionLimits
from lochan.versioning.state import refs_fold
from lochan.versioning.upkeep import StagingUpkeep
from tests.sim.chooser import WALK_BUDGETS, WALK_RATES, Chooser
from tests.sim.explore import Result, Run, walk
from tests.sim.forced_patches import with_patches_by_turns
from tests.sim.machine import Machine
from tests.sim.plants import NONE, Plant
from tests.sim.versioning.cached_codecs import cache_codecs
from tests.sim.versioning.client import Client
from tests.sim.versioning.oracle import RepositoryOracle
from tests.sim.versioning.place import EAGER, Place
from tests.sim.versioning.random_actions import ACTIONS, THEMES, RandomActions
from tests.sim.world import MINUTE, World

BUDGETS = {**WALK_BUDGETS, "fault": 6, "jump": 4, "stall": 2, "crash": 2, "stale": 1, "corrupt": 1, "full": 1}
RATES = {**WALK_RATES, "preempt": (0.05, 0.2, 0.5), "crash": (0.0, 0.003, 0.01), "fault": (0.0, 0.02, 0.06)}
THINK_S = (0, 0, 0, 0.003, 0.02, 0.3)
PATHS = ("a", "b", "c/1", "c/2", "d")
BRANCHES = ("main", "main", "dev", "x")
MAX_STEPS = 6_000


class Life:
    def __init__(self, chooser: Chooser, plant: Plant) -> None:
        self.random = draw = random.Random(chooser.seed * 11 + 5)
        self.world = World(chooser)
        self.store = self.world.store()
        self.plant = plant
        oracle = RepositoryOracle(self.world, self.store, "repo")
        self.place = Place(oracle, aged=draw.random() < 0.7, checkpoint_every=draw.choice((4, 9, 1_000)))
        self.theme = draw.choice(THEMES) if draw.random() < 0.5 else ()
        self.seals = Plant(self.plant.rules, ((refs_fold, "SEALS_MAX", draw.choice((1, 2, 8))),))
        self.paths = PATHS[: draw.choice((2, 2, 3) if self.theme else (2, 3, 5))]
        self.branches = ("main", "dev", "dev", "dev") if self.theme else BRANCHES[: draw.choice((2, 3, 3, 4))]
        self.limits = draw.choice(
            (EAGER, *(CompactionLimits(inline_count=1, runs=runs, tombstones=1) for runs in (0, 0, 1, 2)))
        )
        self.actions = {action: weight * draw.choice((0, 1, 1, 3)) for action, weight in ACTIONS.items()}
        self.patience = draw.choice((3, 10, 30))  # how often compaction finds nothing to do before it goes home
        self.doer = RandomActions(draw, self.paths, self.branches, self.limits)
        if self.theme:
            self.actions = {action: self.theme.count(action) for action in self.theme}
        self.actions["put"] = self.actions.get("put", 0) + 1

    def run(self) -> None:
        with cache_codecs(), self.seals.planted(), self.plant.planted():
            self._past()
            self._present()
            self._future()
            self.place.oracle.judge()

    def _past(self) -> None:
        """A quiet beginning, so that there are branches and commits from the start."""
        machine = self.world.machine("old")
        machine.spawn(self._begin(machine))
        self.world.run(jumps=())

    async def _begin(self, machine: Machine) -> None:
        client = Client(self.place, machine, await self.place.begin(machine), "old")
        await client.put("main", *self.paths[:2])
        if self.random.random() < 0.7:
            await client.commit("main")
        await client.create("dev", "main")
        if self.random.random() < 0.5:
            await client.put("dev", self.paths[0])
            await client.commit("dev")
        await client.repository.close()

    def _present(self) -> None:
        # Listings of a workspace's folder are what its commit is made of: the store must not lie there.
        self.store.faulty = lambda verb, path: verb != "list" or "/workspaces/" not in path
        for number in range(self.random.choice((1, 2, 2, 3))):
            self._start(f"s{number}")
        keeper = self.world.machine("keep")
        keeper.spawn(self._keep(keeper))
        self.world.run(
            max_steps=MAX_STEPS, jumps=(15, 2 * MINUTE), crashes=True, stalls=(15, 2 * MINUTE), skews=(-3_600, 3_600)
        )

    def _start(self, name: str) -> None:
        machine = self.world.machine(name)
        machine.on_crash = lambda: self._start(name + "'") if len(name) < 4 else None
        machine.spawn(self._serve(machine))

    async def _serve(self, machine: Machine) -> None:
        repository = await self.place.open(machine, self._slow_s(0.3))
        if self.random.random() < 0.3:
            upkeep = StagingUpkeep(repository, self.limits)
            repository.staged, repository.closing = upkeep.touched, upkeep.close
        clients = [Client(self.place, machine, repository, f"{machine.name}.{i}") for i in range(2)]
        for task in [machine.spawn(self._use(client)) for client in clients]:
            await task
        await repository.close()

    def _slow_s(self, likely: float) -> float:
        """Some machines take long to write a file, so much happens between what they read and what they append."""
        return self.random.choice((0.01, 0.05, 0.2)) if self.random.random() < likely else 0.0

    async def _keep(self, machine: Machine) -> None:
        """Compaction, as long as there is something to do, and now and then when there is not."""
        client = Client(self.place, machine, await self.place.open(machine, self._slow_s(0.5)), "keep")
        idle = 0
        while idle < self.patience:
            if await client.compact(self.random.choice(self.branches), self.limits):
                idle = 0
            else:
                idle += 1
                await machine.clock.sleep(self.random.choice((0.001, 0.01, 0.05)))

    async def _use(self, client: Client) -> None:
        draw = self.random
        names, weights = list(self.actions), list(self.actions.values())
        for _ in range(draw.randrange(4, 9)):
            await client.machine.clock.sleep(0 if self.theme else draw.choice(THINK_S))
            await self.doer.do(client, draw.choices(names, weights)[0])

    def _future(self) -> None:
        """A new client without any state reads everything and commits what is left."""
        self.store.faulty = None
        machine = self.world.machine("new")
        machine.spawn(self._end(machine))
        self.world.run(jumps=())

    async def _end(self, machine: Machine) -> None:
        client = Client(self.place, machine, await self.place.open(machine), "new")
        known, _ = await client.repository.refs()
        for branch in known.branches():
            await client.read(branch.name)
            await client.commit(branch.name)
            await client.read(branch.name)


def life(plant: Plant = NONE) -> Run:
    def run(chooser: Chooser) -> None:
        Life(chooser, plant).run()

    return with_patches_by_turns(run)


def live(seeds: range, plant: Plant = NONE) -> Result:
    return walk(life(plant), seeds, budgets=BUDGETS, rates=RATES)
