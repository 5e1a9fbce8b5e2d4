"""Pools in the simulator: no row is lost or duplicated with all rules, and some is when any one is removed."""

import pytest

from tests.sim.explore import replay
from tests.sim.pools.plants import PLANTS
from tests.sim.pools.scenes import CATCHES, SCENES, explore_scene, scene


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_bug_is_caught_by_a_scene(name: str) -> None:
    where = CATCHES[name]
    found = explore_scene(where, PLANTS[name], seconds=60).violation
    assert found is not None
    assert replay(scene(where, PLANTS[name]), found.choices, found.budgets) is not None
    assert replay(scene(where), found.choices, found.budgets) is None


@pytest.mark.parametrize("name", SCENES)
def test_every_schedule_of_a_small_scene(name: str) -> None:
    result = explore_scene(name, seconds=1).check()
    assert result.exhausted, "not even the smallest budget was tried completely"


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SCENES)
def test_every_schedule_of_a_small_scene_for_long(name: str) -> None:
    explore_scene(name, seconds=300).check()
