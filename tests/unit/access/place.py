"""Access control for tests: its state alone, or a whole lake in memory or in a folder."""

from collections.abc import Mapping, Sequence
from typing import Any

from lochan.access.state import AccessState
from lochan.formats.events import Event
from lochan.formats.lake_events import PolicyAttached, PolicyPut, Statement, UserCreated
from lochan.formats.record import Actor
from lochan.journal.state import EventPosition

ACTOR = Actor("ada", "test/1", "127.0.0.1")


def apply(access: AccessState, *events: Event, number: int = 1) -> Any:
    """Returns the result of the last event."""
    results = [access.apply(event, EventPosition(number, 1_000_000 * number, "ada")) for event in events]
    return results[-1]


def allow(actions: str, resources: str) -> Statement:
    return Statement("allow", tuple(actions.split()), tuple(resources.split()))


def deny(actions: str, resources: str) -> Statement:
    return Statement("deny", tuple(actions.split()), tuple(resources.split()))


def access_with(policies: Mapping[str, Sequence[Statement]], user: str = "bob") -> AccessState:
    """A user with these policies."""
    access = AccessState()
    apply(access, UserCreated(user))
    for name, statements in policies.items():
        apply(access, PolicyPut(name, tuple(statements)), PolicyAttached(name, f"user/{user}"))
    return access


def allowed(access: AccessState, user: str, action: str, resource: str) -> bool:
    """Whether the user's policies allow it."""
    return access.rights(user).allow(action, resource)
