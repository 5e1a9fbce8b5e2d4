"""One seed, one life: two in three are any life, the third is one that falls behind."""

from tests.sim.chooser import Chooser
from tests.sim.explore import Result, Run, walk
from tests.sim.journal_walk import BUDGETS, RATES, Life
from tests.sim.plants import NONE, Plant
from tests.sim.sleeper import Sleeper


def life(plant: Plant = NONE) -> Run:
    def run(chooser: Chooser) -> None:
        kind = Sleeper if chooser.seed % 3 == 2 else Life
        kind(chooser, plant).run()

    return run


def live(seeds: range, plant: Plant = NONE) -> Result:
    return walk(life(plant), seeds, budgets=BUDGETS, rates=RATES)
