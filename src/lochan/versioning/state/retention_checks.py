"""Finds mistakes in retention rules themselves: rules that contradict each other, are never used, or keep nothing."""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from math import isfinite

from lochan.errors import Invalid
from lochan.formats.collection_events import DropRule, RetentionRule, RetentionSet

READERS = ("server", "noted")
WILD = frozenset("*?[")


def check_retention(event: RetentionSet) -> None:
    """Raises Invalid for rules with a mistake."""
    if event.undo_days < 0:
        raise Invalid("a deleted branch cannot be kept for less than no time", hint="say 0 or more days")
    _check_keeps(event.rules)
    for name, days in _ages(event):
        if days < 0 or not isfinite(days):
            raise Invalid(f"{name}: {days:g} is no number of days", hint="say 0 or more; 0 is never")
    if event.readers not in READERS:
        raise Invalid(f"readers: {event.readers!r} is not known", hint=f"choose from {', '.join(READERS)}")
    _check_holds(event.holds)
    seen: list[DropRule] = []
    for rule in event.drops:
        _check_drop(rule)
        _check_used(rule, seen)
        if rule.pattern in event.holds and not rule.never:
            raise Invalid(
                f"the rule {rule.name!r} drops from branch {rule.pattern!r}, of which everything is held",
                hint="leave out one of the two",
            )
        seen.append(rule)


def _ages(event: RetentionSet) -> Iterator[tuple[str, float]]:
    yield "uploads", event.upload_days
    yield "workspaces", event.workspace_days
    yield "stashes", event.stash_days
    yield "blocks", event.block_days


def _check_keeps(rules: Iterable[RetentionRule]) -> None:
    seen: set[str] = set()
    for rule in rules:
        if not rule.pattern:
            raise Invalid("a rule has no pattern of branches", hint="such as main, 'tmp-*' or '*'")
        if rule.pattern in seen:
            raise Invalid(f"two rules are about {rule.pattern!r}", hint="one rule for each pattern")
        if any(fnmatchcase(rule.pattern, before) for before in seen):
            raise Invalid(
                f"the rule for {rule.pattern!r} is never used: a rule before it matches every such branch",
                hint="put the rule that matches fewer branches first",
            )
        seen.add(rule.pattern)
        _check_keep(rule)


def _check_keep(rule: RetentionRule) -> None:
    if rule.days < 0 or rule.commits < 0:
        raise Invalid(f"the rule for {rule.pattern!r} has a negative number", hint="say how much is kept")
    if rule.forever == bool(rule.days or rule.commits):
        raise Invalid(
            f"the rule for {rule.pattern!r} keeps {'everything, and has limits' if rule.forever else 'nothing'}",
            hint="say days, commits, or forever",
        )


def _check_holds(holds: tuple[str, ...]) -> None:
    for at, pattern in enumerate(holds):
        if not pattern or any(fnmatchcase(pattern, before) for before in holds[:at]):
            raise Invalid(f"hold: {pattern!r} is empty, or another pattern has it already", hint="leave it out")


def _check_drop(rule: DropRule) -> None:
    if not rule.name or not rule.pattern:
        raise Invalid("a drop rule has no name, or no branch", hint="such as main:tmp/=unwritten 30d")
    conditions = (rule.unwritten_days, rule.unread_days, rule.older_days)
    if any(days < 0 or not isfinite(days) for days in conditions):
        raise Invalid(f"the rule {rule.name!r} has a negative number, or none", hint="say a number of days")
    if sum(map(bool, (*conditions, rule.never))) != 1:
        raise Invalid(
            f"the rule {rule.name!r} has not exactly one condition", hint="say unwritten, unread, older, or never"
        )
    if rule.prefix.startswith("/") or (rule.prefix and not rule.prefix.endswith("/")):
        raise Invalid(f"the rule {rule.name!r}: {rule.prefix!r} is no prefix of a folder", hint="such as raw/2024/")
    if rule.prefix and (rule.low or rule.high or rule.older_days):
        raise Invalid(
            f"the rule {rule.name!r} has a path and a span of a key", hint="files have paths, and pools have keys"
        )


def _check_used(rule: DropRule, seen: list[DropRule]) -> None:
    for before in seen:
        if before.name == rule.name:
            raise Invalid(f"the rule {rule.name!r} appears twice", hint="give each rule a name of its own")
        covers = (
            fnmatchcase(rule.pattern, before.pattern)
            and rule.prefix.startswith(before.prefix)
            and (not (before.low or before.high) or (before.low, before.high) == (rule.low, rule.high))
        )
        if covers and (before.never or not before.older_days or rule.older_days):
            raise Invalid(
                f"the rule {rule.name!r} is never used: {before.name!r} before it decides about all of it",
                hint="put the rule that is about less first",
            )
