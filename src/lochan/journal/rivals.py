"""Writers of other processes that append to the same journal: whose turn it is.

Writers that all go on as fast as they can race for every number. Each race has losers, who have written and synced a
record for nothing, and must read, fold and check again. And the winner, who knows the end of the journal first, mostly
wins the next race too. So writers that know of each other go in a circle, by name, one record each:

    ann ─▶ ben ─▶ cat ─▶ ann …      after ben's record, ann waits for cat's

Every record names its writer, so all see the same circle without asking. One whose turn passes unused is left out until
it appends again. Nothing rests on this: a record gets its number by put-if-absent alone, whoever waits or does not.
"""

from typing import Final

from lochan.clock import Clock

# After this time without a record of theirs, others are forgotten: each of the circle could have appended four times.
# So those that append now and then are not waited for. Those that only lose are not seen.
_NEAR_APPENDS: Final = 4.0
_NEAR_S_MIN, _NEAR_S_MAX = 0.01, 2.0
# How long one may take until its record is there, in appends of ours: it has to find our record, and its own append may
# have been under way for nothing. It ends with the record, so it is long only for one that has nothing to append.
_TURN_APPENDS: Final = 4.0
_TURN_S_MAX: Final = 0.5
_POLL_S: Final = 0.001  # a disk is looked at so often


class Rivals:
    """As far as the writer `name` has seen them."""

    def __init__(self, name: str, clock: Clock, *, aged: bool) -> None:
        """`aged`: as the slots have it. A look at the end of the journal then takes as long as an append."""
        self._name = name
        self._clock = clock
        self._is_far = aged
        self._seen: dict[str, float] = {}  # when, in boot time
        self._last = name  # the writer of the last record
        self._took_s = 0.0  # one append, lately

    def saw(self, writer: str) -> None:
        """The next record is by this one."""
        self._last = writer
        if writer != self._name:
            self._seen[writer] = self._clock.boot()

    def appended(self, took_s: float) -> None:
        """The next record is ours."""
        self._last = self._name
        self._took_s = took_s if not self._took_s else (3 * self._took_s + took_s) / 4

    def forget(self, writer: str) -> None:
        """Its turn passed unused."""
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
        """Who comes before us, in order. Empty: it is our turn."""
        if not self.are_near:
            return []
        circle = sorted({*self._seen, self._name, self._last})
        at = circle.index(self._last) + 1
        following = circle[at:] + circle[:at]
        return following[: following.index(self._name)]

    def looks(self, ahead: int) -> list[float]:
        """How long to wait before each look for the record of the one who comes next, if so many come before us. Those
        who are far from their turn look seldom."""
        turn_s = min(_TURN_S_MAX, _TURN_APPENDS * self._took_s + 2 * _POLL_S)
        pause_s = min(turn_s, ahead * max(_POLL_S, self._took_s / 2 if self._is_far else 0.0))
        return [pause_s] * max(1, round(turn_s / pause_s))
