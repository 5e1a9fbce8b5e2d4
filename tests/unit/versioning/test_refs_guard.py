"""Protected branches, read-only repositories, renames and stashes in the fold, on events alone."""

import msgspec
import pytest

from lochan.errors import (
    AlreadyExists,
    Conflict,
    Dirty,
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


@pytest.mark.parametrize("rule", [Protection("", ("stage",)), Protection("x", ()), Protection("x", ("fly",))])
def test_an_empty_rule_is_refused(rule: Protection) -> None:
    Story().refuses(ProtectionSet((rule,)), Invalid)


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
