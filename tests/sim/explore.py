"""Driving runs: every schedule within a budget, many random ones, or one again.

A run is a function of a chooser. It builds a World, runs it, judges what it sees and raises Violation; any other
exception is taken for a violation too, since it is at best a bug of the run itself. Seconds are those of the
processor, so that a busy machine plays as many runs as a quiet one.
"""

import itertools
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.sim.chooser import WALK_BUDGETS, WALK_RATES, Chooser, Replay, Walk
from tests.sim.violation import Diverged, NothingPlanted, Prune, Violation

Run = Callable[[Chooser], None]
_SMALLEST_S = 60.0
Budgets = Mapping[str, int]


@dataclass(slots=True)
class Result:
    runs: int = 0
    pruned: int = 0  # runs that were cut short; where there are any, `complete` only speaks of runs that are not longer
    complete: bool = False  # nothing within the budget is left to try
    violation: Violation | None = None
    exhausted: list[dict[str, int]] = field(default_factory=list)  # by `deepen`: the budgets that were tried completely
    summary: str = ""  # what else is worth a closing line

    def check(self) -> "Result":
        """For tests: raise what was found."""
        if self.violation is not None:
            raise self.violation
        return self


def explore(run: Run, budgets: Budgets, *, seconds: float = 20.0, max_runs: int = 1_000_000_000) -> Result:
    """Every run within the budgets, depth first: each repeats the beginning of the last one and departs from it at the
    last choice that has an option left. Stops at the first violation."""
    result = Result()
    end = time.process_time() + seconds
    trail: list[tuple[int, int]] = []
    while True:
        chooser = Replay([index for index, _ in trail], budgets)
        if not _count(result, run, chooser):
            return result
        log = chooser.log
        if log[: len(trail)] != trail:
            raise Diverged(f"choices {[index for index, _ in trail]} led elsewhere the second time")
        while log and log[-1][0] + 1 >= log[-1][1]:
            log.pop()
        if not log:
            result.complete = True
            return result
        trail = [*log[:-1], (log[-1][0] + 1, log[-1][1])]
        if result.runs >= max_runs or time.process_time() > end:
            return result


def deepen(run: Run, rungs: Iterable[Budgets], *, seconds: float = 60.0) -> Result:
    """`explore` with one budget after the other, so that the first violation is one of the simplest. The smallest one
    is tried completely on a machine that is busy, too."""
    total = Result(complete=True)
    end = time.process_time() + seconds
    for rung, budgets in enumerate(rungs):
        left = end - time.process_time()
        if rung and left <= 0:
            total.complete = False
            break
        result = explore(run, budgets, seconds=left if rung else max(left, _SMALLEST_S))
        total.runs += result.runs
        total.pruned += result.pruned
        if result.complete:
            total.exhausted.append(dict(budgets))
        else:
            total.complete = False
        if result.violation is not None:
            total.violation = result.violation
            break
    return total


def ladder(**top: int) -> list[dict[str, int]]:
    """All budgets up to `top`, smaller sums first."""
    counts = itertools.product(*(range(most + 1) for most in top.values()))
    return [dict(zip(top, rung, strict=True)) for rung in sorted(counts, key=lambda rung: (sum(rung), rung))]


def walk(
    run: Run,
    seeds: Iterable[int],
    *,
    budgets: Budgets = WALK_BUDGETS,
    rates: Mapping[str, Sequence[float]] = WALK_RATES,
    seconds: float = 1e9,
    chooser: Callable[[int, Budgets, Mapping[str, Sequence[float]]], Chooser] = Walk,
) -> Result:
    """One random run per seed, until the first violation; it carries its seed."""
    result = Result()
    end = time.process_time() + seconds
    for seed in seeds:
        if time.process_time() > end:
            return result
        if not _count(result, run, chooser(seed, budgets, rates)):
            return result
    result.complete = True
    return result


def replay(run: Run, choices: Sequence[int], budgets: Budgets, *, seed: int = 0) -> Violation | None:
    """One run again; the violation it ends with, if any."""
    result = Result()
    _count(result, run, Replay(choices, budgets, seed))
    return result.violation


def _count(result: Result, run: Run, chooser: Chooser) -> bool:
    """Play one run into the result; False: it ended with a violation."""
    result.runs += 1
    try:
        run(chooser)
    except Prune:
        result.pruned += 1
    except (Diverged, NothingPlanted):
        raise
    except Violation as violation:
        result.violation = violation
    except Exception as error:
        result.violation = Violation("".join(traceback.format_exception(error)))
    finally:
        for world in chooser.worlds:
            world.close()
    if result.violation is None:
        return True
    trace = [line for world in chooser.worlds for line in world.lines()]
    result.violation.witnessed(trace, [index for index, _ in chooser.log], chooser.granted, chooser.seed)
    return False
