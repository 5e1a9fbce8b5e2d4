r"""Regular expressions and globs, as far as both engines take them for the same.

RE2 and Java agree on literals, classes, groups, alternatives and repetitions. Where they do not, the pattern is written
out so that both must: `.` is all but a newline, `$` the very end, `\s` the five ASCII spaces, and a leading (?i) folds
ASCII letters alone. Parts that only one of them supports are refused: look-around, back-references, possessive and
atomic groups, classes within classes, names of scripts, other flags.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from decimal import Decimal

import orjson
from sqlglot import exp

from lochan.pools.kinds import ARRAY, DECIMAL, FLOAT, INT, IP, JSON, OBJECT, STRING
from lochan.pools.shape import Array, Object, Type
from lochan.query import ast
from lochan.query.compile.logic import all_of, any_of, eq, is_set
from lochan.query.compile.numbers import equals
from lochan.query.compile.scope import Scope, query_error
from lochan.query.compile.sql import Sql, number
from lochan.query.compile.value import Record, Shaped, Value, present
from lochan.query.dialects.neutral import neutral

_SAME = frozenset("dDwWtnrf")  # escapes that have the same meaning in both
_SPACES = " \\t\\n\\f\\r"
_ODD = frozenset("\\.[]{}()*+?^$|-")  # characters with a special meaning, in a class or outside
_HEX = re.compile(r"\\x[0-9a-fA-F]{2}")


class Unsupported(Exception):
    """The pattern has a part that the engines do not share, which the message names."""


def shared_regexp(pattern: str) -> str:
    """Returns the pattern in a form that means the same to both engines. Raises Unsupported."""
    fold = pattern.startswith("(?i)")
    at = 4 if fold else 0
    out: list[str] = []
    while at < len(pattern):
        text, used = _piece(pattern, at, fold)
        out.append(text)
        at += used
    return _check("".join(out))


def glob_regexp(pattern: str) -> str:
    """Converts a glob: * matches any text, ? any one character, and a backslash quotes the next character."""
    out: list[str] = []
    letters = iter(pattern)
    for letter in letters:
        if letter == "\\":
            out.append(quote_pattern(next(letters, "\\")))
        else:
            out.append({"*": "(?s:.*)", "?": "(?s:.)"}.get(letter) or quote_pattern(letter))
    return "".join(out)


def quote_pattern(text: str) -> str:
    return "".join(f"\\{letter}" if letter in _ODD else letter for letter in text)


def groups_of(shared: str) -> int:
    """Returns how many groups the pattern has."""
    return _python_pattern(shared).groups


def matching(texts: Sequence[str], shared: str) -> list[str]:
    """Returns the texts that the shared pattern is found in. It uses RE2, whose time does not depend on the pattern."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pa.array(texts, pa.string())
    found: list[str] = column.filter(pc.match_substring_regex(column, shared)).to_pylist()
    return found


def _python_pattern(shared: str) -> re.Pattern[str]:
    return re.compile(shared.replace("\\z", "\\Z"))


def _piece(pattern: str, at: int, fold: bool) -> tuple[str, int]:
    """Returns the next piece of the pattern outside a class, and its length."""
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
    """Converts an escape that means the same inside and outside a class."""
    letter = pattern[at + 1 : at + 2]
    if not letter:
        raise Unsupported("a backslash stands at the end")
    if letter in _SAME:
        return f"\\{letter}", 2
    if found := _HEX.match(pattern, at):
        return found.group(), 4
    if not letter.isalnum():
        return quote_pattern(letter), 2
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
    """Converts a character, a range or a named set."""
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


def _check(pattern: str) -> str:
    """Raises Unsupported for a pattern that is malformed, as Python's reader finds, or that RE2 does not accept."""
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


# ── search: a term anywhere in the row, in the text or the name of a field ───────────────────────────────────────────


Pattern = str | ast.Regexp | ast.Glob


def contains_term(what: Pattern, where: Value, scope: Scope, at: ast.Node) -> Sql:
    """Tests whether the term is in the value, or in one of its parts."""
    searched = Searched(what, scope, at)
    return any_of(searched.tests(where))


class Searched:
    def __init__(self, what: Pattern, scope: Scope, at: ast.Node) -> None:
        self.word = what if isinstance(what, str) else None
        self.regexp = "" if isinstance(what, str) else pattern_of(what, scope, at)

    def tests(self, value: Value) -> Iterator[Sql]:
        if STRING in value.alts:
            yield self.in_text(value.alts[STRING])
        if IP in value.alts:
            yield self.in_text(neutral("ip_text", value.alts[IP]))
        if JSON in value.alts:
            yield self.in_json(value.alts[JSON])
        if DECIMAL in value.alts:
            yield self.in_json(value.alts[DECIMAL])
        if ARRAY in value.alts and value.element is not None:
            yield self.in_array(value.alts[ARRAY], value.element)
        if self.word is not None:
            yield from self._numbers(value)
        if OBJECT in value.alts and value.record is not None:
            yield from self.in_record(value.record, value.alts[OBJECT])

    def in_record(self, record: Record, flag: Sql) -> Iterator[Sql]:
        """Yields tests for a record. `flag` is set where the record exists."""
        if record.body is not None:
            yield self.in_json(record.body.text)
        names = self.in_names(record.names)
        if names and record.shaped is not None:
            yield all_of([*([] if record.shaped.sure else [is_set(flag)]), _has_one(record.shaped, names)])
        else:
            yield from (present(record.get(name)) for name in names)
        for name in record.names:
            if record.body is None or name in record.body.names or name in record.body.made:
                yield from self.tests(record.get(name))

    def in_text(self, text: Sql) -> Sql:
        if self.word is None:
            return neutral("matches", text, options=(self.regexp,))
        return neutral("contains_folded", text, options=(self.word,))

    def in_json(self, text: Sql) -> Sql:
        """Tests the text of a document. Its strings are escaped, so the word is too."""
        if self.word is None:
            return neutral("matches", text, options=(self.regexp,))
        return neutral("contains_folded", text, options=(orjson.dumps(self.word).decode()[1:-1],))

    def in_array(self, array: Sql, element: Type) -> Sql:
        if element == STRING:
            return self.in_text(neutral("list_join", array, options=("\x01",)))
        if isinstance(element, Object | Array):
            return self.in_json(neutral("array_json", array, options=(element,)))
        if element == INT and self._int() is not None:
            return neutral("list_contains", array, number(self._int() or 0))
        return exp.false()

    def in_names(self, names: Sequence[str]) -> list[str]:
        if self.word is not None:
            word = _fold_case(self.word)
            return [name for name in names if word in _fold_case(name)]
        return matching(names, self.regexp)

    def _numbers(self, value: Value) -> Iterator[Sql]:
        """Yields tests for numbers: a word that is a number finds fields with that number."""
        whole = self._int()
        if whole is not None and INT in value.alts:
            yield eq(value.alts[INT], number(whole))
        if DECIMAL in value.alts and (exact := self._decimal()) is not None:
            yield equals(value.alts[DECIMAL], exact)
        if FLOAT in value.alts and (real := self._float()) is not None:
            yield eq(value.alts[FLOAT], number(real))

    def _int(self) -> int | None:
        word = self.word or ""
        plain = word.lstrip("-").isascii() and word.lstrip("-").isdigit() and len(word) < 19
        return int(word) if plain and word.count("-") <= 1 else None

    def _decimal(self) -> Decimal | None:
        word = self.word or ""
        try:
            return Decimal(word) if word and set(word) <= set("0123456789.eE+-") else None
        except ArithmeticError:
            return None

    def _float(self) -> float | None:
        try:
            return float(self.word or "") if set(self.word or "") <= set("0123456789.eE+-") else None
        except ValueError:
            return None


def pattern_of(what: ast.Regexp | ast.Glob, scope: Scope, at: ast.Node) -> str:
    if isinstance(what, ast.Glob):
        return glob_regexp(what.pattern)
    try:
        return shared_regexp(what.pattern)
    except Unsupported as unsupported:
        place = what if what.span.stop else at
        raise query_error(scope.query, place, f"this pattern is not supported: {unsupported}") from None


def _has_one(shaped: Shaped, names: list[str]) -> Sql:
    shapes = {at: shape for at, shape in shaped.by_number.items() if isinstance(shape, Object)}
    numbers = [at for at, shape in shapes.items() if not set(names).isdisjoint(shape.names())]
    if not numbers:
        return exp.false()
    return exp.In(this=shaped.number.copy(), expressions=[number(each) for each in sorted(numbers)])


def _fold_case(text: str) -> str:
    return "".join(chr(ord(each) + 32) if "A" <= each <= "Z" else each for each in text)
