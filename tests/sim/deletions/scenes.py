"""Small scenes of deleting a repository and bringing it back, for the exhaustive explorer: each machine may be
preempted at every request to the store, and one may die."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from lochan.errors import LochanError
from lochan.formats.lake_events import RepositoryRestored
from lochan.versioning import deletion
from lochan.versioning.repositories import Repositories
from tests.sim.chooser import Chooser
from tests.sim.deletions.lake import SimLake, Told
from tests.sim.explore import Result, Run, deepen, ladder
from tests.sim.machine import Machine
from tests.sim.plants import NONE, Plant
from tests.sim.versioning.cached_codecs import cache_codecs
from tests.sim.versioning.plants import _changed, _without
from tests.sim.world import World

Act = Callable[[SimLake], Awaitable[object]]


@dataclass(frozen=True)
class Scene:
    before: tuple[Act, ...]
    actors: tuple[tuple[Act, ...], ...]
    budgets: tuple[tuple[str, int], ...] = (("preempt", 2), ("crash", 1))


def on(verb: str, *arguments: str) -> Act:
    return lambda lake: getattr(lake, verb)(*arguments)


create, delete, restore, collect = on("create"), on("delete"), on("restore"), on("collect")
_MADE = (create, on("write", "a"))

SCENES: dict[str, Scene] = {
    "a writer beside a deletion": Scene(_MADE, ((on("write", "b"),), (delete,))),
    "a writer beside a deletion and a restoration": Scene(_MADE, ((on("write", "b"),), (delete, restore))),
    "a restoration beside the end of the window": Scene((*_MADE, delete), ((restore,), (collect,))),
    "a restoration beside a deletion": Scene((*_MADE, delete), ((restore, on("write", "b")), (restore, delete))),
    "two deletions": Scene(_MADE, ((delete,), (delete,))),
    "two restorations": Scene((*_MADE, delete), ((restore,), (restore,))),
    "a slow creator beside upkeep": Scene((on("prepare"),), ((on("name"), on("write", "b")), (on("adopt"), collect))),
}


def scene(name: str, plant: Plant = NONE) -> Run:
    def run(chooser: Chooser) -> None:
        play(SCENES[name], chooser, plant)

    return run


def explore_scene(name: str, plant: Plant = NONE, *, seconds: float) -> Result:
    with cache_codecs():
        return deepen(scene(name, plant), ladder(**dict(SCENES[name].budgets)), seconds=seconds)


def play(scene: Scene, chooser: Chooser, plant: Plant) -> None:
    world = World(chooser, split=False)
    world.store()
    told = Told(world)
    with plant.planted():
        _quietly(world, told, "old", scene.before)
        told.before = told.deletions
        for name, acts in zip("ABC", scene.actors, strict=False):
            machine = world.machine(name)
            machine.spawn(_perform(told, machine, acts))
        world.jump(1)
        world.run(max_steps=4_000, jumps=(), crashes=True)
        _quietly(world, told, "new", (SimLake.judge,))


def _quietly(world: World, told: Told, name: str, acts: tuple[Act, ...]) -> None:
    machine = world.machine(name)
    machine.spawn(_perform(told, machine, acts))
    world.run(jumps=())


async def _perform(told: Told, machine: Machine, acts: tuple[Act, ...]) -> None:
    lake = await SimLake.open(told, machine)
    for act in acts:
        with suppress(LochanError):
            await act(lake)
    await lake.close()


# --- planted bugs ----------------------------------------------------------------------------------------------------
def _restore_whatever(self: Repositories, event: RepositoryRestored) -> str:
    """Even if it has expired."""
    found = self._deleted.get(event.id)
    if found is not None and found.list:
        self._deleted.put(event.id, type(found)(*(getattr(found, name) for name in found.__struct_fields__[:-1])))
    return _restore(self, event)


_restore = Repositories._restore


async def _not_reopened(*_: object) -> None:
    """Whoever finds a closed journal leaves it closed."""
    raise LochanError("closed")


def _any_name(self: Repositories, id: str) -> bool:
    """A repository that was given up may get a name."""
    return False


PLANTS: dict[str, Plant] = {
    "a closed journal takes events": _without("closed_repositories_stay_closed"),
    "an expired repository is restored": _changed((Repositories, "_restore", _restore_whatever)),
    "nobody settles what was interrupted": _changed((deletion, "reopen", _not_reopened)),
    "what was given up gets a name": _changed((Repositories, "knows", _any_name)),
}
CATCHES = {
    "a closed journal takes events": "a writer beside a deletion",
    "an expired repository is restored": "a restoration beside the end of the window",
    "nobody settles what was interrupted": "a writer beside a deletion and a restoration",
    "what was given up gets a name": "a slow creator beside upkeep",
}
