"""Schedules of repeated tasks: after a length of time, or at a time of day.

1h      an hour after the last time          7d      seven days after it
03:00   every day at three, by UTC           off     never
"""

import re
from typing import NamedTuple

_LENGTH = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)")
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
_UNIT_S = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_DAY_US = 86_400_000_000


class Schedule(NamedTuple):
    """A schedule. Times are in microseconds since 1970."""

    every_us: int = 0  # 0: not by a length of time
    of_day_us: int | None = None  # since midnight

    @property
    def is_on(self) -> bool:
        return self.every_us > 0 or self.of_day_us is not None

    def before(self, now: int) -> int:
        """Returns a moment: a task that was last done then or earlier is due now."""
        if self.of_day_us is None:
            return now - self.every_us
        today = now - now % _DAY_US + self.of_day_us
        return today if today <= now else today - _DAY_US

    def due(self, last: int, now: int) -> int:
        """Returns when the task is due, if it was last done at `last`. A time in the past means at once."""
        if self.of_day_us is None:
            return last + self.every_us
        before = self.before(now)
        return before if last <= before else before + _DAY_US


def parse_schedule(text: str) -> Schedule:
    """Parses a schedule. Raises ValueError."""
    words = text.strip().lower()
    if words in ("off", "false", "no"):
        return Schedule()
    if found := _TIME.fullmatch(words):
        return Schedule(of_day_us=(int(found[1]) * 60 + int(found[2])) * 60_000_000)
    found = _LENGTH.fullmatch(words)
    every_us = round(float(found[1]) * _UNIT_S[found[2]] * 1e6) if found else 0
    if not 1_000_000 <= every_us < 1 << 53:
        raise ValueError(text)
    return Schedule(every_us)
