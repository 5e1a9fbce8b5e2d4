"""The one function that decides, `allowed`; and what to say of its decision."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from lochan.access import resources
from lochan.access.policy import check_action, fits_action
from lochan.access.rights import allows
from lochan.access.state import AccessState, principal
from lochan.formats.lake_events import Statement
from lochan.versioning.repositories import Repository


def allowed(access: AccessState, user: str, action: str, resource: str) -> bool:
    """Whether the user's policies allow it. Deny wins; nothing that fits means no; so does a user that is not there.
    Raises Invalid for an action that there is not."""
    return access.rights(user).allow(action, resource)


def visible(access: AccessState, user: str, repositories: Iterable[Repository]) -> list[Repository]:
    """Those that a list shows to the user; the others might as well not be there."""
    rights = access.rights(user)
    return [each for each in repositories if rights.allow("fs:ListRepositories", resources.repository(each.name))]


class RightsDecision(NamedTuple):
    allowed: bool
    policy: str  # that decided; "" where nothing fits
    number: int  # of the statement in it, from 1 on
    statement: Statement | None
    fits: tuple[str, str] = ("", "")  # its first action and its first resource that do


def explain(access: AccessState, user: str, action: str, resource: str) -> RightsDecision:
    """`allowed`, with the statement that decided: the first that denies, else the first that allows. Raises NotFound
    for a user that is not there, Invalid for what is no action."""
    check_action(action)
    found = RightsDecision(False, "", 0, None)
    for policy in access.policies_of(principal(access.user(user).name)):
        for number, statement in enumerate(policy.statements, 1):
            fits = _fitting(statement, action, resource)
            if fits is not None and not allows(statement):
                return RightsDecision(False, policy.name, number, statement, fits)
            if fits is not None and not found.allowed:
                found = RightsDecision(True, policy.name, number, statement, fits)
    return found


def _fitting(statement: Statement, action: str, resource: str) -> tuple[str, str] | None:
    actions = (each for each in statement.actions if fits_action(each, action))
    on = (each for each in statement.resources if re.fullmatch(resources.regex(each), resource, re.DOTALL))
    both = next(actions, None), next(on, None)
    return None if both[0] is None or both[1] is None else (both[0], both[1])
