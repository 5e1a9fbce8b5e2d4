"""The fold of a repository: every "valid only while" by itself, on events alone."""

from collections.abc import Callable

import msgspec
import pytest

from lochan.errors import AlreadyExists, Conflict, Invalid, NotFound, Refused
from lochan.formats.commit import Commit
from lochan.formats.repository_events import (
    BranchCreated,
    BranchDeleted,
    BranchRestored,
    Committed,
    Compacted,
    Moved,
    RunsStaged,
    Sealed,
    Staged,
    TagCreated,
)
from lochan.staging.layers import Inputs
from lochan.versioning.state.refs import Refs
from lochan.versioning.state.refs_fold import SEALS_MAX
from tests.unit.versioning.folded_events import FIRST, Story, after, entry, run


def test_a_commit_holds_what_lies_below_its_seal() -> None:
    story = Story()
    story.tell(Staged("main", (entry("a"),)))
    seal = story.tell(Sealed("main"))
    story.tell(Staged("main", (entry("b"),)))
    story.tell(Committed("main", seal, after(FIRST)))
    layers = story.refs.branch("main").layers
    assert [change.path for layer in layers.layers for change in layer.changes()] == ["b"]  # type: ignore[union-attr]
    assert layers.seals == ()
    story.refuses(Committed("main", seal, after(FIRST)), Conflict)


@pytest.mark.parametrize(
    "what",
    [
        lambda story: story.tell(story.move(after(FIRST))),
        lambda story: story.tell(Moved("main", 1, FIRST.id, FIRST.id, "reset", discard=True)),
        lambda story: (story.tell(BranchDeleted("main", 1)), story.tell(BranchCreated("main", FIRST.id))),
        lambda story: (story.tell(BranchDeleted("main", 1)), story.tell(BranchRestored("main", 1))),
        lambda story: story.tell(Committed("main", story.tell(Sealed("main")), after(FIRST, message="another"))),
    ],
    ids=["head move", "reset", "deleted and made again", "deleted and restored", "another commit"],
)
def test_any_head_move_removes_the_seals(what: Callable[[Story], object]) -> None:
    story = Story()
    story.tell(Staged("main", (entry("a"),)))
    seal = story.tell(Sealed("main"))
    what(story)
    story.refuses(Committed("main", seal, after(FIRST)), Conflict)


def test_a_ninth_seal_waits() -> None:
    story = Story()
    for _ in range(SEALS_MAX):
        story.tell(Sealed("main"))
    story.refuses(Sealed("main"), Conflict)


def test_compaction_needs_its_inputs_and_the_head_it_names() -> None:
    story = Story()
    story.tell(Staged("main", (entry("a"),)))
    story.tell(RunsStaged("main", (run("r1"),)))
    spans = Inputs(((1, 1),), ("r1",))
    story.refuses(Compacted("main", 99, spans.spans, spans.runs, (run("out"),)), Refused)
    story.refuses(Compacted("main", 1, spans.spans, spans.runs, (run("out"),), head="another"), Refused)
    story.refuses(Compacted("main", 1, ((7, 7),), (), (run("out"),)), Refused)
    story.tell(Compacted("main", 1, spans.spans, spans.runs, (run("out"),), head=FIRST.id))
    assert [each.id for each in story.refs.branch("main").layers.runs] == ["out"]
    story.refuses(Compacted("main", 1, spans.spans, spans.runs, (run("again"),)), Refused)


def test_compaction_never_crosses_a_seal() -> None:
    story = Story()
    story.tell(RunsStaged("main", (run("below"),)))
    story.tell(Sealed("main"))
    story.tell(RunsStaged("main", (run("above"),)))
    story.refuses(Compacted("main", 1, (), ("below", "above"), (run("out"),)), Refused)


def test_a_move_is_valid_only_from_the_head_it_was_computed_on() -> None:
    story = Story()
    one, other = story.move(after(FIRST, message="one")), story.move(after(FIRST, message="other"))
    story.tell(one)
    story.refuses(other, Conflict)


def test_a_move_is_valid_only_in_the_incarnation_it_was_computed_on() -> None:
    story = Story()
    move = story.move(after(FIRST))
    story.tell(BranchDeleted("main", 1))
    story.tell(BranchCreated("main", FIRST.id))
    story.refuses(move, Conflict)


@pytest.mark.parametrize("why", ["merge", "revert", "cherry-pick", "rebase"])
def test_some_moves_are_refused_on_a_branch_with_staged_changes(why: str) -> None:
    story = Story()
    story.tell(Staged("main", (entry("a"),)))
    story.refuses(story.move(after(FIRST), why), Refused)


def test_a_hard_reset_drops_the_staging_in_the_same_event() -> None:
    story = Story()
    story.tell(Staged("main", (entry("a"),)))
    head, incarnation = story.main
    story.tell(Moved("main", incarnation, head, FIRST.id, "reset", discard=True))
    assert story.refs.branch("main").layers.empty


def test_refs_name_commits_that_are_there() -> None:
    story = Story()
    story.refuses(BranchCreated("dev", "no-such-commit"), NotFound)
    story.refuses(TagCreated("v1", "no-such-commit"), NotFound)
    story.refuses(Moved("main", 1, FIRST.id, "no-such-commit", "reset"), NotFound)
    unknown = after(after(FIRST, message="not here"))
    story.refuses(story.move(unknown), NotFound)


def test_branches_and_tags_share_their_names() -> None:
    story = Story()
    story.tell(TagCreated("v1", FIRST.id))
    story.refuses(BranchCreated("v1", FIRST.id), AlreadyExists)
    story.refuses(TagCreated("main", FIRST.id), AlreadyExists)


def test_a_restored_branch_is_a_new_one_with_its_staging() -> None:
    story = Story()
    story.tell(BranchCreated("dev", FIRST.id))
    incarnation = story.refs.branch("dev").incarnation
    story.tell(Staged("dev", (entry("a"),)))
    story.tell(BranchDeleted("dev", incarnation))
    story.refuses(Staged("dev", (entry("b"),)), NotFound)
    number = story.tell(BranchRestored("dev", incarnation))
    assert story.refs.branch("dev").incarnation == number
    assert story.refs.branch("dev").layers.count == 1
    story.refuses(BranchRestored("dev", incarnation), NotFound)


def test_a_commit_must_stand_on_the_head() -> None:
    story = Story()
    story.tell(Staged("main", (entry("a"),)))
    seal = story.tell(Sealed("main"))
    story.refuses(Committed("main", seal, Commit((), "", "", "no parent", 0, {}, "t", "f", 0)), Invalid)
    wrong = msgspec.structs.replace(after(FIRST), generation=7)
    story.refuses(Committed("main", seal, wrong), Invalid)


def test_one_path_twice_in_a_request_is_refused() -> None:
    Story().refuses(Staged("main", (entry("a"),), ("a",)), Invalid)


def test_what_is_dumped_is_loaded() -> None:
    story = Story()
    story.tell(BranchCreated("dev", FIRST.id))
    story.tell(Staged("main", (entry("a"),), ("b",)))
    story.tell(Sealed("main"))
    story.tell(RunsStaged("main", (run("r"),)))
    story.tell(BranchDeleted("dev", 2))
    dumped = msgspec.msgpack.encode(story.refs.dump())
    again = Refs()
    again.load(msgspec.Raw(dumped))
    assert msgspec.msgpack.encode(again.dump()) == dumped
    assert again.branch("main").layers.seals == story.refs.branch("main").layers.seals
