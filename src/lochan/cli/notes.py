"""Notes that are given as KEY=VALUE, one option each."""

from lochan.errors import Invalid


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
