"""One running query: its status, and that no part of a complete answer is lost."""

import asyncio
import threading

import pytest

from lochan.api.wrappers.records import Caller
from lochan.clock import SystemClock
from lochan.engines.duckdb.limits import Cancelled, cancelled_error
from lochan.errors import Invalid, NotFound
from lochan.query.ast import Span
from lochan.query.errors import QueryError
from lochan.server.api.errors import status_of
from lochan.server.api.query_request import QueryBody, accepted_form, check_request
from lochan.server.api.query_run import QueryRun
from lochan.server.settings import QuerySettings
from tests.run import run


def running() -> QueryRun:
    clock = SystemClock()
    request = check_request(QueryBody(query="from logs"), QuerySettings())
    return QueryRun("id", Caller("ada", "api", "here:1", clock.boot()), request, accepted_form(""), clock)


def test_cancelling_does_not_cut_short_an_ended_query() -> None:
    async def work() -> None:
        query = running()
        query.put(b"a")
        query.put(b"b")
        query.ends(None)
        await query.cancel()
        assert [await query.pieces.take() for _ in range(3)] == [b"a", b"b", None]
        assert (query.state, query.sent, query.given_up.done()) == ("done", 2, False)

    run(work())


def test_one_that_is_cancelled_while_it_waits_for_its_client() -> None:
    async def work() -> None:
        query = running()

        def make() -> None:
            query.plans(lambda: None)
            try:
                while True:
                    query.put(b"x")
            except Exception:
                query.ends(cancelled_error())

        thread = threading.Thread(target=make)
        thread.start()
        await asyncio.sleep(0.05)
        await query.cancel()
        thread.join()
        assert query.state == "cancelled" and query.given_up.done()
        assert await query.pieces.take() is None
        with pytest.raises(Cancelled):
            query.plans(lambda: None)

    run(work())


def test_an_error_is_kept_without_what_it_went_through() -> None:
    async def work() -> None:
        query = running()
        try:
            try:
                raise NotFound("no such pool")
            except NotFound as error:
                raise QueryError("no such pool", "from logs", Span(5, 9)) from error
        except Invalid as error:
            query.ends(error)
        assert query.error is not None and query.error.__traceback__ is None
        assert isinstance(query.error, QueryError) and status_of(query.error) == 404
        status = query.as_json()
        assert (status["state"], status["error"].splitlines()[0]) == ("failed", "no such pool (line 1, column 6)")

    run(work())
