"""Policies, put and deleted; and who has them."""

from collections.abc import Sequence

from lochan.access.names import check_policy_name
from lochan.access.open_access import OpenAccess
from lochan.access.policy import check_statements
from lochan.formats.lake_events import PolicyAttached, PolicyDeleted, PolicyDetached, PolicyPut, Statement
from lochan.formats.record import Actor


async def put_policy(
    access: OpenAccess, name: str, statements: Sequence[Statement], *, actor: Actor, key: str = ""
) -> None:
    """A new one, or in place of the one of that name, for everybody who has it. Raises Invalid, or Refused for the
    policies that every lake has."""
    check_policy_name(name)
    check_statements(statements)
    event = PolicyPut(name, tuple(statements))
    await access.submit(actor, lambda state: [event], "put-policy", event, key=key, takes_away=True)


async def delete_policy(access: OpenAccess, name: str, *, actor: Actor, key: str = "") -> None:
    """Raises NotFound, or Refused while somebody has it: what it denied would be open without a word."""
    await access.submit(actor, lambda state: [PolicyDeleted(name)], "delete-policy", name, key=key)


async def attach(access: OpenAccess, policy: str, principal: str, *, actor: Actor, key: str = "") -> None:
    """It may deny something, so this waits as a revocation does. Raises NotFound, AlreadyExists."""
    event = PolicyAttached(policy, principal)
    await access.submit(actor, lambda state: [event], "attach", policy, principal, key=key, takes_away=True)


async def detach(access: OpenAccess, policy: str, principal: str, *, actor: Actor, key: str = "") -> None:
    """Raises NotFound, or Refused for the policy Admin of the last who has it."""
    event = PolicyDetached(policy, principal)
    await access.submit(actor, lambda state: [event], "detach", policy, principal, key=key, takes_away=True)
