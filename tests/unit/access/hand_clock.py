"""A clock that a test moves by hand, and machines whose clocks each show it in their own way."""

import asyncio
from heapq import heappop, heappush
from itertools import count


class Time:
    def __init__(self) -> None:
        self.now = 0.0
        self._sleeping: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._sleeping, (self.now + seconds, next(self._order), future))
        await future

    async def advance(self, seconds: float) -> None:
        """Everyone who sleeps until a moment in between wakes at that moment, and goes on as far as possible."""
        await settle()
        until = self.now + seconds
        while self._sleeping and self._sleeping[0][0] <= until:
            self.now, _, future = heappop(self._sleeping)
            if not future.done():
                future.set_result(None)
            await settle()
        self.now = until
        await settle()


class Machine:
    """Its boot clock began at another moment, and runs a little faster or slower."""

    def __init__(self, time: Time, *, began: float = 0.0, rate: float = 1.0) -> None:
        self._time = time
        self._began = began
        self._rate = rate

    def wall(self) -> int:
        return 1_700_000_000_000_000 + int(self._time.now * 1e6)

    def boot(self) -> float:
        return (self._time.now - self._began) * self._rate

    async def sleep(self, seconds: float) -> None:
        await self._time.sleep(seconds / self._rate)


async def settle() -> None:
    for _ in range(30):
        await asyncio.sleep(0)
