"""Waits for a condition, however busy the machine is."""

import asyncio
import time
from collections.abc import Awaitable, Callable

_SECONDS = 60.0


async def until(happened: Callable[[], Awaitable[bool] | bool], what: str = "it") -> None:
    """Asks again and again. Raises AssertionError after a minute: what has not come by then never comes."""
    deadline = time.monotonic() + _SECONDS
    while True:
        answer = happened()
        if answer if isinstance(answer, bool) else await answer:
            return
        assert time.monotonic() < deadline, f"{what} has not happened"
        await asyncio.sleep(0.005)
