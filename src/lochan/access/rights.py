"""What one user's policies come to, made ready for being asked often: every request of the server asks at least once.

Per action, the resources that are denied and those that are allowed, each one regular expression. They are made when an
action is first asked about, and thrown away when anything about access changes.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lochan.access import resources
from lochan.access.policy import check_action, fits_action
from lochan.access.state import Policy
from lochan.formats.access_events import Statement

if TYPE_CHECKING:
    import pyarrow as pa

Fits = Callable[[str], object]  # a resource; true or false


class _Of(NamedTuple):
    """For one action; None: none are."""

    denied: Fits | None
    allowed: Fits | None


class Rights:
    __slots__ = ("_of", "_policies")

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._policies = policies
        self._of: dict[str, _Of] = {}

    def allow(self, action: str, resource: str) -> bool:
        """Deny wins; where nothing fits, it is denied. Raises Invalid for an action that there is not."""
        of = self._of.get(action) or self._compile(action)
        if of.allowed is None or (of.denied is not None and of.denied(resource)):
            return False
        return bool(of.allowed(resource))

    def allow_each(self, action: str, on: "pa.Array") -> "pa.Array":
        """`allow` of very many resources, by columns."""
        import pyarrow.compute as pc

        denied, allowed = self._patterns(action)
        return pc.and_not(_each(allowed, on), _each(denied, on))

    def _compile(self, action: str) -> _Of:
        denied, allowed = self._patterns(action)
        of = self._of[action] = _Of(_one(denied), _one(allowed))
        return of

    def _patterns(self, action: str) -> tuple[list[str], list[str]]:
        """Of resources: denied, and allowed."""
        check_action(action)
        denied: list[str] = []
        allowed: list[str] = []
        for policy in self._policies:
            for statement in policy.statements:
                if any(fits_action(pattern, action) for pattern in statement.actions):
                    (allowed if allows(statement) else denied).extend(statement.resources)
        return denied, allowed


NOTHING = Rights(())


def allows(statement: Statement) -> bool:
    """What does not say so denies."""
    return statement.effect == "allow"


def _one(patterns: Sequence[str]) -> Fits | None:
    if not patterns:
        return None
    if "*" in patterns:
        return _everything
    return re.compile("|".join(f"(?:{resources.regex(each)})" for each in dict.fromkeys(patterns)), re.DOTALL).fullmatch


def _each(patterns: Sequence[str], on: "pa.Array") -> "pa.Array":
    """By RE2, which takes no longer for many stars than for few, and knows no atomic groups."""
    import pyarrow.compute as pc

    if not patterns:
        return pc.is_null(on)  # a resource never is
    whole = "|".join(resources.regex(each).replace("(?>", "(?:") for each in dict.fromkeys(patterns))
    return pc.match_substring_regex(on, rf"(?s)\A(?:{whole})\z")


def _everything(resource: str) -> bool:
    return True
