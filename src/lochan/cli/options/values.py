"""Texts of options as values: times, lengths of time, sizes, notes, places outside the lake."""

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


def size_bytes(option: str, text: str) -> int:
    """Raises Invalid, naming the option."""
    from pathlib import Path

    from lochan.config.kinds import SIZE, Place

    try:
        size = SIZE.parse(text, Place(Path("/"), Path("/")))
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


_SCHEMES = ("s3", "gs", "az", "file")


def place_url(text: str) -> str:
    """Raises Invalid for a scheme that nothing is known of."""
    if not text:
        raise Invalid("the place outside the lake is empty", hint="give a folder or a URL such as s3://bucket/prefix")
    scheme, found, rest = text.partition("://")
    if not found:
        from pathlib import Path

        return f"file://{str(Path(text).resolve()).replace('%', '%25')}"
    if scheme not in _SCHEMES or not rest:
        raise Invalid(f"{text!r} is no place to read from", hint=f"known are {', '.join(_SCHEMES)}, and local paths")
    return text


def seconds(option: str, text: str) -> float:
    """Raises Invalid, naming the option."""
    from pathlib import Path

    from lochan.config.kinds import LENGTH, Place

    try:
        found = LENGTH.parse(text, Place(Path("/"), Path("/")))
    except ValueError:
        raise Invalid(f"{option} {text!r}: this is no length of time", hint="such as 30s, 5m or 500ms") from None
    assert isinstance(found, float)
    return found
