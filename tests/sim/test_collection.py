"""Garbage collection in the simulator: no schedule beside any writer loses what is named."""

import pytest

from tests.sim.collection.scenes import SCENES, explore_schedules

SCHEDULES = 92  # of each scene: over 2,000 in all
SCHEDULES_FULL = 4_600  # over 100,000 in all


@pytest.mark.parametrize("name", SCENES)
def test_no_schedule_loses_what_is_named(name: str) -> None:
    result = explore_schedules(name, range(SCHEDULES)).check()
    assert result.runs == SCHEDULES
    assert result.pruned <= SCHEDULES // 10, "too many schedules are cut short to say anything"


@pytest.mark.full
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("name", SCENES)
def test_no_schedule_of_many_loses_what_is_named(name: str) -> None:
    explore_schedules(name, range(SCHEDULES_FULL)).check()
