"""All queries of a server: how many run and wait at once, for all users and for one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count

import pytest

from lochan.api.lake import Lake
from lochan.api.wrappers.records import Caller
from lochan.clock import SystemClock
from lochan.ids import Ids
from lochan.server.api.errors import HttpError
from lochan.server.api.queries import Queries
from lochan.server.api.query_request import QueryBody, accepted_form, check_request
from lochan.server.api.query_run import CANCELLED, WAITING, QueryRun
from lochan.server.settings import QuerySettings
from tests.run import run

SETTINGS = QuerySettings(at_once=2, waiting=3, at_once_per_user=1, waiting_per_user=1)


class Uncounted:
    """The numbers are the process's, and this one has other tests."""

    def begun(self) -> None:
        pass

    def ended(self, engine: str, state: str) -> None:
        pass


async def never() -> Lake:
    """Keeps queries running until they are cancelled."""
    await asyncio.Event().wait()
    raise AssertionError


def test_one_user_leaves_room_for_others() -> None:
    async def play() -> None:
        queries = Queries(never, SETTINGS, SystemClock(), Ids(), Uncounted())  # type: ignore[arg-type]
        try:
            await playing(queries)
        finally:
            await queries.close()

    run(play())


async def until(test: Callable[[], bool]) -> None:
    for _ in count():
        if test():
            return
        await asyncio.sleep(0.01)


async def playing(queries: Queries) -> None:
    def begin(user: str) -> QueryRun:
        caller = Caller(user, "api", "", SystemClock().boot())
        return queries.begin(caller, check_request(QueryBody(query="from pool"), SETTINGS), accepted_form(""))

    first, second = begin("ann"), begin("ann")
    with pytest.raises(HttpError, match="1 waiting queries per user is the most"):
        begin("ann")
    other = begin("bob")
    await until(lambda: WAITING not in (first.state, other.state))
    assert second.state == WAITING
    await queries.cancel(other)
    assert (second.state, other.state) == (WAITING, CANCELLED)  # a thread is free, and it is still the other user's
    await queries.cancel(first)
    await until(lambda: second.state != WAITING)
    await queries.cancel(second)
    assert not queries.all()
