"""Which language a query is in. Apart from the rest, so that a query of the pipe language imports no more than this."""

import re

_BLANK = re.compile(r"\s+|--[^\n]*\n|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"(?:select|with)\b", re.IGNORECASE)


def is_sql(text: str) -> bool:
    """All else is the pipe language."""
    at = 0
    while blank := _BLANK.match(text, at):  # one after the other: a repetition of repetitions tries all ways to cut
        at = blank.end()
    return _WORD.match(text, at) is not None
