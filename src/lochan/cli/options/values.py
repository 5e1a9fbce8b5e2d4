"""Texts of options as values: times, lengths of time, sizes, notes, places outside the lake."""

from typing import TYPE_CHECKING

from lochan.errors import Invalid

if TYPE_CHECKING:
    from datetime import datetime


def time(option: str, text: str | None) -> "datetime | None":
    """Raises Invalid, naming the option."""
    from lochan.api.options import parse_time

    if text is None:
        return None
    try:
        return parse_time(text)
    except Invalid:
        raise Invalid(
            f"{option} {text!r}: this is no time",
            hint="write it as 2026-11-01, 2026-11-01T10:00Z, yesterday or 2 hours ago",
        ) from None


def size_bytes(option: str, text: str) -> int:
    """Raises Invalid, naming the option."""
    from pathlib import Path

    from lochan.config.kinds import SIZE, ValueContext

    try:
        size = SIZE.parse(text, ValueContext(Path("/"), Path("/")))
    except ValueError:
        raise Invalid(f"{option} {text!r}: this is no size", hint="such as 256MB or 1.5GiB") from None
    assert isinstance(size, int)
    return size


def notes(given: tuple[str, ...]) -> dict[str, str]:
    """Raises Invalid for what is no note, and for a key that comes twice."""
    found: dict[str, str] = {}
    for text in given:
        key, separator, value = text.partition("=")
        if not separator or not key:
            raise Invalid(f"--metadata {text!r}: a note is given as KEY=VALUE", hint="such as --metadata owner=ada")
        if key in found:
            raise Invalid(f"--metadata {text!r}: {key!r} was already given", hint="keep one of the two")
        found[key] = value
    return found


def seconds(option: str, text: str) -> float:
    """Raises Invalid, naming the option."""
    from pathlib import Path

    from lochan.config.kinds import LENGTH, ValueContext

    try:
        found = LENGTH.parse(text, ValueContext(Path("/"), Path("/")))
    except ValueError:
        raise Invalid(f"{option} {text!r}: this is no length of time", hint="such as 30s, 5m or 500ms") from None
    assert isinstance(found, float)
    return found
