"""Measures where the time of S3 requests goes, by operation and phase: sums of seconds, since the server was started or
within some seconds.

    signature   authenticating the user; on the general path with its look at the lake
    journal     waiting for looks at journals, and of a write, for its pack and its record
    bodies      reading, receiving and sending bodies
    lists       making pages of lists
    other       all the rest up to the answer

The seconds are those that a client waits, not those of the processor. A request adds at most three plain numbers, which
go to Prometheus' files with the counts of requests. `lochan.api.server_times` reads them from there.
"""

from typing import Final

from lochan.api.server_times import PHASES

MEASURED: Final = PHASES[:-1]
OTHER: Final = PHASES[-1]
SPAN_S_MAX: Final = 60.0


class PhaseTimes:
    """The times of one process since they were last read. They are used on the event loop."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}

    def add(
        self, operation: str, signature: float, journal: float = 0.0, bodies: float = 0.0, lists: float = 0.0
    ) -> None:
        """Adds the times of one request when it is answered."""
        sums = self._seconds.get(operation)
        if sums is None:
            sums = self._seconds[operation] = [0.0] * len(MEASURED)
        sums[0] += signature
        sums[1] += journal
        sums[2] += bodies
        sums[3] += lists

    def take(self) -> dict[str, list[float]]:
        sums, self._seconds = self._seconds, {}
        return sums
