"""Regular expressions and globs, as far as both engines take them for the same.

RE2 and Java agree on literals, classes, groups, alternatives and repetitions. Where they do not, the pattern is written
out so that both must: `.` is all but a newline, `$` the very end, `\\s` the five ASCII spaces, and a leading (?i) folds
ASCII letters alone. What only one of them knows is refused: look-around, references back, possessive and atomic groups,
classes within classes, names of scripts, other flags.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

_SAME = frozenset("dDwWtnrf")  # escapes that mean the same to both
_SPACES = " \\t\\n\\f\\r"
_ODD = frozenset("\\.[]{}()*+?^$|-")  # letters that mean something, in a class or outside
_HEX = re.compile(r"\\x[0-9a-fA-F]{2}")


class Unsupported(Exception):
    """Says what."""


def shared_regexp(pattern: str) -> str:
    """The pattern in a form that means the same to both. Raises Unsupported."""
    fold = pattern.startswith("(?i)")
    at = 4 if fold else 0
    out: list[str] = []
    while at < len(pattern):
        text, used = _piece(pattern, at, fold)
        out.append(text)
        at += used
    return _checked("".join(out))


def glob_regexp(pattern: str) -> str:
    """* is any text, ? any one character; a backslash takes the next as it is."""
    out: list[str] = []
    letters = iter(pattern)
    for letter in letters:
        if letter == "\\":
            out.append(quoted(next(letters, "\\")))
        else:
            out.append({"*": "(?s:.*)", "?": "(?s:.)"}.get(letter) or quoted(letter))
    return "".join(out)


def quoted(text: str) -> str:
    return "".join(f"\\{letter}" if letter in _ODD else letter for letter in text)


def groups_of(shared: str) -> int:
    """How many it has."""
    return _python_pattern(shared).groups


def matching(texts: Sequence[str], shared: str) -> list[str]:
    """Those that it is found in; by RE2, which takes no longer for one pattern than for another."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pa.array(texts, pa.string())
    found: list[str] = column.filter(pc.match_substring_regex(column, shared)).to_pylist()
    return found


def _python_pattern(shared: str) -> re.Pattern[str]:
    return re.compile(shared.replace("\\z", "\\Z"))


def _piece(pattern: str, at: int, fold: bool) -> tuple[str, int]:
    """What stands at this place outside of a class, and how long it is."""
    letter = pattern[at]
    if letter == "\\":
        return _escape(pattern, at)
    if letter == "[":
        return _class(pattern, at, fold)
    if letter == ".":
        return "[^\\n]", 1
    if letter == "$":
        return "\\z", 1
    if letter == "(" and pattern[at + 1 : at + 2] == "?":
        if pattern[at : at + 3] != "(?:":
            raise Unsupported("groups that begin with `(?`, other than `(?:` and a leading `(?i)`")
        return "(?:", 3
    if letter in "*+?}" and pattern[at + 1 : at + 2] == "+":
        raise Unsupported("a `+` behind a repetition")
    if fold and _is_letter(letter):
        return f"[{letter}{letter.swapcase()}]", 1
    return letter, 1


def _escape(pattern: str, at: int) -> tuple[str, int]:
    letter = pattern[at + 1 : at + 2]
    if letter in ("b", "B"):
        return f"\\{letter}", 2
    if letter == "s":
        return f"[{_SPACES}]", 2
    if letter == "S":
        return f"[^{_SPACES}]", 2
    return _common_escape(pattern, at)


def _common_escape(pattern: str, at: int) -> tuple[str, int]:
    """In a class or outside."""
    letter = pattern[at + 1 : at + 2]
    if not letter:
        raise Unsupported("a backslash stands at the end")
    if letter in _SAME:
        return f"\\{letter}", 2
    if found := _HEX.match(pattern, at):
        return found.group(), 4
    if not letter.isalnum():
        return quoted(letter), 2
    raise Unsupported(f"`\\{letter}` does not mean the same to every engine")


def _class(pattern: str, start: int, fold: bool) -> tuple[str, int]:
    at = start + 1
    out = "["
    if pattern[at : at + 1] == "^":
        out, at = "[^", at + 1
    first = True
    while True:
        letter = pattern[at : at + 1]
        if not letter:
            raise Unsupported("a class is not closed")
        if letter == "]" and not first:
            return f"{out}]", at + 1 - start
        text, at = _class_item(pattern, at, fold)
        out += text
        first = False


def _class_item(pattern: str, at: int, fold: bool) -> tuple[str, int]:
    """A character, a range or a named set."""
    if pattern.startswith("\\s", at):
        return _SPACES, at + 2
    if pattern[at] == "[":
        raise Unsupported("a class within a class; write \\[ for the bracket itself")
    low, at = _class_character(pattern, at)
    if pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] not in ("]", ""):
        high, at = _class_character(pattern, at + 1)
        return _range(low, high, fold), at
    return (low + low.swapcase() if fold and _is_letter(low) else low), at


def _class_character(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at] == "\\":
        text, used = _common_escape(pattern, at)
        return text, at + used
    letter = pattern[at]
    return f"\\{letter}" if letter in "&~^]-" else letter, at + 1


def _range(low: str, high: str, fold: bool) -> str:
    if any(text[1:2] in "dDwW" and text[0] == "\\" for text in (low, high) if len(text) > 1):
        raise Unsupported("a range that ends in a set")
    if not fold:
        return f"{low}-{high}"
    if _is_letter(low) and _is_letter(high) and low.islower() == high.islower():
        return f"{low}-{high}{low.swapcase()}-{high.swapcase()}"
    if not any(_is_letter(chr(code)) for code in range(ord(low[-1]), ord(high[-1]) + 1)):
        return f"{low}-{high}"
    raise Unsupported("a range across letters and others, without regard to case")


def _is_letter(letter: str) -> bool:
    return len(letter) == 1 and letter.isascii() and letter.isalpha()


def _checked(pattern: str) -> str:
    """Python's own reader finds what is simply wrong, RE2 what it does not take."""
    import pyarrow as pa

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _python_pattern(pattern)
        matching([""], pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise Unsupported(str(error)) from None
    except (pa.ArrowInvalid, UnicodeEncodeError) as error:
        raise Unsupported(str(error).removeprefix("Invalid regular expression: ")) from None
    return pattern
