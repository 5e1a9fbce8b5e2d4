"""Sharing one probe among everybody who waits: each caller gets one that began after it called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import Future


class Turns:
    """One runs at a time. A caller that finds one under way cannot use it, for it began too early; it waits for the
    next, which serves everybody who came meanwhile. asyncio is asked for only when somebody has to wait, so a command
    that reads a local lake never loads it."""

    def __init__(self) -> None:
        self._begun = 0
        self._ended = 0
        self.running = False
        self._waiting: list[Future[None]] = []

    async def share(self, work: Callable[[], Awaitable[None]]) -> None:
        arrived = self._begun
        while self.running:
            await self._until_free()
            if self._ended > arrived:
                return
        self.running = True
        self._begun += 1
        mine = self._begun
        try:
            await work()
            self._ended = mine  # only now: a probe that failed has served nobody
        finally:
            self.running = False
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    async def _until_free(self) -> None:
        import asyncio

        future: Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future
