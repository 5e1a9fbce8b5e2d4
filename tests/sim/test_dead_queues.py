"""Dead writers in the queue of a branch, in the simulator: see `versioning/dead_queues.py`."""

import pytest

from tests.sim.versioning.dead_queues import PLANTS, live_with_dead_queues


def test_dead_writers_hold_nobody_up_for_long_and_living_ones_are_not_dropped() -> None:
    result = live_with_dead_queues(range(30)).check()
    assert result.pruned == 0


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_bug_of_the_queue_is_caught(name: str) -> None:
    assert live_with_dead_queues(range(60), PLANTS[name]).violation is not None
