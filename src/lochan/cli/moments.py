"""Moments as they are given on the command line: ISO 8601, in UTC unless an offset is said, or said from now."""

from lochan.clock import SystemClock
from lochan.errors import Invalid


def microseconds(option: str, text: str | None) -> int | None:
    """Since 1970. Raises Invalid, naming the option."""
    from lochan.versioning.expression import moment

    if text is None:
        return None
    try:
        return moment(text, SystemClock().wall())
    except Invalid:
        raise Invalid(
            f"{option} {text!r}: this is no time",
            hint="write it as 2026-11-01, 2026-11-01T10:00Z, yesterday or 2 hours ago",
        ) from None
