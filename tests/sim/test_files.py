"""Bodies, workspaces' files and garbage in the simulator: no byte that is named is lost, except with a planted bug."""

import pytest

from tests.sim.explore import replay
from tests.sim.files.life import live
from tests.sim.files.plants import PLANTS
from tests.sim.files.scenes import CATCHES, SCENES, explore_scene, scene


def test_twenty_lives() -> None:
    result = live(range(20)).check()
    assert result.runs == 20
    assert result.pruned <= 1, "too many lives are cut short to say anything"


@pytest.mark.full
@pytest.mark.timeout(1_800)
def test_two_thousand_lives() -> None:
    live(range(2_000)).check()


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_bug_is_caught_by_a_scene(name: str) -> None:
    where = CATCHES[name]
    found = explore_scene(where, PLANTS[name], seconds=60).violation
    assert found is not None
    assert replay(scene(where, PLANTS[name]), found.choices, found.budgets) is not None
    assert replay(scene(where), found.choices, found.budgets) is None


@pytest.mark.parametrize("name", SCENES)
def test_every_schedule_of_a_small_scene(name: str) -> None:
    result = explore_scene(name, seconds=0.5).check()
    assert result.exhausted, "not even the smallest budget was tried completely"


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SCENES)
def test_every_schedule_of_a_small_scene_for_long(name: str) -> None:
    explore_scene(name, seconds=300).check()


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "name",
    [
        "S8: a put overwrites a file",
        "S8: a delete removes a file",
        "S8: what is staged does not hide the file",
        "G3: a first reference to any file",
    ],
)
def test_a_planted_bug_is_caught_by_a_life(name: str) -> None:
    """The other plants need so much to coincide that only their scenes must catch them."""
    assert live(range(2_000), PLANTS[name]).violation is not None
