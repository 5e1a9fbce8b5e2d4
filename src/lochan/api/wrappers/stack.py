"""The wrappers around a lake, in their one order: audit sees also what was denied, and nothing is called that was not
allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

from lochan.api.lake import Lake
from lochan.api.wrappers.guard import RightsGuard
from lochan.api.wrappers.proxy import Layer, Wrapped
from lochan.api.wrappers.records import Audited, AuditLine, Noted, Use


class Caller(NamedTuple):
    """Who calls, by which program, from where."""

    user: str
    client: str
    source: str
    arrived: float  # by the boot clock, when the request came (A1)


class ServedLake(NamedTuple):
    lake: Lake
    guard: RightsGuard


def serve_lake(
    lake: Lake, caller: Caller, note: Callable[[Use], None], audit: Callable[[AuditLine], None]
) -> ServedLake:
    """The lake as the caller may use it, in their name."""
    session = lake._session.acting_as(caller.user, caller.client, caller.source)
    guard = RightsGuard(session.lake.open_access(), caller.user, caller.arrived)
    layers: tuple[Layer, ...] = (guard, Noted(note), Audited(audit))
    found: object = Lake(session)
    for layer in layers:
        found = Wrapped(found, layer)
    return ServedLake(cast(Lake, found), guard)
