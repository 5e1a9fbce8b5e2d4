"""Which paths an object may have in a repository. They are opaque: kept byte for byte, and compared so.

`..`, `//`, a slash at either end, line breaks, and the composed and decomposed form of one letter are all just bytes
here. Where a path becomes part of a name on the store, `address.py` makes it harmless first.
"""

from lochan.errors import Invalid

KEY_BYTES_MAX = 1024  # S3's limit for a key


def check_key(path: str) -> bytes:
    """The path in UTF-8. Raises Invalid unless it has 1 to 1,024 bytes of valid UTF-8 without NUL."""
    try:
        key = path.encode()
    except UnicodeEncodeError:
        raise Invalid(f"the path {path[:80]!r} is not valid Unicode text", hint=_RULE) from None
    if not key:
        raise Invalid("the path of an object is empty", hint=_RULE)
    if len(key) > KEY_BYTES_MAX:
        raise Invalid(f"a path of {len(key)} bytes is too long: {path[:80]!r}…", hint=_RULE)
    if b"\0" in key:
        raise Invalid(f"the path {path!r} has a NUL in it", hint=_RULE)
    return key


_RULE = f"a path has 1 to {KEY_BYTES_MAX:,} bytes of UTF-8, and no NUL"
