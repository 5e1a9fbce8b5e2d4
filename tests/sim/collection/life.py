"""Schedules of all scenes in turn: one seed is one schedule of one scene."""

from collections.abc import Iterable

from tests.sim.chooser import Chooser
from tests.sim.collection.play import explore_schedules, scene_run
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
        for patched in (False, True):
            mine = [seed for seed in own if _is_patched(seed) is patched]
            part, counts = explore_schedules(SCENES[name], [seed // len(_NAMES) for seed in mine], patched=patched)
            result.runs, result.pruned = result.runs + part.runs, result.pruned + part.pruned
            tally.join(counts)
            if part.violation is not None:
                part.violation.seed = mine[part.runs - 1]
                result.violation = part.violation
                return result
    result.summary = tally.line(len(_NAMES))
    return result


def schedule(chooser: Chooser) -> None:
    """One of them again, with the choices that it made."""
    scene = SCENES[_NAMES[chooser.seed % len(_NAMES)]]
    patched = _is_patched(chooser.seed)
    chooser.seed = 0  # of ids, as in the walk
    scene_run(scene, NONE, Tally(), patched=patched)(chooser)


def _is_patched(seed: int) -> bool:
    """Every other schedule of a scene."""
    return bool(seed // len(_NAMES) % 2)
