"""Work of an engine ends when its caller is cancelled, at any moment."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from lochan.engines.duckdb.session import DuckSession, run_on_thread
from tests.run import run

LONG = "SELECT count(*) FROM range(100000000000) WHERE hash(range) = 1"


def test_an_interrupt_that_comes_just_before_the_statement_is_not_lost() -> None:
    async def play() -> None:
        ended = threading.Event()
        with DuckSession() as session:
            interrupted = threading.Event()
            real = session.cancel

            def cancel() -> None:
                real()
                interrupted.set()

            session.cancel = cancel  # type: ignore[method-assign]

            def work() -> None:
                try:
                    assert interrupted.wait(30)
                    session.connection.execute(LONG)  # begun behind the first interrupt, which DuckDB forgets
                finally:
                    ended.set()

            task = asyncio.create_task(run_on_thread(work, session))
            await asyncio.sleep(0.05)  # whether it has begun by then or not, it must end
            task.cancel()
            await asyncio.wait_for(asyncio.wait([task]), 30)
            assert task.cancelled()
            assert ended.is_set()

    run(play())


def test_what_the_work_gives_or_raises_is_handed_on() -> None:
    async def play() -> None:
        with DuckSession() as session:
            assert await run_on_thread(lambda: session.execute("SELECT 7"), session) == [(7,)]

            def wrong() -> Any:
                raise KeyError("seven")

            with pytest.raises(KeyError, match="seven"):
                await run_on_thread(wrong, session)

    run(play())
