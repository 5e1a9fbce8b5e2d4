"""What is wrong with retention rules for one repository: a branch that it does not have, or paths where it has rows."""

from math import isfinite

from lochan.errors import Invalid, NotFound
from lochan.formats.collection_events import RetentionSet
from lochan.versioning.repositories import POOL
from lochan.versioning.state.refs_state import RefsState
from lochan.versioning.state.retention_checks import WILD, check_retention


def check_for(refs: RefsState, event: RetentionSet) -> None:
    """Raises Invalid, and NotFound for a branch that is named without a wildcard and is not there."""
    check_retention(event)
    if not all(map(isfinite, (event.undo_days, *(rule.days for rule in event.rules)))):
        raise Invalid("a number of days has no end, or is no number", hint="say forever, or a number")
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
