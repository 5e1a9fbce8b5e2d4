"""Finds mistakes in retention rules for one repository, such as a branch that it does not have, or paths in a pool."""

from math import isfinite

from lochan.errors import Invalid, NotFound
from lochan.formats.collection_events import RetentionSet
from lochan.versioning.repositories import POOL
from lochan.versioning.state.refs_state import RefsState
from lochan.versioning.state.retention_checks import WILD, check_retention

DAYS_MAX = 1_000_000  # some 2,700 years, which fit into a 64-bit number as microseconds
COMMITS_MAX = 1_000_000_000


def check_for(refs: RefsState, event: RetentionSet) -> None:
    """Raises Invalid, and NotFound if a rule names a branch without a wildcard that does not exist."""
    check_retention(event)
    check_numbers(event)
    named = [*(each.pattern for each in event.rules), *(each.pattern for each in event.drops), *event.holds]
    for pattern in named:
        if not set(pattern) & WILD and refs.find_branch(pattern) is None:
            raise NotFound(
                f"no branch {pattern!r}, which a rule names", hint="name one that is there, or use a wildcard"
            ).named(pattern, refs.branch_names)
    for rule in event.drops:
        if refs.kind == POOL and rule.prefix:
            raise Invalid(f"the rule {rule.name!r} names a path, and a pool has rows", hint="such as main=older 90d")
        if refs.kind != POOL and (rule.low or rule.high or rule.older_days):
            raise Invalid(
                f"the rule {rule.name!r} is about the key of rows, and this repository has files",
                hint="such as main:tmp/=unwritten 30d",
            )


def check_numbers(event: RetentionSet) -> None:
    """Checks that every number can be stored and used in a time. Raises Invalid."""
    ages = (event.upload_days, event.workspace_days, event.stash_days, event.block_days)
    drops = (days for rule in event.drops for days in (rule.unwritten_days, rule.unread_days, rule.older_days))
    for days in (event.undo_days, *ages, *(rule.days for rule in event.rules), *drops):
        if not isfinite(days):
            raise Invalid("a number of days has no end, or is no number", hint="say forever, or a number")
        if days > DAYS_MAX:
            raise Invalid(f"{days:g} days is too long", hint=f"say at most {DAYS_MAX:,} days, or forever")
    for rule in event.rules:
        if rule.commits > COMMITS_MAX:
            raise Invalid(f"{rule.commits} commits are too many", hint=f"say at most {COMMITS_MAX:,}, or forever")
