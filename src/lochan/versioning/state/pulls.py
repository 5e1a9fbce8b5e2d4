"""Pull requests in the state of a repository, and the checks of commits.

The state has the facts that decide whether a request may be merged, and those that a list shows. Long texts stay in the
journal, and `TextPlace` has their places. Ten thousand requests take about three megabytes of a checkpoint."""

from collections.abc import Collection, Iterator
from typing import Final

import msgspec

from lochan.errors import AlreadyExists, NotFound, Refused
from lochan.journal.table import FoldTable, FoldTables

OPEN, CLOSED, MERGED = "open", "closed", "merged"
STATUSES: Final = (OPEN, CLOSED, MERGED)
APPROVE, CHANGES, WITHDRAW = "approve", "changes", "withdraw"
VERDICTS: Final = (APPROVE, CHANGES, WITHDRAW)
PENDING, SUCCESS, FAILURE = "pending", "success", "failure"
CHECK_STATUSES: Final = (PENDING, SUCCESS, FAILURE)
CHECKED_COMMITS_MAX = 1_000  # the checks of older ones are forgotten, and have to be reported again
PULLS_1 = "pulls-1"  # in checkpoints: there are requests or checks


class TextPlace(msgspec.Struct, frozen=True, array_like=True):
    """The place of a text: the record of the journal, and the mark of the event in it."""

    record: int
    mark: str


class ReviewState(msgspec.Struct, frozen=True, array_like=True):
    """The last review of a user."""

    user: str
    verdict: str
    commit: str  # the head of the source that was reviewed
    incarnation: int  # the incarnation of the source
    time: int
    text: TextPlace | None = None
    dismissed_by: str = ""


class CommentState(msgspec.Struct, frozen=True, array_like=True):
    id: str
    user: str
    time: int
    text: TextPlace
    path: str = ""
    conflict: bool = False
    thread: str = ""
    edited: int = 0  # the time of the last edit; 0 if there was none
    resolved_by: str = ""  # only in the first comment of a thread


class CheckState(msgspec.Struct, frozen=True, array_like=True):
    name: str
    status: str
    text: str
    link: str
    user: str
    time: int
    target: str = ""  # the target of the requests that have the check; "" for those of all targets


class CommitChecks(msgspec.Struct, frozen=True, array_like=True):
    number: int  # the number of the record that reported the first of them
    checks: tuple[CheckState, ...]


class PullState(msgspec.Struct, frozen=True, array_like=True):
    """A pull request. Stored in checkpoints, like the classes above: fields may only be added at the end."""

    id: str
    source: str
    target: str
    title: str
    author: str
    created: int
    updated: int
    status: str = OPEN
    text: TextPlace | None = None
    reviewers: tuple[str, ...] = ()
    reviews: tuple[ReviewState, ...] = ()
    comments: tuple[CommentState, ...] = ()
    ended: int = 0  # the time when it was closed or merged
    ended_by: str = ""
    merged: str = ""  # the head of the target after the merge
    merged_source: str = ""  # the head of the source at that time
    merged_base: str = ""  # the head of the target before the merge

    @property
    def order(self) -> tuple[int, int]:
        return pull_order(self.id)

    def standing(self, inactive: Collection[str]) -> Iterator[ReviewState]:
        """Yields the reviews that count: not those that were dismissed or withdrawn, those of users who are disabled,
        or the author's own."""
        for each in self.reviews:
            if not each.dismissed_by and each.user not in inactive and each.user != self.author:
                yield each


class DumpedPulls(msgspec.Struct, frozen=True, array_like=True):
    """The state in a checkpoint. Stored on disk: fields may only be added at the end."""

    pulls: list[PullState] = []
    checks: dict[str, CommitChecks] = {}


class Pulls(FoldTables):
    def __init__(self) -> None:
        self._pulls: FoldTable[str, PullState] = FoldTable()
        self._open: FoldTable[tuple[str, str], str] = FoldTable()  # ids of the open requests, by their branches
        self._checks: FoldTable[str, CommitChecks] = FoldTable()  # checks by commit

    # --- reading -----------------------------------------------------------------------------------------------------
    def get(self, id: str) -> PullState:
        found = self._pulls.get(id)
        if found is None:
            raise NotFound(f"no pull request {id!r}", hint="`lochan pr list REPO` shows those there are")
        return found

    def find(self, id: str) -> PullState | None:
        return self._pulls.get(id)

    def need_open(self, id: str) -> PullState:
        """Returns the request. Raises Refused if it is closed or merged."""
        found = self.get(id)
        if found.status != OPEN:
            from shlex import quote

            again = f"`lochan pr reopen REPO {quote(id)}` opens it again"
            raise Refused(
                f"pull request {id} is {found.status}", hint=again if found.status == CLOSED else "open another one"
            )
        return found

    def all(self) -> list[PullState]:
        """Returns the requests, the newest first."""
        return sorted((each for _, each in self._pulls.items()), key=lambda each: each.order, reverse=True)

    def checks(self, commit: str, target: str) -> tuple[CheckState, ...]:
        """Returns the checks of requests into that branch. A report for one branch says nothing about another."""
        found = self._checks.get(commit)
        return () if found is None else tuple(each for each in found.checks if each.target in ("", target))

    @property
    def in_use(self) -> bool:
        return next(self._pulls.items(), None) is not None or next(self._checks.items(), None) is not None

    # --- folding -----------------------------------------------------------------------------------------------------
    def put(self, pull: PullState) -> None:
        before = self._pulls.get(pull.id)
        if before is not None and self._open.get((before.source, before.target)) == pull.id:
            self._open.drop((before.source, before.target))
        if pull.status == OPEN:
            self._open.put((pull.source, pull.target), pull.id)
        self._pulls.put(pull.id, pull)

    def check_alone(self, source: str, target: str) -> None:
        """Raises AlreadyExists if an open request has the same branches."""
        id = self._open.get((source, target))
        if id is not None:
            from shlex import quote

            raise AlreadyExists(
                f"pull request {id} from {source!r} into {target!r} is open already",
                hint=f"`lochan pr show REPO {quote(id)}` shows it",
            )

    def put_check(self, commit: str, check: CheckState, number: int) -> None:
        found = self._checks.get(commit)
        if found is None:
            self._make_room()
            self._checks.put(commit, CommitChecks(number, (check,)))
            return
        others = tuple(each for each in found.checks if (each.name, each.target) != (check.name, check.target))
        self._checks.put(commit, CommitChecks(found.number, (*others, check)))

    def _make_room(self) -> None:
        by_age = [(each.number, commit) for commit, each in self._checks.items()]
        if len(by_age) >= CHECKED_COMMITS_MAX:
            self._checks.drop(min(by_age)[1])

    def source_renamed(self, branch: str, to: str) -> None:
        """Makes open requests follow their renamed source. They do not follow their targets: an approval for one branch
        is not one for another, which may have other rules."""
        for each in [each for _, each in self._pulls.items() if each.status == OPEN and each.source == branch]:
            self.put(msgspec.structs.replace(each, source=to))

    # --- checkpoints -------------------------------------------------------------------------------------------------
    def dump(self) -> DumpedPulls:
        return DumpedPulls(self.all(), dict(sorted(self._checks.items())))

    def load(self, dumped: DumpedPulls) -> None:
        for pull in dumped.pulls:
            self.put(pull)
        for commit, checks in dumped.checks.items():
            self._checks.put(commit, checks)


def pull_order(id: str) -> tuple[int, int]:
    """Returns the id as numbers. Texts that are not ids come before all of them."""
    number, _, before = id.partition(".")
    digits = number.isascii() and number.isdigit() and (not before or (before.isascii() and before.isdigit()))
    return (int(number), int(before or 0)) if digits and len(id) < 40 else (-1, -1)
