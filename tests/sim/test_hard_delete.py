"""The races of designs in which deleting an object deletes its bytes, played here: none of them loses anything, and
each does as soon as the verb that it is about deletes bytes itself.

The four are those that a design with locks, counters or a ban on copies has to solve. Here no verb deletes bytes: they
go by a plan, once nothing names them.
"""

import pytest

from tests.sim.collection.plants import CATCHES, PLANTS
from tests.sim.collection.play import explore_schedules, scene_run
from tests.sim.collection.scenes import SCENES
from tests.sim.collection.tally import Tally
from tests.sim.explore import replay
from tests.sim.plants import NONE

_SCHEDULES = 60
_PLANT_SCHEDULES = 200


def _play(scene: str, plant: str, lost: str) -> None:
    explore_schedules(SCENES[scene], range(_SCHEDULES))[0].check()
    assert CATCHES[plant] == scene
    found = explore_schedules(SCENES[scene], range(_PLANT_SCHEDULES), PLANTS[plant])[0].violation
    assert found is not None and found.message.startswith(lost)
    assert replay(scene_run(SCENES[scene], NONE, Tally()), found.choices, found.budgets) is None


def test_commit_and_move() -> None:
    """A move reads an entry; a commit takes the entry's old path into a tree; the move lands, so that the same bytes
    are staged under the new path as well. A reset that deleted what was staged would delete bytes that a commit
    names."""
    _play("commit and move", "hard delete: a reset", "DELETED")


def test_delete_and_move() -> None:
    """A delete looks at an entry; a move takes it to another path; the delete goes on. If it deleted the bytes, the new
    path would lead nowhere."""
    _play("delete and move", "hard delete: a delete", "DELETED")


def test_stale_lock() -> None:
    """Whoever moves an object dies in the middle. With a lock on the entry, nobody could move, overwrite or delete it
    ever again. There is none: the next one just does it."""
    _play("stale lock", "hard delete: a lock", "STUCK")


def test_write_after_commit() -> None:
    """An overwrite looks at what is there; a commit takes that into a tree; the overwrite lands after it. If it deleted
    the bytes that it replaced, the commit would have lost them."""
    _play("write after commit", "hard delete: an overwrite", "DELETED")


@pytest.mark.parametrize("plant", [name for name in PLANTS if name.startswith("hard delete")])
def test_every_plant_of_this_kind_has_its_race(plant: str) -> None:
    assert CATCHES[plant] in ("commit and move", "delete and move", "stale lock", "write after commit")
