"""Which paths every store takes. One rule for all, so that a lake moves between stores without a surprise."""

import re
from functools import lru_cache

from lochan.errors import Invalid

PATH_BYTES_MAX = 1024  # S3's limit for a key, which counts the lake's own prefix too

# Empty, `.` and `..` segments (a leading or trailing slash makes an empty one) could leave the root of a local lake,
# and obstore drops or refuses them; it refuses control characters as well. `.tmp` is the local store's own folder.
_REFUSED = re.compile(r"(?:^|/)\.{0,2}(?:/|$)|[\x00-\x1f\x7f]|^\.tmp")


@lru_cache(maxsize=8192)  # files that are read again and again: the expression takes longer than opening one
def check_path(path: str) -> bytes:
    """The path in UTF-8; raises Invalid for a path that some store cannot hold, or that could leave its root."""
    if _REFUSED.search(path):
        raise Invalid(f"the path {path!r} cannot be stored", hint=_RULE)
    try:
        name = path.encode()
    except UnicodeEncodeError:
        raise Invalid(f"the path {path!r} is not valid Unicode text", hint=_RULE) from None
    if len(name) > PATH_BYTES_MAX:
        raise Invalid(f"a path of {len(name)} bytes is too long, {PATH_BYTES_MAX} is the limit: {path[:80]!r}…")
    return name


def check_span(path: str, start: int, stop: int, size: int | None = None) -> None:
    """Raises Invalid for a span that is reversed, negative or past the end of an object of this size."""
    if not 0 <= start <= stop:
        raise Invalid(f"{start} to {stop} is not a span of bytes ({path})")
    if size is not None and stop > size:
        raise Invalid(f"bytes {start} to {stop} are past the end of {path}, which has {size}")


_RULE = "a path is UTF-8, without control characters, without empty, `.` or `..` segments, and does not begin with .tmp"
