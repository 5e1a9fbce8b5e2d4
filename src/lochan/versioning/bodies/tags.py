"""A logical path as object tags, `path.0=foo`, `path.1=bar` …, so that lifecycle rules of a bucket can match it.

S3 and Azure take ten tags of up to 256 characters, and each store another set of characters; those kept here are
allowed by all. No store takes brackets, so the tags are not called `path[0]`.
"""

from string import ascii_letters, digits

TAGS_MAX = 10
VALUE_LENGTH_MAX = 256

# A byte that is not allowed is written as `/` and two hex digits: `/` is allowed, and a segment has none.
_LETTERS = [chr(byte) if chr(byte) in f"{ascii_letters}{digits} +-.:=_" else f"/{byte:02X}" for byte in range(256)]


def path_tags(path: str) -> dict[str, str]:
    """The first ten segments."""
    segments = path.split("/")[:TAGS_MAX]
    return {f"path.{number}": _value(segment) for number, segment in enumerate(segments)}


def _value(segment: str) -> str:
    """What is too long is cut and ends with a lone `/`, so that a rule for a shorter name never matches it."""
    letters = [_LETTERS[byte] for byte in segment.encode()]
    length = sum(map(len, letters))
    if length <= VALUE_LENGTH_MAX:
        return "".join(letters)
    while length >= VALUE_LENGTH_MAX:
        length -= len(letters.pop())
    return f"{''.join(letters)}/"
