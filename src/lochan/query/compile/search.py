"""Search: a term anywhere in the row, in a field's text or in its name. Words fold the case of ASCII letters alone, for
only there the engines agree; patterns fold none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

import orjson
from sqlglot import exp

from lochan.pools.shape import ARRAY, FLOAT, INT, JSON, OBJECT, STRING, Array, Object, Type
from lochan.query import ast
from lochan.query.compile.numbers import equals
from lochan.query.compile.patterns import Unsupported, glob_regexp, matching, shared_regexp
from lochan.query.compile.scope import Scope, refused
from lochan.query.compile.sql import DECIMAL, IP, Sql, all_of, any_of, eq, is_set, number
from lochan.query.compile.value import Record, Shaped, Value, present
from lochan.query.dialects.neutral import neutral

Pattern = str | ast.Regexp | ast.Glob


def found(what: Pattern, where: Value, scope: Scope, at: ast.Node) -> Sql:
    """True where the term is in the value, or in what the value holds."""
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
        """`flag` is set where the record is there."""
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
        """The text of a document has its strings escaped, so the word is too."""
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
            word = _folded(self.word)
            return [name for name in names if word in _folded(name)]
        return matching(names, self.regexp)

    def _numbers(self, value: Value) -> Iterator[Sql]:
        """A word that is a number finds the fields that are that number."""
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
        raise refused(scope.query, place, f"this pattern cannot be taken: {unsupported}") from None


def _has_one(shaped: Shaped, names: list[str]) -> Sql:
    shapes = {at: shape for at, shape in shaped.by_number.items() if isinstance(shape, Object)}
    numbers = [at for at, shape in shapes.items() if not set(names).isdisjoint(shape.names())]
    if not numbers:
        return exp.false()
    return exp.In(this=shaped.number.copy(), expressions=[number(each) for each in sorted(numbers)])


def _folded(text: str) -> str:
    return "".join(chr(ord(each) + 32) if "A" <= each <= "Z" else each for each in text)
