"""Small scenes with pools for the exhaustive explorer: the situations that rules S5, S6 and S7 exist for."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.sim.chooser import Chooser
from tests.sim.explore import Result, Run, deepen, ladder
from tests.sim.machine import Machine
from tests.sim.plants import NONE, Plant
from tests.sim.pools.client import Act, PoolClient, compact, create, delete, load, merge, pick, put, revert
from tests.sim.pools.oracle import PoolOracle
from tests.sim.pools.place import PoolPlace
from tests.sim.versioning.cached_codecs import cache_codecs
from tests.sim.world import World


@dataclass(frozen=True)
class Scene:
    """`actors` play at once, each on a machine of its own, after `before` was played quietly."""

    before: tuple[Act, ...]
    actors: tuple[tuple[Act, ...], ...]
    faults: tuple[str, ...] = ()
    budgets: tuple[tuple[str, int], ...] = (("preempt", 2),)


def scene(name: str, plant: Plant = NONE) -> Run:
    return lambda chooser: _play(SCENES[name], chooser, plant)


def explore_scene(name: str, plant: Plant = NONE, *, seconds: float) -> Result:
    with cache_codecs():
        return deepen(scene(name, plant), ladder(**dict(SCENES[name].budgets)), seconds=seconds)


def _play(scene: Scene, chooser: Chooser, plant: Plant) -> None:
    world = World(chooser, split=False)
    store = world.store(faults=scene.faults)
    place = PoolPlace(PoolOracle(world, store, "repo"))
    with plant.planted():
        _quietly(world, "old", lambda machine: _begin(place, machine, scene.before))
        clients: list[PoolClient] = []
        for number in range(len(scene.actors)):
            _quietly(world, "ABCD"[number], lambda machine: _enter(place, machine, clients))
        store.faulty = lambda verb, path: verb == "put_if_absent" and "/journal/0" in path
        for client, acts in zip(clients, scene.actors, strict=True):
            client.machine.spawn(_perform(client, acts))
        world.jump(1)  # so that nobody was the last to move, and anybody may begin
        world.run(max_steps=600, jumps=(), crashes=bool(dict(scene.budgets).get("crash")))
        place.oracle.judge()


def _quietly(world: World, name: str, play: Callable[[Machine], Awaitable[None]]) -> None:
    machine = world.machine(name)
    machine.spawn(_plain(play(machine)))
    world.run(jumps=())


async def _plain(play: Awaitable[None]) -> None:
    await play


async def _begin(place: PoolPlace, machine: Machine, acts: tuple[Act, ...]) -> None:
    await _perform(PoolClient(place, machine, await place.begin(machine), "old"), acts)  # type: ignore[arg-type]


async def _enter(place: PoolPlace, machine: Machine, clients: list[PoolClient]) -> None:
    """Up to date before the curtain rises, so that only what follows is explored."""
    client = PoolClient(place, machine, await place.open(machine), machine.name)  # type: ignore[arg-type]
    await client.repository.refs()
    clients.append(client)


async def _perform(client: PoolClient, acts: tuple[Act, ...]) -> None:
    for act in acts:
        await act(client)
    await client.repository.close()


_DEV = (load("main", "a1", "b1"), create("dev"))

SCENES: dict[str, Scene] = {
    "loads at once": Scene(_DEV, ((load("main", "c1"),), (load("main", "d1"),), (load("main", "e1"),))),
    "two compactions beside a load": Scene(_DEV, ((compact("main"),), (compact("main"),), (load("main", "c1"),))),
    "a compaction beside a delete": Scene(_DEV, ((compact("main"),), (delete("main", "a"),))),
    "a delete beside a load of what it deletes": Scene(_DEV, ((delete("main", "a"),), (load("main", "a2", "c1"),))),
    "two deletes beside a compaction": Scene(
        _DEV, ((delete("main", "a"),), (delete("main", "b"),), (compact("main"),)), budgets=(("preempt", 1),)
    ),
    "a merge beside loads": Scene(
        (*_DEV, load("dev", "d1")), ((merge("dev", "main"),), (load("main", "c1"),), (load("dev", "d2"),))
    ),
    "a merge of what both compacted": Scene(
        (*_DEV, compact("dev")), ((merge("dev", "main"),), (compact("main"), load("main", "c1")))
    ),
    "a merge of a delete beside a compaction": Scene(
        (*_DEV, delete("dev", "a")), ((merge("dev", "main"),), (compact("main"),))
    ),
    "a merge both ways": Scene(
        (*_DEV, delete("dev", "a"), load("dev", "d1")),
        ((merge("dev", "main"), merge("dev", "main")), (compact("dev"), load("dev", "d2"))),
    ),
    "a pick of what was compacted": Scene(
        (*_DEV, load("dev", "d1")), ((pick("main", "dev"), pick("main", "dev")), (compact("main"),))
    ),
    "a merge after a pick": Scene(
        (*_DEV, load("dev", "d1"), pick("main", "dev")), ((merge("dev", "main"),), (compact("main"),))
    ),
    "a revert of what came back": Scene(
        (*_DEV, load("main", "c1"), revert("main", "main"), revert("main", "main")),
        ((revert("main", "main~1"),), (compact("main"),)),
    ),
    "a revert beside a load": Scene(
        (*_DEV, delete("main", "a")), ((revert("main", "main"),), (load("main", "c1"), compact("main")))
    ),
    "a put beside a load": Scene(_DEV, ((put("main"),), (load("main", "c1"),))),
    "loads whose answers are lost": Scene(
        _DEV,
        ((load("main", "c1"), delete("main", "c")), (load("main", "d1"),)),
        faults=("lost", "late", "conflict"),
        budgets=(("preempt", 1), ("fault", 1)),
    ),
    "moves in a queue, and one dies": Scene(
        _DEV,
        ((compact("main"),), (delete("main", "a"),), (load("main", "c1"),)),
        budgets=(("preempt", 1), ("crash", 1)),
    ),
}

# By the planted bug, the scene that it breaks.
CATCHES: dict[str, str] = {
    "S5: a pool takes files": "a put beside a load",
    "S6: a move lands on any head": "loads at once",
    "S6: a difference is applied again": "a delete beside a load of what it deletes",
    "S6: a compaction lands without its inputs": "two compactions beside a load",
    "S7: a merge adds both replacements": "a merge of what both compacted",
    "S7: a merge brings back what was there": "a merge after a pick",
    "S7: a pick brings back what was there": "a pick of what was compacted",
    "S7: a revert brings back what came back since": "a revert of what came back",
}
