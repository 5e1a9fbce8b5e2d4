"""Sizes as they are given on the command line, such as 256MB."""

from pathlib import Path

from lochan.config.kinds import SIZE, ValueContext
from lochan.errors import Invalid


def size_bytes(option: str, text: str) -> int:
    """Raises Invalid, naming the option."""
    try:
        size = SIZE.parse(text, ValueContext(Path("/"), Path("/")))
    except ValueError:
        raise Invalid(f"{option} {text!r}: this is no size", hint="such as 256MB or 1.5GiB") from None
    assert isinstance(size, int)
    return size
