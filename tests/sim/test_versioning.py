"""Versioning in the simulator: nothing goes wrong with all rules, and something does when any one is removed."""

import pytest

from tests.sim.explore import replay
from tests.sim.versioning.life import life, live
from tests.sim.versioning.plants import PLANTS, RARE, STARVING
from tests.sim.versioning.scenes import CATCHES, SCENES, explore_scene, scene
from tests.sim.versioning.steady_writes import live_steadily


def test_sixty_lives() -> None:
    result = live(range(60)).check()
    assert result.runs == 60
    assert result.pruned <= 3, "too many lives are cut short to say anything"


@pytest.mark.full
@pytest.mark.timeout(1_800)
def test_five_thousand_lives() -> None:
    live(range(5_000)).check()


def test_a_commit_lands_under_a_steady_stream_of_writes_and_head_moves() -> None:
    result = live_steadily(range(10)).check()
    assert result.pruned == 0


@pytest.mark.parametrize("name", STARVING)
def test_a_commit_starves_without_turns(name: str) -> None:
    violation = live_steadily(range(10), STARVING[name]).violation
    assert violation is not None
    assert violation.message.startswith("STARVED")


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", [name for name in PLANTS if name not in RARE])
def test_a_planted_bug_is_caught_by_a_life(name: str) -> None:
    assert live(range(2_000), PLANTS[name]).violation is not None


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


def test_a_violation_replays_exactly() -> None:
    plant = PLANTS["S3: the head is not looked at"]
    found = live(range(200), plant).violation
    assert found is not None
    again = replay(life(plant), found.choices, found.budgets, seed=found.seed)
    assert again is not None
    assert (again.message, again.trace) == (found.message, found.trace)
    assert replay(life(), found.choices, found.budgets, seed=found.seed) is None
