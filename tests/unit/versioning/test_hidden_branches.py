"""What a hidden branch leaves on disk: an older program must not read it as one that is shown."""

import msgspec

from lochan.formats.events import change
from lochan.formats.repository_events import BranchCreated, BranchDeleted, BranchRestored
from lochan.versioning.state.branch import HIDDEN
from lochan.versioning.state.refs import Refs
from tests.unit.versioning.folded_events import FIRST, Story


def test_only_a_hidden_branch_takes_the_new_version() -> None:
    assert change(BranchCreated("dev", FIRST.id)).version == 2
    assert change(BranchCreated("dev", FIRST.id, hidden=True)).version == 3


def test_a_checkpoint_keeps_it_and_says_that_it_is_needed() -> None:
    story = Story()
    story.tell(BranchCreated("dev", FIRST.id))
    assert HIDDEN not in story.refs.needs()
    made = story.tell(BranchCreated("tx", FIRST.id, hidden=True))
    assert HIDDEN in story.refs.needs()
    assert _shown(_reloaded(story.refs)) == ["dev", "main"]
    story.tell(BranchDeleted("tx", made))
    assert HIDDEN in story.refs.needs(), "it can be restored"
    story.refs = _reloaded(story.refs)
    story.tell(BranchRestored("tx", made))
    assert _shown(story.refs) == ["dev", "main"]
    assert [each.name for each in story.refs.branches()] == ["dev", "main", "tx"]


def _shown(refs: Refs) -> list[str]:
    return [each.name for each in refs.shown_branches()]


def _reloaded(refs: Refs) -> Refs:
    again = Refs()
    again.load(msgspec.Raw(msgspec.msgpack.encode(refs.dump())))
    return again
