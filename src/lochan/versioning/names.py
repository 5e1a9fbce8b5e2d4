"""Names of repositories, pools, branches and tags; paths of objects; and patterns of paths.

Paths are opaque: they are kept and compared byte by byte. `..`, `//`, a slash at either end, line breaks, and the
composed and decomposed form of one letter are all just bytes here. `bodies/address.py` escapes a path before it becomes
part of a name on the store.

In a pattern `*` and `?` stay within a folder, and `**` goes across folders:

    data/*.csv      data/a.csv, not data/old/a.csv
    data/**         everything below data/
    **/_SUCCESS     at any depth"""

import re
from collections.abc import Sequence

from lochan.errors import Invalid

# A pool's name is never that of a bucket that a user creates, and stands in paths only behind a slash of its own. It
# begins like a repository's: `.`, `:` and `/` begin other sources of a query, a dash an option, `_` a name that Spark
# skips.
_POOL = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}", re.ASCII)
_REPOSITORY = re.compile(r"[a-z0-9][a-z0-9-]{2,62}", re.ASCII)
_LABEL = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_DOTTED = re.compile(rf"(?=.{{3,63}}\Z){_LABEL}(?:\.{_LABEL})+", re.ASCII)
_ADDRESS = re.compile(r"[0-9]+(?:\.[0-9]+){3}")  # the address of a machine, as S3 would recognise it
_REF = re.compile(r"\w[-\w.]*", re.ASCII)
_REF_LENGTH_MAX = 255
_POOL_HINT = "up to 63 lower-case letters, digits, dashes and underscores, beginning with a letter or a digit"
_LOOKS_LIKE_A_COMMIT = re.compile(r"[0-9a-f]{40,}")
KEY_BYTES_MAX = 1024  # S3's limit for a key


def check_repository_name(name: str, *, dotted: bool = False) -> None:
    """Checks the name of a repository of files, which is a bucket. Raises Invalid. Dots, which S3 allows in bucket
    names, are allowed only where a whole bucket is a branch (`dotted`)."""
    if dotted and _DOTTED.fullmatch(name) and not _ADDRESS.fullmatch(name):
        return
    if not _REPOSITORY.fullmatch(name):
        raise Invalid(
            f"{name!r} cannot be a repository's name",
            hint="3 to 63 lower-case letters, digits and dashes, beginning with a letter or a digit",
        )


def check_pool_name(name: str) -> None:
    if not _POOL.fullmatch(name):
        raise Invalid(f"{name!r} cannot be a pool's name", hint=_POOL_HINT)


def check_known_name(name: str) -> None:
    """Checks the name of anything that a lake may hold: a pool, or a repository, with or without dots. Raises
    Invalid."""
    dotted = _DOTTED.fullmatch(name) and not _ADDRESS.fullmatch(name)
    if not dotted and not _POOL.fullmatch(name):
        raise Invalid(f"{name!r} cannot be the name of a pool or a repository", hint=_POOL_HINT)


def check_ref_name(name: str) -> None:
    """Checks the name of a branch or a tag. It has no slash, because a slash ends the ref in an S3 key. Raises
    Invalid."""
    if not _REF.fullmatch(name) or len(name) > _REF_LENGTH_MAX:
        raise Invalid(
            f"{name!r} cannot be a branch's or a tag's name",
            hint="up to 255 letters, digits, dots, dashes and underscores, not beginning with a dot or a dash",
        )
    if _LOOKS_LIKE_A_COMMIT.fullmatch(name):
        raise Invalid(f"{name!r} cannot be a branch's or a tag's name", hint="it looks like a commit's id")


def check_key(path: str) -> bytes:
    """Returns the path in UTF-8. Raises Invalid unless it has 1 to 1,024 bytes of valid UTF-8 without NUL."""
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


_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]]+\]|.", re.DOTALL)


def regex(patterns: Sequence[str]) -> str:
    """Returns an expression for RE2 that matches whole paths that fit any of the patterns."""
    return "(?s)^(?:" + "|".join("".join(map(_part, _TOKENS.findall(pattern))) for pattern in patterns) + ")$"


def fitting_paths(paths: Sequence[str], patterns: Sequence[str]) -> set[str]:
    """Returns the paths that fit any of the patterns. It uses RE2, which takes no longer for many stars than for
    few."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pa.array(paths, pa.string())
    return set(column.filter(pc.match_substring_regex(column, regex(patterns))).to_pylist())


def _part(token: str) -> str:
    match token:
        case "**/":
            return "(?:.*/)?"
        case "**":
            return ".*"
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
    if len(token) > 1:
        inside = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        return f"[{'^' + inside[1:] if inside.startswith('!') else inside}]"
    return re.escape(token)
