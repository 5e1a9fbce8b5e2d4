"""Pull requests, checks, and the rules that ask for them, in the fold, on events alone."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from lochan.errors import (
    AlreadyExists,
    Conflict,
    FutureFormat,
    Invalid,
    NotFound,
    Protected,
    Refused,
    RulesUnmet,
    SameRef,
)
from lochan.formats.commit import Commit
from lochan.formats.events import Event, change
from lochan.formats.pull_events import (
    CheckReported,
    PullClosed,
    PullCommented,
    PullCommentEdited,
    PullOpened,
    PullReopened,
    PullReviewDismissed,
    PullReviewed,
    PullThreadResolved,
    PullUpdated,
)
from lochan.formats.repository_events import (
    BranchCreated,
    BranchDeleted,
    BranchRenamed,
    Moved,
    MoveOrigin,
    Protection,
    ProtectionSet,
    ReadOnlySet,
    Staged,
)
from lochan.journal.keys import Keys
from lochan.journal.state import EventPosition, Schema, State
from lochan.versioning.state import pulls
from lochan.versioning.state.merge_gate import unmet
from lochan.versioning.state.protection import DIRECT
from lochan.versioning.state.pulls_fold import COMMENTS_MAX, TEXT_BYTES_MAX
from lochan.versioning.state.refs import Refs
from tests.unit.versioning.folded_events import FIRST, Story, after, entry

WORK = after(FIRST, message="work")
MORE = after(WORK, message="more")


class Review(Story):
    """`dev` has a commit that `main` has not, and ann has opened a request."""

    def __init__(self) -> None:
        super().__init__()
        self.tell(BranchCreated("dev", FIRST.id))
        self.go_on("dev", WORK)
        self.pull = str(self.tell(PullOpened("dev", "main", "title")))

    def by(self, user: str, event: Event) -> Any:
        self.number += 1
        return self.refs.apply(event, EventPosition(self.number, self.number, user))

    def refused(self, user: str, event: Event, kind: type[Exception]) -> Exception:
        before = msgspec.msgpack.encode(self.refs.dump())
        with pytest.raises(kind) as caught:
            self.by(user, event)
        assert msgspec.msgpack.encode(self.refs.dump()) == before
        return caught.value

    def go_on(self, branch: str, to: Commit) -> None:
        found = self.refs.branch(branch)
        self.tell(Moved(branch, found.incarnation, found.head, to.id, "import", (to,)))

    def rule(self, **more: Any) -> None:
        self.tell(ProtectionSet((Protection("main", DIRECT, 3, pull=True, **more),)))

    def approve(self, user: str = "bob", commit: Commit = WORK, verdict: str = "approve") -> None:
        self.by(user, PullReviewed(self.pull, verdict, commit.id, True))

    def merge(self, source: Commit = WORK, squash: bool = False, **more: Any) -> Moved:
        found = self.refs.branch("main")
        head = self.refs.recorded(found.head)
        made = after(head, message="squashed") if squash else after(head, source, message="merged")
        origins = (MoveOrigin(source.id, "", "default"),)
        return Moved(
            "main", found.incarnation, found.head, made.id, "merge", (made,), origins=origins, pull=self.pull, **more
        )


def test_a_merge_ends_the_request() -> None:
    story = Review()
    event = story.merge()
    story.by("bob", event)
    found = story.refs.pulls.get(story.pull)
    assert (found.status, found.ended_by, found.merged, found.merged_source) == ("merged", "bob", event.target, WORK.id)
    story.refused("bob", PullReopened(story.pull), Refused)
    story.refused("bob", PullClosed(story.pull), Refused)


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (PullOpened("dev", "dev", "t"), SameRef),
        (PullOpened("dev", "main", "again"), AlreadyExists),
        (PullOpened("nowhere", "main", "t"), NotFound),
        (PullOpened("main", "nowhere", "t"), NotFound),
        (PullOpened("main", "dev", " "), Invalid),
        (PullOpened("main", "dev", "two\nlines"), Invalid),
        (PullOpened("main", "dev", "x" * 257), Invalid),
        (PullOpened("main", "dev", "t", "x" * (TEXT_BYTES_MAX + 1), mark="m"), Invalid),
        (PullOpened("main", "dev", "t", "a text without a mark"), Invalid),
        (PullOpened("main", "dev", "t", reviewers=("bob", "bob")), Invalid),
        (PullOpened("main", "dev", "t", reviewers=tuple(map(str, range(101)))), Invalid),
        (PullUpdated("99", "t"), NotFound),
    ],
)
def test_requests_that_cannot_be(event: Event, kind: type[Exception]) -> None:
    Review().refused("ann", event, kind)


def test_two_requests_of_one_record() -> None:
    story = Review()
    story.tell(BranchCreated("more", WORK.id))
    at = EventPosition(90, 0, "ann")
    assert [story.refs.apply(PullOpened(each, "main", "t"), at) for each in ("more",)] == ["90"]
    assert story.refs.apply(PullOpened("main", "dev", "t"), at) == "90.1"
    assert [each.id for each in story.refs.pulls.all()] == ["90.1", "90", story.pull]


def test_closed_and_reopened() -> None:
    story = Review()
    story.by("ann", PullClosed(story.pull))
    story.refused("bob", story.merge(), Refused)
    other = story.by("ann", PullOpened("dev", "main", "another"))
    story.refused("ann", PullReopened(story.pull), AlreadyExists)
    story.by("ann", PullClosed(other))
    story.by("ann", PullReopened(story.pull))
    assert story.refs.pulls.get(story.pull).status == "open"


# --- reviews ----------------------------------------------------------------------------------------------------------
def test_nobody_reviews_their_own_request_and_no_review_counts_without_a_server() -> None:
    story = Review()
    story.refused("ann", PullReviewed(story.pull, "approve", WORK.id, True), Refused)
    story.refused("bob", PullReviewed(story.pull, "approve", WORK.id, False), Refused)
    story.refused("", PullReviewed(story.pull, "approve", WORK.id, True), Refused)
    story.refused("bob", PullReviewed(story.pull, "fine", WORK.id, True), Invalid)
    story.refused("bob", PullReviewed(story.pull, "approve", FIRST.id, True), Conflict)


def test_new_commits_make_an_approval_stale() -> None:
    story = Review()
    story.rule(approvals=1)
    story.approve()
    story.go_on("dev", MORE)
    error = story.refused("bob", story.merge(MORE), RulesUnmet)
    assert isinstance(error, RulesUnmet)
    assert error.reasons == ("it has 0 of 1 approvals (1 more of earlier commits) (rule 'main')",)
    story.rule(approvals=1, keep_stale=True)
    story.by("bob", story.merge(MORE))


def test_an_approval_is_of_the_commit_and_a_branch_made_again_is_another() -> None:
    story = Review()
    story.rule(approvals=1, keep_stale=True)
    story.approve()
    story.tell(BranchDeleted("dev", story.refs.branch("dev").incarnation))
    error = story.refused("bob", story.merge(), NotFound)
    assert "dev" in str(error)
    story.tell(BranchCreated("dev", FIRST.id))
    other = after(FIRST, message="another")
    story.go_on("dev", other)
    story.refused("bob", story.merge(other), RulesUnmet)
    story.tell(BranchCreated("again", WORK.id))
    reset = story.refs.branch("dev")
    story.tell(Moved("dev", reset.incarnation, reset.head, WORK.id, "reset", discard=True))
    story.by("bob", story.merge())  # what was approved is what is merged


def test_whoever_asks_for_changes_blocks_the_merge() -> None:
    story = Review()
    story.approve(verdict="changes")
    story.refused("eve", story.merge(), RulesUnmet)
    story.by("eve", story.merge(inactive=("bob",)))
    story = Review()
    story.approve(verdict="changes")
    story.approve()
    story.by("eve", story.merge())
    story = Review()
    story.approve(verdict="changes")
    story.approve(verdict="withdraw")
    story.refused("bob", PullReviewed(story.pull, "withdraw", WORK.id, True), NotFound)
    story.by("eve", story.merge())


def test_reviews_that_do_not_count() -> None:
    story = Review()
    story.rule(approvals=2)
    story.approve("bob")
    story.approve("eve")
    story.refused("zoe", story.merge(inactive=("eve",)), RulesUnmet)
    story.by("zoe", PullReviewDismissed(story.pull, "bob"))
    story.refused("zoe", PullReviewDismissed(story.pull, "bob"), NotFound)
    story.refused("zoe", story.merge(), RulesUnmet)
    story.approve("bob")
    story.by("zoe", story.merge())


def test_every_unmet_reason_is_listed() -> None:
    story = Review()
    story.rule(approvals=1, checks=("quality", "schema", "size"), linear=True, mergers=("eve",))
    story.approve("bob", verdict="changes")
    story.by("ci", CheckReported(WORK.id, "quality", "failure", "3 nulls"))
    story.by("ci", CheckReported(WORK.id, "schema", "pending"))
    error = story.refused("zoe", story.merge(), RulesUnmet)
    assert isinstance(error, RulesUnmet)
    assert len(error.reasons) == 7
    assert all(reason in str(error) for reason in error.reasons)


# --- the merge itself -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "changed",
    [
        lambda event: {"branch": "dev"},
        lambda event: {"why": "import"},
        lambda event: {"discard": True},
        lambda event: {"origins": (MoveOrigin(WORK.id, "", "source-wins"),)},
        lambda event: {"origins": (MoveOrigin(WORK.id, "", "default", {"a": "dest-wins"}),)},
        lambda event: {"origins": ()},
        lambda event: {"pull": "99"},
    ],
)
def test_merges_that_are_not_what_was_reviewed(changed: Callable[[Moved], dict[str, Any]]) -> None:
    story = Review()
    event = story.merge()
    with pytest.raises((Invalid, NotFound, Conflict)):
        story.by("bob", msgspec.structs.replace(event, **changed(event)))
    assert story.refs.pulls.get(story.pull).status == "open"


def test_a_source_that_was_moved_meanwhile() -> None:
    story = Review()
    event = story.merge()
    story.go_on("dev", MORE)
    story.refused("bob", event, Conflict)
    story.by("bob", story.merge(MORE, squash=True))


def test_two_merges_at_once() -> None:
    story = Review()
    first, second = story.merge(), story.merge(squash=True)
    story.by("bob", first)
    story.refused("eve", second, Conflict)


def test_the_target_goes_on_to_the_source() -> None:
    story = Review()
    story.rule(linear=True)
    found = story.refs.branch("main")
    fast = Moved("main", found.incarnation, found.head, WORK.id, "merge", pull=story.pull)
    story.refused("bob", msgspec.structs.replace(fast, target=FIRST.id), Invalid)
    story.refused("bob", msgspec.structs.replace(fast, pull=""), Protected)
    story.refused("bob", story.merge(), RulesUnmet)
    story.by("bob", fast)
    assert story.refs.branch("main").head == WORK.id


def test_a_rule_lets_nothing_in_without_a_request() -> None:
    story = Review()
    story.rule()
    head, incarnation = story.main
    made = after(FIRST, message="direct")
    for why in ("import", "load", "workspace", "revert", "cherry-pick", "rebase", "reset", "retention", "new"):
        story.refused("ann", Moved("main", incarnation, head, made.id, why, (made,)), Protected)
    for event in (
        msgspec.structs.replace(story.merge(), pull=""),
        Staged("main", (entry("a"),)),
        BranchDeleted("main", incarnation),
        BranchRenamed("main", incarnation, "old"),
    ):
        story.refused("ann", event, Protected)
    story.by("ann", story.merge())


@pytest.mark.parametrize(
    "rule",
    [
        Protection("x", DIRECT, 2, pull=True),
        Protection("x", (), 3, pull=True),
        Protection("x", ("stage", "commit"), 3, pull=True),
        Protection("x", DIRECT, 3, approvals=1),
        Protection("x", DIRECT, 3, checks=("a",)),
        Protection("x", (*DIRECT, "merge"), 3, pull=True),
        Protection("x", DIRECT, 3, pull=True, approvals=-1),
        Protection("x", DIRECT, 3, pull=True, approvals=21),
        Protection("x", DIRECT, 3, pull=True, checks=("a", "a")),
        Protection("x", DIRECT, 3, pull=True, checks=("",)),
        Protection("x", DIRECT, 3, pull=True, checks=("a\nb",)),
    ],
)
def test_rules_that_would_leave_a_gap_or_mean_nothing(rule: Protection) -> None:
    Story().refuses(ProtectionSet((rule,)), Invalid)


def test_older_programs_refuse_what_they_would_read_as_less() -> None:
    assert change(ProtectionSet((Protection("x", DIRECT, 2),))).version == 2
    assert change(ProtectionSet((Protection("x", DIRECT, 3, pull=True),))).version == 3
    assert change(Moved("main", 1, "a", "b", "merge")).version == 1
    assert change(Moved("main", 1, "a", "b", "merge", pull="1")).version == 2
    story = Review()
    assert story.refs.needs() == ("pulls-1",)
    story.rule()
    assert story.refs.needs() == ("protection-2", "protection-3", "pulls-1")
    checkpoint = State(Schema(Refs), "j", {Refs: story.refs}, Keys(), 1, b"").checkpoint()
    old = Schema(type("OldRefs", (Refs,), {"features": ("protection-2",)}))
    with pytest.raises(FutureFormat, match="protection-3"):
        old.restore(checkpoint)
    again = Schema(Refs).restore(checkpoint).of(Refs)
    assert msgspec.msgpack.encode(again.dump()) == msgspec.msgpack.encode(story.refs.dump())


def test_a_request_follows_its_source_and_not_its_target() -> None:
    story = Review()
    story.tell(BranchRenamed("dev", story.refs.branch("dev").incarnation, "work"))
    assert story.refs.pulls.get(story.pull).source == "work"
    story.tell(BranchRenamed("main", story.refs.branch("main").incarnation, "old"))
    assert story.refs.pulls.get(story.pull).target == "main"


# --- comments and checks ----------------------------------------------------------------------------------------------
def test_threads() -> None:
    story = Review()
    first = story.by("bob", PullCommented(story.pull, "c1", "why?", "a/b"))
    story.by("ann", PullCommented(story.pull, "c2", "so", thread=first))
    story.refused("ann", PullCommented(story.pull, "c3", "so", thread="c2"), Invalid)
    story.refused("ann", PullCommented(story.pull, "c3", "so", thread="c9"), NotFound)
    story.refused("ann", PullCommented(story.pull, "c1", "so"), Invalid)
    story.refused("ann", PullCommented(story.pull, "c3", " "), Invalid)
    story.refused("ann", PullCommented(story.pull, "c3", "x", conflict=True), Invalid)
    story.refused("ann", PullCommented(story.pull, "c3", "x" * (TEXT_BYTES_MAX + 1)), Invalid)
    story.refused("ann", PullCommentEdited(story.pull, "c1", "mine", "m"), Refused)
    story.by("bob", PullCommentEdited(story.pull, "c1", "why not?", "m"))
    story.refused("ann", PullThreadResolved(story.pull, "c2"), Invalid)
    story.by("ann", PullThreadResolved(story.pull, "c1"))
    found = story.refs.pulls.get(story.pull).comments
    assert [(each.id, each.resolved_by, bool(each.edited)) for each in found] == [
        ("c1", "ann", True),
        ("c2", "", False),
    ]
    story.by("ann", PullThreadResolved(story.pull, "c1", on=False))
    assert not story.refs.pulls.get(story.pull).comments[0].resolved_by


def test_comments_have_an_end() -> None:
    story = Review()
    found = story.refs.pulls.get(story.pull)
    place = pulls.TextPlace(1, "m")
    many = tuple(pulls.CommentState(str(each), "bob", 0, place) for each in range(COMMENTS_MAX))
    story.refs.pulls.put(msgspec.structs.replace(found, comments=many))
    story.refused("bob", PullCommented(story.pull, "one-more", "x"), Refused)


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "data:text/html,x", "//host", "http://", "https://a b", "http://[", "x" * 1001]
)
def test_links_that_nobody_should_click(link: str) -> None:
    Review().refused("ci", CheckReported(WORK.id, "a", "success", "", link), Invalid)


def test_checks_are_of_a_commit_and_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulls, "CHECKED_COMMITS_MAX", 2)
    story = Review()
    story.refused("ci", CheckReported("0" * 64, "a", "success"), NotFound)
    story.refused("ci", CheckReported(WORK.id, "a", "fine"), Invalid)
    story.refused("ci", CheckReported(WORK.id, "a", "success", "x" * 501), Invalid)
    story.by("ci", CheckReported(WORK.id, "a", "failure"))
    story.by("ci", CheckReported(WORK.id, "a", "success", "", "https://ci.example.org/1?x=1"))
    assert [each.status for each in story.refs.pulls.checks(WORK.id, "main")] == ["success"]
    story.by("ci", CheckReported(FIRST.id, "a", "success"))
    story.go_on("dev", MORE)
    story.by("ci", CheckReported(MORE.id, "a", "success"))
    assert not story.refs.pulls.checks(WORK.id, "main")
    for number in range(49):
        story.by("ci", CheckReported(MORE.id, f"check-{number}", "success"))
    story.refused("ci", CheckReported(MORE.id, "one-more", "success"), Refused)


def test_a_check_counts_for_the_target_that_it_was_reported_for() -> None:
    """Whoever may report for one branch would else decide what comes to another."""
    story = Review()
    story.rule(checks=("quality",))
    story.by("eve", CheckReported(WORK.id, "quality", "success", target="eves"))
    assert not story.refs.pulls.checks(WORK.id, "main")
    assert [each.user for each in story.refs.pulls.checks(WORK.id, "eves")] == ["eve"]
    reasons = list(unmet(story.refs, story.refs.pulls.get(story.pull), ()))
    assert any("'quality' was not reported" in each for each in reasons), reasons
    for number in range(49):
        story.by("eve", CheckReported(WORK.id, f"check-{number}", "success", target="eves"))
    story.by("ci", CheckReported(WORK.id, "quality", "success", target="main"))
    story.by("eve", CheckReported(WORK.id, "quality", "failure", target="eves"))
    assert not list(unmet(story.refs, story.refs.pulls.get(story.pull), ()))


def test_a_check_of_a_record_without_a_target_counts_for_all() -> None:
    story = Review()
    story.rule(checks=("quality",))
    story.by("ci", CheckReported(WORK.id, "quality", "success"))
    assert not list(unmet(story.refs, story.refs.pulls.get(story.pull), ()))


def test_a_read_only_repository_takes_no_requests() -> None:
    story = Review()
    story.tell(ReadOnlySet(True))
    story.refused("bob", PullCommented(story.pull, "c1", "x"), Refused)


@pytest.mark.thorough
def test_ten_thousand_requests_take_little_of_a_checkpoint() -> None:
    """However long their texts are."""
    story = Review()
    for number in range(10_000):
        story.tell(BranchCreated(f"work-{number}", WORK.id))
        story.tell(PullOpened(f"work-{number}", "main", f"request {number}", "x" * 2_000, mark=f"mark-{number}"))
    assert len(story.refs.pulls.all()) == 10_001
    size = len(msgspec.msgpack.encode(story.refs.pulls.dump()))
    assert size < 2_000_000, size
    story.refused("ann", PullOpened("work-7", "main", "again"), AlreadyExists)
    story.by("ann", PullClosed(story.refs.pulls.all()[0].id))
    story.by("ann", PullOpened("work-9999", "main", "again"))
