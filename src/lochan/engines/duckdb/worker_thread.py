"""An engine's work on a thread, which ends when its caller is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, TypeVar

T = TypeVar("T")


class Stoppable(Protocol):
    """A session, or a decoder."""

    def cancel(self) -> None: ...


_AGAIN_S = 0.05


async def apart(work: Callable[[], T], *sessions: Stoppable) -> T:
    """Who is cancelled stops the sessions too, and waits for the thread: they are closed next. Without an event loop
    there is nobody to hold up, and the work is done at once."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():  # again and again: DuckDB forgets what comes just before a statement begins
            for session in sessions:
                session.cancel()
            with suppress(asyncio.CancelledError):  # once more: two limits of time may end at one moment
                await asyncio.wait([task], timeout=_AGAIN_S)
        task.exception()  # it was stopped, and what it says of that is nobody's concern
        raise
