"""Time. Nothing else in Lochan reads a clock, so the simulator can hand out its own.

Wall time is what people read and is never used to order anything. Boot time goes on while the machine sleeps and never
jumps; leases and freshness are measured by it.
"""

import time
from typing import Protocol


class Clock(Protocol):
    def wall(self) -> int:
        """Microseconds since 1970, UTC; may jump either way."""

    def boot(self) -> float:
        """Seconds since some fixed moment; never jumps, counts suspended time too."""

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
# Only Linux has CLOCK_BOOTTIME; on macOS CLOCK_MONOTONIC itself goes on during sleep.
_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
