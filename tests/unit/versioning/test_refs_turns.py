"""The queue of a branch, and a commit with a move on top of it in one event, on events alone."""

import msgspec

from lochan.errors import Conflict, Invalid
from lochan.formats.repository_events import Committed, Moved, Sealed, Staged, Turned, TurnOver
from lochan.versioning.state.refs_fold import SEALS_MAX
from lochan.versioning.state.refs_state import Busy, NotYourTurn
from tests.unit.versioning.folded_events import FIRST, Story, after, entry


def test_while_somebody_waits_only_the_first_moves_the_branch() -> None:
    story = Story()
    assert story.apply(Turned("main", "one")) == 0
    assert story.apply(Turned("main", "other")) == 1
    assert story.apply(Turned("main", "one")) == 0  # repeated: it is still there once
    story.refuses(story.move(after(FIRST)), NotYourTurn)
    story.refuses(story.move(after(FIRST), turn="other"), NotYourTurn)
    story.tell(story.move(after(FIRST), turn="one"))
    assert [turn.request for turn in story.refs.branch("main").turns] == ["other"]
    story.tell(TurnOver("main", "other"))
    story.tell(story.move(after(after(FIRST), message="anybody")))


def test_a_commit_out_of_turn_is_refused_and_puts_never_wait() -> None:
    story = Story()
    story.tell(Turned("main", "one"))
    story.tell(Staged("main", (entry("a"),)))
    seal = story.tell(Sealed("main"))
    story.refuses(Committed("main", seal, after(FIRST)), NotYourTurn)
    story.tell(Committed("main", seal, after(FIRST), turn="one"))
    assert story.refs.branch("main").turns == ()


def test_a_reset_of_what_is_staged_moves_no_head_and_waits_for_nobody() -> None:
    story = Story()
    story.tell(Staged("main", (entry("a"),)))
    story.tell(Turned("main", "one"))
    head, incarnation = story.main
    story.tell(Moved("main", incarnation, head, head, "reset", discard=True))
    assert story.refs.branch("main").layers.empty


def test_who_holds_the_turn_needs_no_free_seal() -> None:
    """Otherwise eight commits of dead writers would block the branch forever."""
    story = Story()
    for _ in range(SEALS_MAX):
        story.tell(Sealed("main"))
    story.tell(Turned("main", "one"))
    story.refuses(Sealed("main"), Busy)
    story.refuses(Sealed("main", turn="other"), Busy)
    seal = story.tell(Sealed("main", turn="one"))
    story.tell(Committed("main", seal, after(FIRST), turn="one"))
    assert story.refs.branch("main").layers.seals == ()


def test_a_commit_and_what_comes_then_are_one_event() -> None:
    story = Story()
    story.tell(Staged("main", (entry("a"),)))
    seal = story.tell(Sealed("main"))
    story.tell(Staged("main", (entry("b"),)))
    first = after(FIRST)
    then = after(first, message="then")
    story.refuses(Committed("main", seal, first, then=after(FIRST, message="beside it")), Invalid)
    story.tell(Committed("main", seal, first, then=then))
    branch = story.refs.branch("main")
    assert branch.head == then.id
    assert story.refs.commit(first.id) == first
    assert [change.path for layer in branch.layers.layers for change in layer.changes()] == ["b"]  # type: ignore[union-attr]
    story.refuses(Committed("main", seal, after(then), then=after(after(then))), Conflict)


def test_the_queue_outlives_a_checkpoint() -> None:
    story = Story()
    story.tell(Turned("main", "one", 2))
    dumped = msgspec.msgpack.encode(story.refs.dump())
    again = type(story.refs)()
    again.load(msgspec.Raw(dumped))
    assert again.branch("main").turns == story.refs.branch("main").turns
