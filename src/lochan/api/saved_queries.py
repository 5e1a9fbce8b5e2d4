"""Queries that a user has saved in the lake under names, and finds again on every machine."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from lochan.api.results import Result, moment

if TYPE_CHECKING:
    from lochan.api.session import Session
    from lochan.formats.events import Event
    from lochan.journal.state import State


class SavedQueryInfo(Result, frozen=True, kw_only=True):
    name: str
    text: str
    changed: datetime


async def saved_queries(session: Session) -> list[SavedQueryInfo]:
    from lochan.versioning.state.saved_queries import SavedQueries

    state = (await (await session.lake.journal()).fresh()).of(SavedQueries)
    found = state.of_user(session.actor.user)
    return [SavedQueryInfo(name=each.name, text=each.text, changed=moment(each.time)) for each in found]


async def save_query(session: Session, name: str, text: str, key: str) -> None:
    from lochan.formats.lake_events import QuerySaved
    from lochan.versioning.state.saved_queries import SavedQueries, check_query

    check_query(name, text)
    user = session.actor.user

    def decide(state: State) -> list[Event]:
        state.of(SavedQueries).check_room(user, name)
        return [QuerySaved(user, name, text)]

    await _submit(session, key, decide, "save query", name, text)


async def delete_query(session: Session, name: str, key: str) -> None:
    from lochan.formats.lake_events import QueryDeleted

    event = QueryDeleted(session.actor.user, name)
    await _submit(session, key, lambda state: [event], "delete query", name)


async def _submit(session: Session, key: str, decide: Callable[[State], list[Event]], *request: str) -> None:
    from lochan.journal.group import AppendRequest
    from lochan.versioning.catalog import own_key, request_fingerprint

    actor = session.acting(key, *request)
    by, own, fingerprint = own_key(actor, "", request_fingerprint(*request))
    await (await session.lake.journal()).submit(AppendRequest(by, decide, own, fingerprint))
