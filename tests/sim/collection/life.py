"""Schedules of all scenes in turn: one seed is one schedule of one scene."""

from collections.abc import Iterable

from tests.sim.chooser import Chooser
from tests.sim.collection.play import explore_schedules, play
from tests.sim.collection.scenes import SCENES
from tests.sim.collection.tally import Tally
from tests.sim.explore import Result
from tests.sim.plants import NONE

_NAMES = tuple(SCENES)


def live(seeds: Iterable[int]) -> Result:
    """Until the first violation. The summary counts what was played."""
    result, tally = Result(), Tally()
    by_scene: dict[str, list[int]] = {name: [] for name in _NAMES}
    for seed in seeds:
        by_scene[_NAMES[seed % len(_NAMES)]].append(seed)
    for name, own in by_scene.items():
        part, counts = explore_schedules(SCENES[name], [seed // len(_NAMES) for seed in own])
        result.runs, result.pruned = result.runs + part.runs, result.pruned + part.pruned
        tally.join(counts)
        if part.violation is not None:
            part.violation.seed = own[part.runs - 1]
            result.violation = part.violation
            break
    result.summary = tally.line(len(_NAMES))
    return result


def schedule(chooser: Chooser) -> None:
    """One of them again, with the choices that it made."""
    scene = SCENES[_NAMES[chooser.seed % len(_NAMES)]]
    chooser.seed = 0  # of ids, as in the walk
    play(scene, chooser, NONE, Tally())
