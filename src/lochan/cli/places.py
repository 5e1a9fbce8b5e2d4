"""Places outside the lake, as they are given on the command line: a URL, or a path of this machine."""

from lochan.errors import Invalid

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
