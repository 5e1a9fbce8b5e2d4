"""The rules that protect branches: the actions that each of them blocks, and the action that an event counts as.

A rule keeps the meaning that it had when it was set, because every program must fold the same journal to the same
state. Rules of version 1 know three actions, and only the moves that are listed for them. Rules of version 2 treat
every move that is not listed as a direct write, so they block new kinds of moves too. Rules of version 3 can demand a
pull request, and conditions for it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

from lochan.errors import Invalid, Protected
from lochan.formats.repository_events import Moved, Protection

STAGE = "stage"  # put, delete, link, complete an upload, pop a stash
COMMIT = "commit"  # commits of staged changes; imports, loads and all other new rows; commits of workspaces
REVERT = "revert"  # revert, cherry-pick
MERGE = "merge"  # a merge of another branch, tag or commit
REWRITE = "rewrite"  # reset to another commit, rebase, rename, delete
ACTIONS: Final = (STAGE, COMMIT, REVERT, MERGE, REWRITE)
DIRECT: Final = (STAGE, COMMIT, REVERT, REWRITE)  # everything but merges, by which a protected branch usually changes
VERSION: Final = 2
PULL_VERSION: Final = 3
USERS_MAX = 200
APPROVALS_MAX = 20
CHECKS_MAX = 50
CHECK_NAME_MAX = 100

_OLD_ACTIONS = (STAGE, COMMIT, REWRITE)
_OLD_COMMITS = ("import", "ingest", "workspace", "load", "delete", "retention")
_OLD_MOVES = {"reset": REWRITE, "rebase": REWRITE} | dict.fromkeys(_OLD_COMMITS, COMMIT)
_MOVES = {"reset": REWRITE, "rebase": REWRITE, "revert": REVERT, "cherry-pick": REVERT}
_COMPACT = "compact"  # changes no row
_BRANCH_MERGE = "merge"


class BranchRules:
    """The rules of one branch."""

    def __init__(self, branch: str, rules: Sequence[Protection]) -> None:
        self._branch = branch
        self._rules = [rule for rule in rules if fnmatchcase(branch, rule.pattern)]

    def check(self, action: str) -> None:
        """Raises Protected if a rule blocks the action."""
        for rule in self._rules:
            if action in rule.blocked:
                raise self._refused(rule, f"{_WHAT[action]} is blocked", _HINTS.get(action, _HINT))

    def check_move(self, event: Moved, user: str, is_linear: Callable[[], bool]) -> None:
        """Raises Protected if a rule forbids the move. `is_linear` returns whether all commits that the move adds have
        one parent."""
        for rule in self._rules:
            action = _action(event) if rule.version > 1 else _OLD_MOVES.get(event.why, "")
            self._check_rule(rule, action, user, is_linear)

    def check_second(self, why: str, user: str, is_linear: Callable[[], bool]) -> None:
        """Checks a commit that follows another one in the same event: a merge, a revert or a cherry-pick."""
        for rule in self._rules:
            if rule.version > 1:
                action = MERGE if why == _BRANCH_MERGE else REVERT
                self._check_rule(rule, action, user, is_linear)

    @property
    def rules(self) -> Sequence[Protection]:
        return self._rules

    def unmet(self, user: str, is_linear: Callable[[], bool]) -> Iterator[str]:
        """Yields the objections of the rules to the merge of a pull request, regardless of the request itself."""
        for rule in self._rules:
            if MERGE in rule.blocked:
                yield f"merges are blocked (rule {rule.pattern!r})"
            if rule.mergers and user not in rule.mergers:
                yield f"{user!r} may not merge into {self._branch!r} (rule {rule.pattern!r})"
            if rule.linear and not is_linear():
                yield (
                    f"the history of {self._branch!r} is linear, and this would add a commit with two parents: "
                    f"squash it (rule {rule.pattern!r})"
                )

    def check_staged(self) -> None:
        """Checks a branch that gets these rules while it has staged changes. They would end up on it without having
        been written under the rules."""
        for rule in self._rules:
            if rule.version > 1 and STAGE in rule.blocked:
                raise self._refused(rule, f"{_WHAT[STAGE]} is blocked, and changes are staged", "commit or drop them")

    def _check_rule(self, rule: Protection, action: str, user: str, is_linear: Callable[[], bool]) -> None:
        if action in rule.blocked:
            raise self._refused(rule, f"{_WHAT[action]} is blocked", _HINTS.get(action, _HINT))
        if action == MERGE and rule.pull:
            raise self._refused(rule, "it changes by pull requests only", _PULL_HINT)
        if action == MERGE and rule.mergers and user not in rule.mergers:
            raise self._refused(rule, f"{user!r} may not merge into it", "ask somebody who may merge")
        if rule.linear and not is_linear():
            hint = "merge with --squash, or rebase your branch first"
            raise self._refused(rule, "its history is linear, and this would add a commit with two parents", hint)

    def _refused(self, rule: Protection, what: str, hint: str) -> Protected:
        return Protected(f"branch {self._branch!r} is protected: {what} (rule {rule.pattern!r})", hint=hint)


def _action(event: Moved) -> str:
    """Returns the action that a move counts as. Only a merge of branches names the commit that it has joined: rows can
    be merged too."""
    if event.why == _BRANCH_MERGE and event.origins:
        return MERGE
    return "" if event.why == _COMPACT else _MOVES.get(event.why, COMMIT)


def check_rules(rules: Iterable[Protection]) -> None:
    """Raises Invalid for rules that are malformed."""
    seen: set[str] = set()
    for rule in rules:
        allowed = ACTIONS if rule.version > 1 else _OLD_ACTIONS
        if not rule.pattern or rule.pattern in seen:
            raise Invalid(f"the pattern {rule.pattern!r} is empty or appears twice")
        seen.add(rule.pattern)
        unknown = [action for action in rule.blocked if action not in allowed]
        if unknown or not (rule.blocked or rule.mergers or rule.linear or rule.pull):
            raise Invalid(
                f"unknown actions to block on {rule.pattern!r}: {', '.join(unknown) or 'nothing was given'}",
                hint=f"choose from {', '.join(allowed)}",
            )
        for mistake in _mistakes(rule):
            raise Invalid(f"the rule for {rule.pattern!r} {mistake}")


def _mistakes(rule: Protection) -> Iterator[str]:
    if len(rule.mergers) > USERS_MAX:
        yield f"names {len(rule.mergers)} users who may merge; {USERS_MAX} is the most"
    if "" in rule.mergers:
        yield "has an empty name among the users who may merge"
    if rule.mergers and MERGE in rule.blocked:
        yield "blocks merges, and names users who may merge: choose one"
    if rule.version >= PULL_VERSION:
        yield from _pull_mistakes(rule)
    elif rule.pull or rule.approvals or rule.checks or rule.keep_stale:
        yield f"asks for a pull request, which rules of version {rule.version} cannot"


def _pull_mistakes(rule: Protection) -> Iterator[str]:
    open = [action for action in DIRECT if action not in rule.blocked]
    if (rule.approvals or rule.checks or rule.keep_stale) and not rule.pull:
        yield "says what a pull request needs, and does not ask for one"
    if rule.pull and open:
        yield f"asks for a pull request, and lets changes in without one: {', '.join(open)}"
    if rule.pull and MERGE in rule.blocked:
        yield "blocks merges, and asks for pull requests: choose one"
    if not 0 <= rule.approvals <= APPROVALS_MAX:
        yield f"asks for {rule.approvals} approvals; 0 to {APPROVALS_MAX} are possible"
    if len(rule.checks) > CHECKS_MAX or len(set(rule.checks)) != len(rule.checks):
        yield f"names a check twice, or more than {CHECKS_MAX} of them"
    for name in rule.checks:
        yield from check_name_mistakes(name)


def check_name_mistakes(name: str) -> Iterator[str]:
    if not name.strip() or not name.isprintable() or len(name) > CHECK_NAME_MAX:
        yield f"has a check of the name {name[:40]!r}: 1 to {CHECK_NAME_MAX} printable characters are possible"


_WHAT = {
    STAGE: "writing to it",
    COMMIT: "committing to it",
    REVERT: "reverting or cherry-picking on it",
    MERGE: "merging into it directly",
    REWRITE: "changing its history",
}
_HINT = "work on a branch of your own, and merge it"
_PULL_HINT = "`lochan pr create REPO --from BRANCH --title TITLE` opens one"
_HINTS = {MERGE: "`lochan branch protection REPO` shows the rules; somebody who may set them can let merges in"}
