"""Which language a query is in. Apart from the rest, so that a query of the pipe language imports no more than this."""

import re

_BEGINNING = re.compile(r"(?:\s+|--[^\n]*\n|/\*.*?\*/)*(?:select|with)\b", re.IGNORECASE | re.DOTALL)


def is_sql(text: str) -> bool:
    """All else is the pipe language."""
    return _BEGINNING.match(text) is not None
