"""Words of a search and globs: read as they stand in the text, for `web-1.example*` is no difference of two fields."""

from __future__ import annotations

import re

# What separates tokens everywhere else ends a word too. A comma does not: it is refused by whoever finds it.
_PART = r"[^\s\x00-\x1f\x7f|()\"'`,=<>!~\[\]{};]"
_WORD = re.compile(rf"{_PART}+")
_LETTER = re.compile(r"\w")
_STARS = re.compile(r"[*?]+")


def word_at(text: str, start: int) -> str:
    """Empty where none begins: signs alone are none, they are more likely a mistake."""
    found = _WORD.match(text, start)
    return found[0] if found and (_LETTER.search(found[0]) or is_glob(found[0])) else ""


def glob_at(text: str, start: int) -> str:
    """A word with a star or a question mark, and something beside; empty where none begins."""
    found = _WORD.match(text, start)
    word = found[0] if found and is_glob(found[0]) else ""
    return word if not _STARS.fullmatch(word) and not word.startswith(("/", "-", "*/")) else ""


def is_glob(word: str) -> bool:
    return "*" in word or "?" in word
