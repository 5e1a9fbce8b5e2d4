"""The journal in the simulator: nothing goes wrong with all rules, and something does when any one is removed."""

import pytest

from tests.sim.explore import replay
from tests.sim.plants import PLANTS
from tests.sim.scenarios import SCENES, explore_scene, scene
from tests.sim.sleeper import life, live


def test_two_hundred_lives() -> None:
    result = live(range(200)).check()
    assert result.runs == 200
    assert result.pruned <= 10, "too many lives are cut short to say anything"


@pytest.mark.full
@pytest.mark.timeout(1_800)
def test_ten_thousand_lives() -> None:
    live(range(10_000)).check()


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_bug_is_caught(name: str) -> None:
    assert live(range(500), PLANTS[name]).violation is not None


def test_a_violation_replays_exactly() -> None:
    plant = PLANTS["J5: segments are not consulted"]
    found = live(range(500), plant).violation
    assert found is not None
    again = replay(life(plant), found.choices, found.budgets, seed=found.seed)
    assert again is not None
    assert (again.message, again.trace) == (found.message, found.trace)
    assert replay(life(), found.choices, found.budgets, seed=found.seed) is None


@pytest.mark.parametrize("name", SCENES)
def test_every_schedule_of_a_small_scene(name: str) -> None:
    result = explore_scene(name, seconds=1).check()
    assert result.exhausted, "not even the smallest budget was tried completely"


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SCENES)
def test_every_schedule_of_a_small_scene_for_long(name: str) -> None:
    explore_scene(name, seconds=300).check()


@pytest.mark.parametrize(
    ("plant", "where"),
    [
        ("J1: a retry draws a new put-id", "two writers want one name"),
        ("J2: AlreadyExists is taken for a lost race", "two writers want one name"),
        ("J3: a lost race is not checked again", "two writers want one name"),
        ("J4: slots go before their segment is durable", "a cold reader beside the trimmer"),
        ("J5: segments are not consulted", "a cold reader beside the trimmer"),
        ("J3: a batch is checked before its pause", "two writers take turns"),
        ("J2: a turn is taken for the number", "two writers take turns"),
        ("acknowledged before the append", "two writers want one name"),
    ],
)
def test_the_explorer_catches_it_too(plant: str, where: str) -> None:
    found = explore_scene(where, PLANTS[plant], seconds=30).violation
    assert found is not None
    assert replay(scene(where, PLANTS[plant]), found.choices, found.budgets) is not None
