"""The worlds that the simulator plays, behind one interface for the command line."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.sim import pending_scenes, plants, scenarios, sleeper
from tests.sim.access import plants as access_plants
from tests.sim.access import scenes as access_scenes
from tests.sim.collection import life as collection_life
from tests.sim.collection import plants as collection_plants
from tests.sim.collection import scenes as collection_scenes
from tests.sim.collection.play import explore_schedules
from tests.sim.explore import Result, Run
from tests.sim.files import life as files_life
from tests.sim.files import plants as files_plants
from tests.sim.files import scenes as files_scenes
from tests.sim.plants import Plant
from tests.sim.pools import plants as pool_plants
from tests.sim.pools import scenes as pool_scenes
from tests.sim.versioning import dead_queues, scenes, steady_writes
from tests.sim.versioning import life as versioning_life
from tests.sim.versioning import plants as versioning_plants

_SCHEDULES = "schedules beside garbage collection"
Lives = tuple[str, Callable[[range], Result], Run]


@dataclass(frozen=True)
class Both:
    lives: tuple[Lives, ...]
    scenes: Iterable[str]
    explore_scene: Callable[[str, float], Result]
    plants: Iterable[str]
    catch: Callable[[str, int], str]  # a plant, and how many seeds it has; how it was caught, "" if it was not


def _by_life(result: Result) -> str:
    return f"caught by seed {result.runs - 1}" if result.violation is not None else ""


def _catch_in_versioning(name: str, seeds: int) -> str:
    """By a life, or by the scene that was written for the plant. Starvation shows only in a steady stream."""
    if name in versioning_plants.STARVING:
        return _by_life(steady_writes.live_steadily(range(seeds), versioning_plants.STARVING[name]))
    plant = versioning_plants.PLANTS[name]
    found = _by_life(versioning_life.live(range(seeds), plant))
    where = scenes.CATCHES[name]
    explored = scenes.explore_scene(where, plant, seconds=60)
    by_scene = f"run {explored.runs} of {where!r}" if explored.violation is not None else ""
    return ", ".join(filter(None, (found, by_scene)))


def _catch_in_pools(name: str, seeds: int) -> str:
    """By the scene that was written for the plant."""
    where = pool_scenes.CATCHES[name]
    explored = pool_scenes.explore_scene(where, pool_plants.PLANTS[name], seconds=60)
    return f"run {explored.runs} of {where!r}" if explored.violation is not None else ""


def _by_scene(
    catches: dict[str, str], planted: dict[str, Plant], explore_scene: Callable[..., Result]
) -> Callable[[str, int], str]:
    """If a scene was written for a plant, only that scene must catch it."""

    def catch(name: str, seeds: int) -> str:
        explored = explore_scene(catches[name], planted[name], seconds=60)
        return f"run {explored.runs} of {catches[name]!r}" if explored.violation is not None else ""

    return catch


def _catch_in_collection(name: str, seeds: int) -> str:
    where = collection_plants.CATCHES[name]
    explored, _ = explore_schedules(collection_scenes.SCENES[where], range(seeds), collection_plants.PLANTS[name])
    return f"schedule {explored.runs} of {where!r}" if explored.violation is not None else ""


WORLDS: dict[str, Both] = {
    "journal": Both(
        (("lives", sleeper.live, sleeper.life()),),
        scenarios.SCENES,
        lambda name, seconds: scenarios.explore_scene(name, seconds=seconds),
        plants.PLANTS,
        lambda name, seeds: _by_life(sleeper.live(range(seeds), plants.PLANTS[name])),
    ),
    "versioning": Both(
        (
            ("lives", versioning_life.live, versioning_life.life()),
            (
                "lives under a steady stream",
                lambda seeds: steady_writes.live_steadily(seeds[:20]),
                steady_writes.steady(),
            ),
        ),
        scenes.SCENES,
        lambda name, seconds: scenes.explore_scene(name, seconds=seconds),
        [*versioning_plants.PLANTS, *versioning_plants.STARVING],
        _catch_in_versioning,
    ),
    "pools": Both(
        (),
        pool_scenes.SCENES,
        lambda name, seconds: pool_scenes.explore_scene(name, seconds=seconds),
        pool_plants.PLANTS,
        _catch_in_pools,
    ),
    "queues": Both(
        (("lives with dead writers", dead_queues.live_with_dead_queues, dead_queues.dead_queue()),),
        (),
        lambda name, seconds: Result(),
        dead_queues.PLANTS,
        lambda name, seeds: _by_life(dead_queues.live_with_dead_queues(range(seeds), dead_queues.PLANTS[name])),
    ),
    "files": Both(
        (("lives with bodies and garbage collection", files_life.live, files_life.life()),),
        files_scenes.SCENES,
        lambda name, seconds: files_scenes.explore_scene(name, seconds=seconds),
        files_plants.PLANTS,
        _by_scene(files_scenes.CATCHES, files_plants.PLANTS, files_scenes.explore_scene),
    ),
    "collection": Both(
        ((_SCHEDULES, collection_life.live, collection_life.schedule),),
        (),
        lambda name, seconds: Result(),
        collection_plants.PLANTS,
        _catch_in_collection,
    ),
    "access": Both(
        (),
        access_scenes.SCENES,
        lambda name, seconds: access_scenes.explore_scene(name, seconds=seconds),
        access_plants.PLANTS,
        _by_scene(access_scenes.CATCHES, access_plants.PLANTS, access_scenes.explore_scene),
    ),
    "long jobs": Both(
        (),
        pending_scenes.SCENES,
        lambda name, seconds: pending_scenes.explore_scene(name, seconds=seconds),
        pending_scenes.PLANTS,
        _by_scene(pending_scenes.CATCHES, pending_scenes.PLANTS, pending_scenes.explore_scene),
    ),
}
