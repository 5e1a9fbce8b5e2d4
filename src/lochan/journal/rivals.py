"""Decides which of several writers in other processes appends next to the same journal.

Writers that all append as fast as they can race for every number. Each race has losers, who have written and synced a
record for nothing, and must read, fold and check again. And the winner, who knows the end of the journal first, mostly
wins the next race too. So writers that know of each other take turns, by name, one record each:

    ann ─▶ ben ─▶ cat ─▶ ann …      after ben's record, ann waits for cat's

Every record names its writer, so all see the same circle without further requests. A writer that does not use its turn
is left out until it appends again. No safety rests on this: a record gets its number by put-if-absent alone, with or
without a wait."""

from typing import Final

from lochan.clock import Clock

# After this time without a record from them, other writers are forgotten: each writer of the circle could have appended
# four times. So nothing waits for writers that append now and then. Writers that only lose are not seen.
_NEAR_APPENDS: Final = 4.0
_NEAR_S_MIN, _NEAR_S_MAX = 0.01, 2.0
# How long a writer may take until its record appears, in appends of ours: it has to find our record, and its own append
# may have been under way for nothing. The wait ends with the record, so it is long only for a writer that has nothing
# to append.
_TURN_APPENDS: Final = 4.0
_TURN_S_MAX: Final = 0.5
_POLL_S: Final = 0.001  # the time between two looks at a disk


class Rivals:
    """The other writers, as far as the writer `name` has seen them."""

    def __init__(self, name: str, clock: Clock, *, aged: bool) -> None:
        """Starts without rivals. `aged` is that of the slots: a look at the end of the journal then takes as long as an
        append."""
        self._name = name
        self._clock = clock
        self._is_far = aged
        self._seen: dict[str, float] = {}  # by writer, the boot time at which its last record was seen
        self._last = name  # the writer of the last record
        self._took_s = 0.0  # the recent time of one append

    def saw(self, writer: str) -> None:
        """Notes that the next record is by this writer."""
        self._last = writer
        if writer != self._name:
            self._seen[writer] = self._clock.boot()

    def appended(self, took_s: float) -> None:
        """Notes that the next record is ours."""
        self._last = self._name
        self._took_s = took_s if not self._took_s else (3 * self._took_s + took_s) / 4

    def forget(self, writer: str) -> None:
        """Forgets a writer that has not used its turn."""
        self._seen.pop(writer, None)

    @property
    def are_near(self) -> bool:
        if not self._seen:
            return False
        near_s = _NEAR_APPENDS * self._took_s * (len(self._seen) + 1)
        since = self._clock.boot() - min(_NEAR_S_MAX, max(_NEAR_S_MIN, near_s))
        self._seen = {writer: seen for writer, seen in self._seen.items() if seen > since}
        return bool(self._seen)

    @property
    def leads(self) -> bool:
        """Whether this is the first writer by name, of those that are near. One of them does what would be done twice;
        if it has appended nothing for a while, another one is the first."""
        return not self.are_near or self._name < min(self._seen)

    def ahead(self) -> list[str]:
        """Returns the writers that come before us, in order. It is empty if it is our turn."""
        if not self.are_near:
            return []
        circle = sorted({*self._seen, self._name, self._last})
        at = circle.index(self._last) + 1
        following = circle[at:] + circle[:at]
        return following[: following.index(self._name)]

    def looks(self, ahead: int) -> list[float]:
        """Returns how long to wait before each look for the record of the next writer, if `ahead` writers come before
        us. A writer that is far from its turn looks seldom."""
        turn_s = min(_TURN_S_MAX, _TURN_APPENDS * self._took_s + 2 * _POLL_S)
        pause_s = min(turn_s, ahead * max(_POLL_S, self._took_s / 2 if self._is_far else 0.0))
        return [pause_s] * max(1, round(turn_s / pause_s))
