"""Exit codes: one table over the kinds of `errors.py`. Scripts rely on them; a number never changes its meaning."""

from collections.abc import Mapping

OK = 0
ERROR = 1
USAGE = 2  # the code that click uses
NOT_FOUND = 3
CONFLICT = 4
REFUSED = 5
INVALID = 6
FUTURE_FORMAT = 7
CORRUPT = 8
RETRY = 9
GONE = 10
INTERRUPTED = 130  # 128 + SIGINT, as in shells
BROKEN_PIPE = 141  # 128 + SIGPIPE

BY_KIND: Mapping[str, int] = {
    "error": ERROR,
    "retry": RETRY,
    "transient": RETRY,
    "unknown": RETRY,
    "disk-full": RETRY,
    "mistake": ERROR,
    "not-found": NOT_FOUND,
    "gone": GONE,
    "invalid": INVALID,
    "bad-digest": INVALID,
    "bad-part": INVALID,
    "bad-part-order": INVALID,
    "part-too-small": INVALID,
    "ambiguous": INVALID,
    "nothing-to-do": INVALID,
    "same-ref": INVALID,
    "refused": REFUSED,
    "dirty": REFUSED,
    "protected": REFUSED,
    "read-only": REFUSED,
    "unavailable": REFUSED,
    "future-format": FUTURE_FORMAT,
    "conflict": CONFLICT,
    "already-exists": CONFLICT,
    "key-reused": CONFLICT,
    "concurrent-commit": CONFLICT,
    "precondition-failed": CONFLICT,
    "hook-refused": REFUSED,
    "paths-in-the-way": CONFLICT,
    "corrupt": CORRUPT,
}
