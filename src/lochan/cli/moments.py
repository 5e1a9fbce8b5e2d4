"""Moments as they are given on the command line: ISO 8601, in UTC unless an offset is said."""

from datetime import UTC, datetime, timedelta

from lochan.errors import Invalid

_START = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(option: str, text: str | None) -> int | None:
    """Since 1970. Raises Invalid, naming the option."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(
            f"{option} {text!r}: this is no time", hint="write it as 2026-11-01 or 2026-11-01T10:00Z"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _START) // timedelta(microseconds=1)
