"""Time. Nothing else in Lochan reads a clock, so the simulator can provide its own.

Wall time is for people and never orders anything. Boot time continues while the machine sleeps and never jumps;
freshness is measured by it.
"""

import time
from typing import Protocol


class Clock(Protocol):
    def wall(self) -> int:
        """Returns microseconds since 1970, UTC. They may jump in either direction."""

    def boot(self) -> float:
        """Returns seconds since some fixed moment. They never jump, and include the time in which the machine is
        suspended."""

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    def wall(self) -> int:
        return time.time_ns() // 1_000

    def boot(self) -> float:
        return time.clock_gettime(_BOOT)

    async def sleep(self, seconds: float) -> None:
        import asyncio  # here, because a command that never waits should not pay for the import

        await asyncio.sleep(seconds)


# CLOCK_MONOTONIC stops while a machine is suspended, and a server that wakes after a day would trust a stale probe.
# Only Linux has CLOCK_BOOTTIME; on macOS CLOCK_MONOTONIC itself continues during sleep.
_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
