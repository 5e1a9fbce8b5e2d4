"""One seed, one life of a repository."""

from tests.sim.chooser import Chooser
from tests.sim.explore import Result, Run, walk
from tests.sim.plants import NONE, Plant
from tests.sim.versioning.life import BUDGETS, RATES, Life


def life(plant: Plant = NONE) -> Run:
    def run(chooser: Chooser) -> None:
        Life(chooser, plant).run()

    return run


def live(seeds: range, plant: Plant = NONE) -> Result:
    return walk(life(plant), seeds, budgets=BUDGETS, rates=RATES)
