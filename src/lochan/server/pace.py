"""How long a client may be waited for while it sends a body: it may neither stand still nor trickle."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class Pace:
    """Of one body. What is counted is the time that the client was waited for: one that a slow store holds up is not to
    blame. It has `idle_s` for each piece, and for all of them together `idle_s` and a second for `bytes_per_s` each."""

    __slots__ = ("_bytes_per_s", "_idle_s", "_left_s")

    def __init__(self, idle_s: float, bytes_per_s: float) -> None:
        self._idle_s = idle_s
        self._bytes_per_s = bytes_per_s
        self._left_s = idle_s

    async def wait(self, step: Awaitable[T]) -> T:
        """For the next piece. Raises TimeoutError."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        async with asyncio.timeout(max(0.0, min(self._idle_s, self._left_s))):
            found = await step
        self._left_s -= loop.time() - begun
        return found

    def got(self, size_bytes: int) -> None:
        self._left_s += size_bytes / self._bytes_per_s
