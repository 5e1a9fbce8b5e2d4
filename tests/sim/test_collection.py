"""Garbage collection in the simulator: no schedule beside any writer loses what is named, or leaves garbage behind,
except with a planted bug."""

from collections.abc import Callable

import pytest

from tests.sim.collection.plants import CATCHES, PLANTS
from tests.sim.collection.play import explore_schedules, scene_run
from tests.sim.collection.scenes import NEVER_MEET, SCENES
from tests.sim.collection.tally import Tally
from tests.sim.explore import replay
from tests.sim.plants import NONE

SCHEDULES = -(-2_000 // len(SCENES))
SCHEDULES_FULL = -(-100_000 // len(SCENES))
PLANT_SCHEDULES = 400

Record = Callable[[str, object], None]


@pytest.mark.parametrize("name", SCENES)
def test_no_schedule_loses_what_is_named(name: str, record_property: Record) -> None:
    tally = _explore(name, range(SCHEDULES), record_property)
    assert tally.met >= SCHEDULES // 20 or name in NEVER_MEET, "the machines hardly met, so this says nothing"


@pytest.mark.full
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("name", SCENES)
def test_no_schedule_of_many_loses_what_is_named(name: str, record_property: Record) -> None:
    _explore(name, range(SCHEDULES, SCHEDULES_FULL), record_property)


def _explore(name: str, seeds: range, record_property: Record) -> Tally:
    """Every other schedule with patches of ranges."""
    total = Tally()
    for patched, own in ((False, seeds[::2]), (True, seeds[1::2])):
        result, tally = explore_schedules(SCENES[name], own, patched=patched)
        record_property("schedules", [name, tally.schedules, tally.met, tally.deleted, tally.live_deleted])
        result.check()
        assert result.runs == len(own)
        assert result.pruned <= len(seeds) // 10, "too many schedules are cut short to say anything"
        total.join(tally)
    return total


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_bug_is_caught_by_a_scene(name: str) -> None:
    scene, plant = SCENES[CATCHES[name]], PLANTS[name]
    found = explore_schedules(scene, range(PLANT_SCHEDULES), plant)[0].violation
    assert found is not None
    assert not found.message.startswith("Traceback"), f"the plant itself fails: {found.message}"
    assert replay(scene_run(scene, plant, Tally()), found.choices, found.budgets) is not None
    assert replay(scene_run(scene, NONE, Tally()), found.choices, found.budgets) is None
