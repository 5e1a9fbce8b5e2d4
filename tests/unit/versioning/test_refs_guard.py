"""Protected branches, read-only repositories, renames and stashes in the fold, on events alone."""

import msgspec
import pytest

from lochan.errors import (
    AlreadyExists,
    Conflict,
    Dirty,
    FutureFormat,
    Invalid,
    LochanError,
    NotFound,
    NothingToDo,
    Protected,
    ReadOnly,
)
from lochan.formats.events import Event
from lochan.formats.repository_events import (
    BranchCreated,
    BranchDeleted,
    BranchRenamed,
    Committed,
    Compacted,
    Moved,
    MoveOrigin,
    Popped,
    Protection,
    ProtectionSet,
    ReadOnlySet,
    RunsStaged,
    Sealed,
    Staged,
    StashDropped,
    Stashed,
    TagCreated,
)
from lochan.journal.keys import Keys
from lochan.journal.state import Schema, State
from lochan.versioning.state.refs import Refs
from tests.unit.versioning.folded_events import FIRST, Story, after, entry, run


def protected(*blocked: str, pattern: str = "ma*") -> Story:
    story = Story()
    story.tell(ProtectionSet((Protection(pattern, blocked),)))
    return story


@pytest.mark.parametrize(
    ("blocked", "event"),
    [
        ("stage", Staged("main", (entry("a"),))),
        ("stage", RunsStaged("main", (run("r"),))),
        ("commit", Sealed("main")),
        ("rewrite", BranchDeleted("main", 1)),
        ("rewrite", BranchRenamed("main", 1, "other")),
    ],
)
def test_what_is_blocked_is_refused_and_the_rest_is_not(blocked: str, event: Event) -> None:
    protected(blocked).refuses(event, Protected)
    protected(blocked, pattern="dev").tell(event)
    others = {"stage", "commit", "rewrite"} - {blocked}
    protected(*others).tell(event)


def test_head_moves_of_a_protected_branch() -> None:
    story = protected("stage", "commit", "rewrite")
    story.refuses(story.move(after(FIRST), "import"), Protected)
    story.refuses(story.move(after(FIRST), "reset"), Protected)
    story.tell(story.move(after(FIRST), "merge"))


def test_a_seal_drawn_before_does_not_help() -> None:
    story = Story()
    story.tell(Staged("main", (entry("a"),)))
    seal = story.tell(Sealed("main"))
    story.tell(ProtectionSet((Protection("main", ("commit",)),)))
    story.refuses(Committed("main", seal, after(FIRST)), Protected)


@pytest.mark.parametrize(
    "rule",
    [
        Protection("", ("stage",)),
        Protection("x", ()),
        Protection("x", ("fly",)),
        Protection("x", ("merge",)),  # version 1 does not know it
        Protection("x", ("fly",), 2),
        Protection("x", (), 2),
        Protection("x", ("merge",), 2, ("ann",)),
        Protection("x", (), 2, ("",)),
        Protection("x", (), 2, tuple(f"user-{n}" for n in range(201))),
    ],
)
def test_an_empty_rule_is_refused(rule: Protection) -> None:
    Story().refuses(ProtectionSet((rule,)), Invalid)


# --- rules of version 2 ----------------------------------------------------------------------------------------------
BLOCKS_ALL = Protection("ma*", ("stage", "commit", "revert", "merge", "rewrite"), 2)
ORIGIN = (MoveOrigin(FIRST.id),)


@pytest.mark.parametrize(
    ("why", "origins", "blocked"),
    [
        ("merge", ORIGIN, "merge"),
        ("merge", (), "commit"),  # of rows: no branch was merged
        ("update", (), "commit"),
        ("something new", (), "commit"),
        ("revert", ORIGIN, "revert"),
        ("cherry-pick", ORIGIN, "revert"),
        ("rebase", (), "rewrite"),
    ],
)
def test_a_move_that_no_rule_thought_of_is_a_direct_write(
    why: str, origins: tuple[MoveOrigin, ...], blocked: str
) -> None:
    for action in BLOCKS_ALL.blocked:
        story = Story()
        story.tell(ProtectionSet((Protection("ma*", (action,), 2),)))
        move = story.move(after(FIRST), why, origins=origins)
        if action == blocked:
            story.refuses(move, Protected)
        else:
            story.tell(move)


def test_a_compaction_changes_no_row() -> None:
    story = Story()
    story.tell(ProtectionSet((BLOCKS_ALL,)))
    story.tell(story.move(after(FIRST), "compact"))


@pytest.mark.parametrize("why", ["revert", "merge", "update"])
def test_a_rule_of_version_1_keeps_its_meaning(why: str) -> None:
    """Else what older programs have appended under it would be invalid now."""
    story = protected("stage", "commit", "rewrite")
    story.tell(story.move(after(FIRST), why, origins=ORIGIN))


@pytest.mark.parametrize(("user", "kind"), [("ann", None), ("bob", Protected)])
def test_only_some_may_merge(user: str, kind: type[LochanError] | None) -> None:
    story = Story()
    story.tell(ProtectionSet((Protection("main", (), 2, (user,)),)))  # events are ann's
    move = story.move(after(FIRST), "merge", origins=ORIGIN)
    if kind is None:
        story.tell(move)
    else:
        story.refuses(move, kind)
    story.tell(story.move(after(story.refs.commit(story.main[0])), "import"))


def test_the_second_commit_of_an_event_is_no_way_around() -> None:
    for why, blocked in (("merge", "merge"), ("revert", "revert"), ("", "revert")):
        story = Story()
        story.tell(Staged("main", (entry("a"),)))
        seal = story.tell(Sealed("main"))
        story.tell(ProtectionSet((Protection("main", (blocked,), 2),)))
        first = after(FIRST)
        story.refuses(Committed("main", seal, first, then=after(first), why=why), Protected)


def test_a_linear_history_has_no_second_parents() -> None:
    story = Story()
    side = after(FIRST, message="side")
    story.tell(BranchCreated("dev", FIRST.id))
    story.tell(Moved("dev", story.number, FIRST.id, side.id, "import", (side,)))
    story.tell(ProtectionSet((Protection("main", (), 2, (), True),)))
    head = after(FIRST, message="head")
    story.tell(story.move(head))
    joined = after(head, side)
    story.refuses(story.move(joined, "merge", origins=ORIGIN), Protected)
    story.tell(story.move(after(head, message="squash"), "merge", origins=ORIGIN))
    # A reset to a commit that was merged elsewhere would bring its second parent too.
    story.tell(Moved("dev", story.refs.branch("dev").incarnation, side.id, joined.id, "import", (joined,)))
    squashed, incarnation = story.main
    story.refuses(Moved("main", incarnation, squashed, joined.id, "reset"), Protected)
    story.tell(Moved("main", incarnation, squashed, head.id, "reset"))  # back along its own history


def test_staged_changes_do_not_come_along_under_another_name() -> None:
    story = Story()
    made = story.tell(BranchCreated("dev", FIRST.id))
    story.tell(Staged("dev", (entry("a"),)))
    story.tell(ProtectionSet((Protection("release", ("stage",), 2),)))
    story.refuses(BranchRenamed("dev", made, "release"), Protected)
    story.tell(BranchRenamed("dev", made, "other"))


def test_who_does_not_know_such_rules_refuses_the_checkpoint() -> None:
    story = Story()
    assert story.refs.needs() == ()
    story.tell(ProtectionSet((Protection("main", ("stage",)),)))
    assert story.refs.needs() == ()
    story.tell(ProtectionSet((BLOCKS_ALL,)))
    assert story.refs.needs() == ("protection-2",)
    schema = Schema(Refs)
    state = State(schema, "j", {Refs: story.refs}, Keys(), story.number, b"")
    kept = state.checkpoint()
    assert schema.restore(kept).of(Refs).guard.rules == (BLOCKS_ALL,)

    class Older(Refs):
        features = ()

    with pytest.raises(FutureFormat, match="protection-2"):
        Schema(Older).restore(kept)


def test_nothing_changes_in_a_read_only_repository() -> None:
    story = Story()
    story.tell(RunsStaged("main", (run("r"),)))
    story.tell(ReadOnlySet(True))
    for event in (
        Staged("main", (entry("a"),)),
        Sealed("main"),
        BranchCreated("dev", FIRST.id),
        TagCreated("v1", FIRST.id),
        story.move(after(FIRST)),
        Stashed("main"),
        ProtectionSet(()),
    ):
        story.refuses(event, ReadOnly)
    story.tell(Compacted("main", 1, (), ("r",), (run("out"),)))  # nobody sees that
    story.tell(ReadOnlySet(False))
    story.tell(Staged("main", (entry("a"),)))


def test_a_renamed_branch_is_another_incarnation_with_its_staging() -> None:
    story = Story()
    made = story.tell(BranchCreated("dev", FIRST.id))
    story.tell(Staged("dev", (entry("a"),)))
    seal = story.tell(Sealed("dev"))
    story.refuses(BranchRenamed("dev", made, "main"), AlreadyExists)
    story.refuses(BranchRenamed("dev", 99, "new"), Conflict)
    number = story.tell(BranchRenamed("dev", made, "new"))
    assert story.refs.branch("new").incarnation == number
    assert story.refs.branch("new").layers.count == 1
    story.refuses(Staged("dev", (entry("b"),)), NotFound)
    story.refuses(Committed("new", seal, after(FIRST)), Conflict)


# --- stashes --------------------------------------------------------------------------------------------------------
def test_a_stash_takes_the_staging_and_the_seals_along() -> None:
    story = Story()
    story.refuses(Stashed("main"), NothingToDo)
    story.tell(Staged("main", (entry("a"),), ("b",)))
    seal = story.tell(Sealed("main"))
    id = story.apply(Stashed("main", "for later"))
    assert story.refs.branch("main").layers.empty
    story.refuses(Committed("main", seal, after(FIRST)), Conflict)
    stash = story.refs.stashes.get(id)
    assert (stash.message, stash.head, stash.layers.count) == ("for later", FIRST.id, 2)


@pytest.mark.parametrize(
    ("before", "kind"),
    [
        (Staged("main", (entry("z"),)), Dirty),
        (Moved("main", 1, FIRST.id, after(FIRST).id, "import", (after(FIRST),)), Conflict),
        (StashDropped("3"), NotFound),
        (Popped("main", "3", FIRST.id), NotFound),
    ],
    ids=["something staged", "another head", "dropped", "popped before"],
)
def test_a_stash_is_popped_only_where_it_was_looked_at(before: Event, kind: type[LochanError]) -> None:
    story = Story()
    story.tell(Staged("main", (entry("a"),)))
    id = story.apply(Stashed("main"))
    assert id == "3"
    story.tell(before)
    if isinstance(before, Popped):
        story.tell(Moved("main", 1, FIRST.id, FIRST.id, "reset", discard=True))
    story.refuses(Popped("main", id, FIRST.id), kind)


def test_a_popped_stash_is_staged_again_and_gone() -> None:
    story = Story()
    story.tell(Staged("main", (entry("a"),)))
    id = story.apply(Stashed("main"))
    story.tell(BranchCreated("dev", FIRST.id))
    story.tell(Popped("dev", id, FIRST.id))
    assert story.refs.branch("dev").layers.count == 1
    assert story.refs.stashes.all() == []


def test_all_of_it_outlives_a_checkpoint() -> None:
    story = Story()
    story.tell(Staged("main", (entry("a"),)))
    story.tell(Stashed("main", "one"))
    story.tell(Staged("main", (entry("b"),)))
    story.tell(Stashed("main", "two"))
    story.tell(ProtectionSet((Protection("main", ("stage",)),)))
    story.tell(ReadOnlySet(True))
    dumped = msgspec.msgpack.encode(story.refs.dump())
    again = Refs()
    again.load(msgspec.Raw(dumped))
    assert msgspec.msgpack.encode(again.dump()) == dumped
    assert [stash.message for stash in again.stashes.all("main")] == ["two", "one"]
    assert again.guard.read_only
