"""Small scenes for the exhaustive explorer: a few requests each, every schedule within a budget.

The random lives go far and see little of what lies near; these see all of it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.sim.chooser import Chooser
from tests.sim.clients import Client, Lake
from tests.sim.explore import Result, Run, deepen, ladder
from tests.sim.machine import Machine
from tests.sim.oracle import JournalOracle
from tests.sim.plants import NONE, Plant
from tests.sim.world import HOUR, World

Act = Callable[[Client], Awaitable[object]]


@dataclass(frozen=True)
class Scene:
    """`actors` play at once, each on a machine of its own, over a journal that has `old` records already."""

    actors: tuple[Act, ...]
    old: int = 0
    bucket: bool = False
    group: int = 2
    aged: bool = False  # the old records are packed, and old enough to go
    faults: tuple[str, ...] = ("before", "lost", "late", "conflict")
    budgets: tuple[tuple[str, int], ...] = (("preempt", 2), ("fault", 1))


def scene(name: str, plant: Plant = NONE) -> Run:
    return lambda chooser: _play(SCENES[name], chooser, plant)


def explore_scene(name: str, plant: Plant = NONE, *, seconds: float) -> Result:
    return deepen(scene(name, plant), ladder(**dict(SCENES[name].budgets)), seconds=seconds)


def _play(scene: Scene, chooser: Chooser, plant: Plant) -> None:
    world = World(chooser)
    store = world.store(faults=scene.faults)
    oracle = JournalOracle(world, store, keys_kept=8)
    lake = Lake(oracle, plant, scene.bucket, scene.group, 8, checkpoint_every=1_000, patience_s=0.05)
    with plant.planted():
        before = world.machine("old")
        before.spawn(_begin(lake, before, scene))
        world.run(jumps=())
        store.faulty = lambda verb, path: verb == "put_if_absent" and "/journal/0" in path
        for number, act in enumerate(scene.actors):
            machine = world.machine("ABCD"[number])
            machine.spawn(_perform(lake, machine, act))
        world.run(max_steps=400, jumps=(2 * HOUR,) if scene.bucket else ())
        store.faulty = None
        after = world.machine("new")
        after.spawn(_end(lake, after))
        world.run(jumps=())
    oracle.judge()


async def _begin(lake: Lake, machine: Machine, scene: Scene) -> None:
    client = Client(lake, machine, await lake.open(machine), "old")
    for number in range(scene.old):
        await client.create(f"old-{number}")
    if scene.aged:
        await client.tidy()
        lake.oracle.world.jump(3 * HOUR)


async def _perform(lake: Lake, machine: Machine, act: Act) -> None:
    client = Client(lake, machine, await lake.open(machine), machine.name)
    await act(client)
    await client.journal.close()


async def _end(lake: Lake, machine: Machine) -> None:
    journal = await lake.open(machine)
    lake.oracle.saw(await journal.fresh(), len(lake.oracle.records), "new")


def create(name: str) -> Act:
    return lambda client: client.create(name)


def by_key(name: str) -> Act:
    return lambda client: client.create_surely(name, [client])


def tidy(client: Client) -> Awaitable[object]:
    return client.tidy()


def twice(*acts: Act) -> Act:
    async def both(client: Client) -> None:
        for act in acts:
            await act(client)

    return both


def read(client: Client) -> Awaitable[object]:
    return client.read()


SCENES: dict[str, Scene] = {
    "two writers want one name": Scene((create("x"), create("x"))),
    "two writers, one asks again by its key": Scene((by_key("x"), create("y"))),
    "two writers take turns": Scene(
        (twice(create("x"), create("y")), twice(create("y"), create("x"))), budgets=(("preempt", 2), ("fault", 1))
    ),
    "a bucket: two writers take turns": Scene(
        (twice(create("x"), create("y")), twice(create("y"), create("z"))), bucket=True
    ),
    "a writer beside the trimmer": Scene((create("x"), tidy), old=2),
    "two writers beside the trimmer": Scene((create("x"), twice(create("y"), create("z"), tidy)), old=1),
    "a cold reader beside the trimmer": Scene((read, tidy), old=3, budgets=(("preempt", 3),)),
    "a reader beside writer and trimmer": Scene((twice(read, read), twice(create("x"), tidy)), old=2),
    "a bucket: writer, reader, trimmer": Scene(
        (twice(create("x"), read), twice(create("y"), create("z"), tidy)),
        old=1,
        bucket=True,
        budgets=(("preempt", 1), ("jump", 2), ("fault", 1)),
    ),
    "a bucket: a cold reader while slots go": Scene(
        (read, tidy), old=3, bucket=True, aged=True, budgets=(("preempt", 3), ("jump", 1))
    ),
}
