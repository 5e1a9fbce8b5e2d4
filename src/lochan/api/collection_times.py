"""The times of garbage collection: how long it waits, and how long it takes until bytes are gone."""

from lochan.errors import Invalid

_ROUNDS = 3
_HOURS_MAX = 100 * 366 * 24.0


def grace_seconds(hours: float) -> float:
    """Returns the grace in seconds. Raises Invalid."""
    if not 0 <= hours <= _HOURS_MAX:
        raise Invalid(f"a grace of {hours:g} hours is no grace", hint="say 0 or more hours, and at most a century")
    return hours * 3_600


def longest_days(window_days: float, grace_hours: float, every_hours: float) -> float:
    """Returns the longest time from a deletion until its bytes are gone. A file that is written and deleted between two
    plans is listed by the next but one, and swept a round later. A round is the first call of `run` after the grace: a
    call a moment before its end does nothing. Raises Invalid."""
    if not 0 < every_hours <= _HOURS_MAX or not 0 <= grace_hours <= _HOURS_MAX:
        raise Invalid(
            f"a grace of {grace_hours:g} hours, and a run every {every_hours:g} hours, is no schedule",
            hint="the time between runs is more than 0, the grace not less, and neither more than a century",
        )
    round_hours = every_hours * (grace_hours // every_hours + 1)
    return window_days + _ROUNDS * round_hours / 24
