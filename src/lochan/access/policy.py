"""Which statements a policy can be made of, which actions they are about, and the policies that every lake has."""

import re
from collections.abc import Mapping, Sequence

from lochan.access import resources
from lochan.access.actions import ACTIONS, READING, WRITING
from lochan.access.resources import wildcard_regex
from lochan.errors import Invalid
from lochan.formats.lake_events import Statement

EFFECTS = ("allow", "deny")
STATEMENTS_MAX = 200
PATTERNS_MAX = 200  # in one statement
PATTERN_LENGTH_MAX = 2_048  # a path has 1,024 bytes at most
LENGTH_MAX = 1 << 18  # of all patterns together: a policy is one event, and stays in memory


def check_statements(statements: Sequence[Statement]) -> None:
    """Raises Invalid, saying which statement and what is wrong with it."""
    if not statements:
        raise Invalid("a policy needs a statement", hint="one that allows or denies some actions on some resources")
    if len(statements) > STATEMENTS_MAX:
        raise Invalid(f"a policy has at most {STATEMENTS_MAX} statements, not {len(statements)}")
    if sum(len(pattern) for each in statements for pattern in (*each.actions, *each.resources)) > LENGTH_MAX:
        raise Invalid(f"the policy is longer than {LENGTH_MAX} characters", hint="use wildcards, or several policies")
    for number, statement in enumerate(statements, 1):
        try:
            _check(statement)
        except Invalid as error:
            raise Invalid(f"statement {number}: {error.message}", hint=error.hint) from None


def check_action(name: str) -> None:
    if name not in ACTIONS:
        raise Invalid(f"there is no action {name!r}{_did_you_mean(name)}", hint=_LISTED)


def fits_action(pattern: str, action: str) -> bool:
    return pattern == action or re.fullmatch(wildcard_regex(pattern), action) is not None


def _check(statement: Statement) -> None:
    if statement.effect not in EFFECTS:
        raise Invalid(f"{statement.effect!r} is not an effect", hint=f"take one of {', '.join(EFFECTS)}")
    _check_count("actions", statement.actions)
    _check_count("resources", statement.resources)
    for pattern in statement.actions:
        _check_action_pattern(pattern)
    for pattern in statement.resources:
        resources.check_pattern(pattern)


def _check_action_pattern(pattern: str) -> None:
    if not any(letter in pattern for letter in "*?"):
        check_action(pattern)
    elif not any(fits_action(pattern, action) for action in ACTIONS):
        raise Invalid(f"no action fits {pattern!r}{_did_you_mean(pattern)}", hint=_LISTED)


def _check_count(what: str, patterns: Sequence[str]) -> None:
    if not patterns:
        raise Invalid(f"it names no {what}")
    if len(patterns) > PATTERNS_MAX:
        raise Invalid(
            f"it names {len(patterns)} {what}; {PATTERNS_MAX} is the most", hint="use wildcards, or more statements"
        )
    for pattern in patterns:
        if len(pattern) > PATTERN_LENGTH_MAX:
            raise Invalid(f"one of its {what} is longer than {PATTERN_LENGTH_MAX} characters: {pattern[:40]!r}…")


def _did_you_mean(name: str) -> str:
    from difflib import get_close_matches  # only a mistake pays for it

    near = get_close_matches(name, list(ACTIONS), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


_LISTED = "`lochan auth actions` lists them"

ADMIN = "Admin"

# The policies that every lake has from the beginning; nobody changes them. They are part of the fold: their names are
# taken in every lake there is, and a fourth one would need a new event.
BUILT_IN: Mapping[str, tuple[Statement, ...]] = {
    ADMIN: (Statement("allow", ("*",), ("*",)),),
    "Developer": (Statement("allow", READING + WRITING, ("repository/*",)),),
    "Analyst": (Statement("allow", READING, ("repository/*",)),),
}
