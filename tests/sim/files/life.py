"""Random lives of a repository with bodies that are bytes: servers, slow writers, workspaces, and garbage collection.

One seed is one life. What the seed decides beside the schedule: how many servers, what their clients do and how long
they think, and how often garbage is collected.
"""

import random

from tests.sim.chooser import WALK_BUDGETS, WALK_RATES, Chooser
from tests.sim.explore import Result, Run, walk
from tests.sim.files.client import FilesClient
from tests.sim.files.oracle import FilesOracle
from tests.sim.forced_patches import with_patches_by_turns
from tests.sim.machine import Machine
from tests.sim.plants import NONE, Plant
from tests.sim.versioning.cached_codecs import cache_codecs
from tests.sim.versioning.place import WHOLE, Place
from tests.sim.world import MINUTE, World

BUDGETS = {**WALK_BUDGETS, "fault": 4, "jump": 3, "stall": 2, "crash": 2, "stale": 0, "corrupt": 0, "full": 1}
RATES = {**WALK_RATES, "preempt": (0.05, 0.2, 0.5), "crash": (0.0, 0.003, 0.01), "fault": (0.0, 0.02, 0.06)}
THINK_S = (0, 0, 0.003, 0.02, 0.3)
FILES = ("x", "y")  # in workspaces
BODIES = ("p", "q")  # on the branch
MAX_STEPS = 5_000

ACTIONS = {
    "put": 5,
    "put_slowly": 3,
    "put_noted": 2,
    "delete": 4,
    "revert": 1,
    "commit_workspace": 3,
    "open": 2,
    "write": 2,
    "copy": 1,
    "commit": 1,
    "collect": 2,
}

# Half of the lives are about one thing: a few actions that get into each other's way.
THEMES = (
    ("put", "delete", "delete", "commit_workspace", "commit_workspace", "open"),
    ("put", "put_slowly", "commit_workspace", "commit_workspace", "open"),
    ("put", "revert", "commit_workspace", "open"),
    ("write", "copy", "copy", "collect", "collect"),
)


class FilesLife:
    def __init__(self, chooser: Chooser, plant: Plant) -> None:
        self.random = draw = random.Random(chooser.seed * 13 + 3)
        self.world = World(chooser)
        self.store = self.world.store()
        self.plant = plant
        oracle = FilesOracle(self.world, self.store, "repo")
        self.place = Place(oracle, aged=draw.random() < 0.7, checkpoint_every=draw.choice((4, 1_000)), cut=WHOLE)
        self.actions = {action: weight * draw.choice((0, 1, 1, 3)) for action, weight in ACTIONS.items()}
        if draw.random() < 0.5:
            theme = draw.choice(THEMES)
            self.actions = {action: theme.count(action) for action in theme}
        else:
            self.actions["put"] += 1

    def run(self) -> None:
        with cache_codecs(), self.plant.planted():
            self._quietly("old", self._begin)
            self._present()
            self.store.faulty = None
            self._quietly("new", self._end)
            self.place.oracle.judge()

    def _quietly(self, name: str, play: object) -> None:
        machine = self.world.machine(name)
        machine.spawn(play(machine))  # type: ignore[operator]
        self.world.run(jumps=())

    async def _begin(self, machine: Machine) -> None:
        client = FilesClient(self.place, machine, await self.place.begin(machine), "old")
        await client.write("main", "p")
        await client.commit("main")
        await client.open_workspace("main")
        await client.put_outside(self.place.workspaces[0], "x")
        await client.collect()
        await client.repository.close()

    def _present(self) -> None:
        # A commit must see what the store really holds. Damaged bodies are tested elsewhere.
        self.store.faulty = lambda verb, path: verb != "list" or "/workspaces/" not in path
        for number in range(self.random.choice((2, 2, 3))):
            self._start(f"s{number}")
        self.world.run(
            max_steps=MAX_STEPS, jumps=(15, 2 * MINUTE), crashes=True, stalls=(15, 2 * MINUTE), skews=(-3_600, 3_600)
        )

    def _start(self, name: str) -> None:
        machine = self.world.machine(name)
        machine.on_crash = lambda: self._start(name + "'") if len(name) < 4 else None
        machine.spawn(self._serve(machine))

    async def _serve(self, machine: Machine) -> None:
        repository = await self.place.open(machine)
        clients = [FilesClient(self.place, machine, repository, f"{machine.name}.{i}") for i in range(2)]
        for task in [machine.spawn(self._use(client)) for client in clients]:
            await task
        await repository.close()

    async def _use(self, client: FilesClient) -> None:
        names, weights = list(self.actions), list(self.actions.values())
        for _ in range(self.random.randrange(3, 8)):
            await client.machine.clock.sleep(self.random.choice(THINK_S))
            await self._do(client, self.random.choices(names, weights)[0])

    async def _do(self, client: FilesClient, action: str) -> None:
        workspace = self.place.workspaces[-1]
        path, body = self.random.choice(FILES), self.random.choice(BODIES)
        match action:
            case "put" | "put_slowly" | "put_noted":
                await client.put_at(workspace, path, slow=action == "put_slowly", noted=action == "put_noted")
            case "delete":
                await client.delete_at(workspace, path)
            case "revert":
                await client.revert_in(workspace, path)
            case "commit_workspace":
                await client.commit_workspace(workspace)
            case "open":
                await client.open_workspace("main")
            case "write":
                await client.write("main", body)
            case "copy":
                await client.copy("main", body, f"copy of {body}")
            case "commit":
                await client.commit("main")
            case "collect":
                await client.collect()

    async def _end(self, machine: Machine) -> None:
        """A new client without any state commits what is left."""
        client = FilesClient(self.place, machine, await self.place.open(machine), "new")
        refs, _ = await client.repository.refs()
        for workspace in refs.workspaces.all():
            await client.commit_workspace(workspace.id)
        await client.commit("main")
        await client.collect()
        await client.repository.close()


def life(plant: Plant = NONE) -> Run:
    def run(chooser: Chooser) -> None:
        FilesLife(chooser, plant).run()

    return with_patches_by_turns(run)


def live(seeds: range, plant: Plant = NONE) -> Result:
    return walk(life(plant), seeds, budgets=BUDGETS, rates=RATES)
