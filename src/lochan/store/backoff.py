"""How long to wait before doing it again: exponential, with full jitter, so that many do not come back at once."""

from lochan.clock import Clock
from lochan.errors import LochanError
from lochan.ids import Ids

_FIRST_S = 0.05
_LAST_S = 2.0


class Backoff:
    """`deadline` is a moment in boot time."""

    def __init__(self, clock: Clock, ids: Ids, deadline: float) -> None:
        self._clock = clock
        self._ids = ids
        self._deadline = deadline
        self._attempts = 0

    async def pause(self, error: LochanError) -> None:
        """Wait before the next attempt; raises `error` when it would begin after the deadline."""
        longest = min(_LAST_S, _FIRST_S * 2 ** min(self._attempts, 16))
        delay = longest * self._ids.fraction()
        if self._clock.boot() + delay >= self._deadline:
            raise error
        self._attempts += 1
        await self._clock.sleep(delay)
