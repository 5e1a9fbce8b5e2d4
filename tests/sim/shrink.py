"""Shrinks a violation to the same failure with as few departures from the default as possible."""

import time
from collections.abc import Callable

from tests.sim.explore import Run, replay
from tests.sim.violation import Violation


def shrink(
    run: Run,
    violation: Violation,
    *,
    seconds: float = 10.0,
    same: Callable[[Violation, Violation], bool] | None = None,
) -> Violation:
    """Set ever smaller stretches of choices back to the default, and keep what still fails in the `same` way (by
    default: the message begins alike, up to the first colon)."""
    same = same or _alike
    end = time.monotonic() + seconds
    best = violation
    size = max(1, len(best.choices) // 2)
    while True:
        start, shrunk = 0, False
        while start < len(best.choices) and time.monotonic() < end:
            stretch = best.choices[start : start + size]
            if any(stretch):
                choices = [*best.choices[:start], *[0] * len(stretch), *best.choices[start + size :]]
                found = replay(run, choices, best.budgets, seed=best.seed)
                if found is not None and same(found, violation):
                    best, shrunk = found, True
            start += size
        if time.monotonic() >= end or (size == 1 and not shrunk):
            return best
        size = max(1, size // 2)


def _alike(one: Violation, other: Violation) -> bool:
    return one.message.partition(":")[0] == other.message.partition(":")[0]
