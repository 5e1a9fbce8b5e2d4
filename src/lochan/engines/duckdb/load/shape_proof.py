"""Proves the shape of a row in SQL, in two ways.

`proof` parses a row into typed columns, even if that changes values ("200" becomes 200), and writes it again as JSON by
its shape. If the result is the very text of the row, its names, kinds, order, nulls and digits are those of the shape,
because no other text gives the same value and the same text. The fields that are present decide which shape to try. A
row that is written differently (an escape, 1.50) fails this proof.

`pattern` is a regular expression for the JSON texts of one shape, in RE2's dialect: names and kinds, order, nulls, ints
within 64 bits, decimals that a double represents, valid escapes. A few texts of the shape do not match (an unusual
escape in a name, a decimal of seventeen digits). Such rows are inferred one by one (shape_inference.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from lochan.engines.duckdb.load.columns import ROW, is_mixed, kind_at, may_be_null
from lochan.engines.duckdb.load.sql import name_sql, text_sql, type_sql
from lochan.formats.pool_settings import Path
from lochan.pools import times
from lochan.pools.json_row import row_text
from lochan.pools.kinds import ARRAY, BOOL, FLOAT, INT, JSON, NULL, OBJECT, STRING, TIME
from lochan.pools.layout import Layout, Member
from lochan.pools.shape import Array, Maybe, Object, Type, kind_of, sure

SHAPES_MAX = 256
_ARMS_MAX = 20_000  # the limit for shapes times columns, because the engine has to plan the whole expression
_FIELDS_MAX = 300


class Style(NamedTuple):
    """The text that a writer of JSON puts between fields and after names."""

    comma: str = ","
    colon: str = ":"


STYLES = (Style(), Style(", ", ": "))


def style_of(row: Mapping[str, object], text: str) -> Style | None:
    """Returns the style of a row, judged by its first name, or None if it has another style."""
    names = list(row)
    if not names:
        return STYLES[0]
    begin = text.lstrip()[: len(row_text(names[0])) + 8]
    return next((each for each in reversed(STYLES) if begin.startswith(f"{{{row_text(names[0])}{each.colon}")), None)


def proof(
    shapes: Mapping[Object, int], styles: Mapping[Object, Style], layout: Layout, times: Collection[Path] = ()
) -> str:
    """Returns an expression over `line` and its parsed struct: the number of the row's shape, or NULL. It is empty if
    no shape can be proven this way. At `times` a string counts as one only if it is not a time."""
    checks: dict[Object, str] = {}
    paths = list(_leaves(layout.members, (), ROW))
    for shape in list(shapes)[: min(SHAPES_MAX, _ARMS_MAX // (len(paths) + 1))]:
        check = _Check(styles.get(shape, STYLES[0]), times).of(shape, layout)
        if check is not None:
            checks[shape] = f"CASE WHEN {check} THEN {shapes[shape]} END"
    there = {sql: {shape: _is_there(shape, path) for shape in checks} for path, sql in paths}
    return _choose_by_tests(list(checks), checks, there) if checks else ""


def _is_there(shape: Object, path: Path) -> bool | None:
    """Returns whether the shape has something at the path, or None if that depends on the row."""
    return None if may_be_null(shape, path) else kind_at(shape, path) not in (None, NULL)


def _choose_by_tests(
    shapes: Sequence[Object], checks: Mapping[Object, str], places: Mapping[str, Mapping[Object, bool | None]]
) -> str:
    """Returns an expression that chooses by tests of fields, each of which halves the remaining shapes as far as
    possible."""
    best, parts = None, None
    for sql, is_there in places.items() if len(shapes) > 1 else ():
        if any(is_there[shape] is None for shape in shapes):
            continue
        there = [shape for shape in shapes if is_there[shape]]
        rest = len(shapes) - len(there)
        if there and rest and (parts is None or abs(len(there) - rest) < abs(2 * len(parts) - len(shapes))):
            best, parts = sql, there
    if best is None or parts is None:
        return checks[shapes[0]] if len(shapes) == 1 else f"coalesce({', '.join(checks[each] for each in shapes)})"
    others = [shape for shape in shapes if shape not in parts]
    chosen, other = (_choose_by_tests(each, checks, places) for each in (parts, others))
    return f"CASE WHEN {best} IS NOT NULL THEN {chosen} ELSE {other} END"


def _leaves(members: Sequence[Member], above: Path, of: str) -> Iterator[tuple[Path, str]]:
    for member in members:
        path, value = (*above, member.name), f"{of}.{name_sql(member.name)}"
        inner = member.alternate(OBJECT)
        if inner is not None and not is_mixed(member):
            yield from _leaves(inner.members, path, value)
        elif member.leaves():
            yield path, value


class WrittenValue(NamedTuple):
    """A value as JSON, from its parsed column, and the tests that must hold besides the equality of the texts."""

    sql: str
    tests: tuple[str, ...]


def written_value(
    type: Type, member: Member, value: str, path: Path, style: Style, times: Collection[Path]
) -> WrittenValue | None:
    """Returns the SQL of such a value, or None if its text cannot be proven this way."""
    check = _Check(style, times)
    return WrittenValue(check._written(), tuple(check._tests)) if check._field(type, member, value, path) else None


def concat_sql(pieces: Sequence[str]) -> str:
    """Returns the SQL that joins the pieces. NULL counts as an empty text."""
    return f"concat({', '.join(pieces)})"


class _Check:
    def __init__(self, style: Style, times: Collection[Path]) -> None:
        self._style = style
        self._times = times
        self._pieces: list[str] = [""]  # texts and expressions in turn, beginning with a text
        self._tests: list[str] = []

    def of(self, shape: Object, layout: Layout) -> str | None:
        if len(shape.fields) > _FIELDS_MAX or not self._object(shape, layout.members, ROW, ()):
            return None
        self._text("\n")
        return " AND ".join([f"line = {self._written()}", *self._tests])

    def _written(self) -> str:
        pieces = [text_sql(each) if number % 2 == 0 else each for number, each in enumerate(self._pieces)]
        return concat_sql([each for each in pieces if each != chr(39) * 2])

    def _text(self, text: str) -> None:
        self._pieces[-1] += text

    def _value(self, sql: str) -> None:
        self._pieces += [sql, ""]

    def _object(self, shape: Object, members: Sequence[Member], of: str, above: Path) -> bool:
        by_name = {member.name: member for member in members}
        self._text("{")
        for number, (name, type) in enumerate(shape.fields):
            self._text((self._style.comma if number else "") + row_text(name) + self._style.colon)
            if not self._field(type, by_name[name], f"{of}.{name_sql(name)}", (*above, name)):
                return False
        self._text("}")
        return True

    def _field(self, type: Type, member: Member, value: str, path: Path) -> bool:
        if isinstance(type, Maybe):
            return self._maybe(type.of, member, value, path)
        kind = kind_of(type)
        if type == NULL:
            self._text("null")
            return True
        own = member.alternate(kind)
        if kind == JSON or own is None:
            return False
        if isinstance(type, Object):
            return self._object(type, own.members, value, path)
        if isinstance(type, Array):
            return self._list(type, value)
        read = f"{value} ->> '$'" if is_mixed(member) else value
        if kind in (STRING, TIME):
            self._text('"')
            self._value(f"({read})")
            self._text('"')
        else:
            self._value(f"TRY_CAST(({read}) AS {type_sql(kind)})::VARCHAR" if is_mixed(member) else f"{read}::VARCHAR")
        if kind == STRING and path in self._times:
            self._tests.append(f"NOT regexp_matches({read}, {text_sql(times.LIKE_TIMES)})")
        if kind == TIME:
            format = str(type).partition(":")[2]
            if format == times.NATIVE:
                return False
            self._tests.append(f"regexp_full_match({read}, {text_sql(times.pattern(format))})")
        return True

    def _maybe(self, type: Type, member: Member, value: str, path: Path) -> bool:
        """Writes a value that may be null. A value other than null that is parsed as NULL does not reproduce its
        text."""
        inner = _Check(self._style, self._times)
        if not inner._field(type, member, value, path):
            return False
        is_null = f"({value} ->> '$') IS NULL" if is_mixed(member) else f"{value} IS NULL"
        self._value(f"CASE WHEN {is_null} THEN 'null' ELSE {inner._written()} END")
        self._tests += [f"({is_null} OR {test})" for test in inner._tests]
        return True

    def _list(self, type: Array, value: str) -> bool:
        if type.of is None:
            self._text("[]")
            return True
        if isinstance(type.of, Object | Array) or type.of in (NULL, FLOAT) or kind_of(type.of) in (JSON, TIME, ARRAY):
            return False
        if self._style != STYLES[0]:
            return False
        self._value(f"to_json({value})")
        # The array is neither empty nor has only nulls: those are other shapes.
        self._tests.append(f"len(list_filter({value}, lambda x: x IS NOT NULL)) > 0")
        return True


# --- as a regular expression -----------------------------------------------------------------------------------------
FIELDS_MAX = 200  # a pattern of more fields costs more than it saves

_GAP = r"[ \t\r\n]*"
_UNIT = r"u(?:[0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})"
_PAIR = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_SCALARS = {
    NULL: "null",
    BOOL: "(?:true|false)",
    INT: "-?(?:0|[1-9][0-9]{0,17}|[1-8][0-9]{18})",
    # Such a number has at most fifteen digits, and a double represents any such decimal.
    FLOAT: r"-?(?:(?:0|[1-9][0-9]{0,6})\.[0-9]{1,8}|0\.[0-9]{1,15}|[1-9][0-9]{0,11}\.[0-9]{1,3})"
    r"(?:[eE][+-]?[0-9]{1,2})?",
    STRING: rf'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|{_UNIT}|{_PAIR}))*"',
}


@cache
def pattern(shape: Object) -> str | None:
    """Returns the regular expression for a shape, or None if something in the shape is kept as text, or if it is too
    large."""
    if _fields(shape) > FIELDS_MAX:
        return None
    exact = _exact(shape)
    return None if exact is None else f"{_GAP}{exact}{_GAP}"


def _exact(type: Type) -> str | None:
    if isinstance(type, Maybe):
        inner = _exact(type.of)
        return None if inner is None else f"(?:null|{inner})"
    if isinstance(type, Object):
        return _object([(name, _exact(each)) for name, each in type.fields])
    if isinstance(type, Array):
        return _array(type)
    if kind_of(type) == "time":
        format = type.partition(":")[2]
        return None if format == times.NATIVE else f'"{times.pattern(format)}"'
    return _SCALARS.get(type)


def _object(fields: list[tuple[str, str | None]]) -> str | None:
    found = []
    for name, value in fields:
        if value is None:
            return None
        found.append(f"{re.escape(json.dumps(name, ensure_ascii=False))}{_GAP}:{_GAP}{value}")
    return rf"\{{{_GAP}{f'{_GAP},{_GAP}'.join(found)}{_GAP}\}}"


def _array(type: Array) -> str | None:
    """Returns the regular expression of an array. The first element that is not null must have the exact type, and
    later ones may contain nulls."""
    if type.of is None:
        return rf"\[{_GAP}\]"
    if type.of == NULL:
        return rf"\[{_GAP}null(?:{_GAP},{_GAP}null)*{_GAP}\]"
    first, others = _exact(type.of), _loose(type.of)
    if first is None or others is None:
        return None
    return rf"\[{_GAP}(?:null{_GAP},{_GAP})*{first}(?:{_GAP},{_GAP}{others})*{_GAP}\]"


def _loose(type: Type) -> str | None:
    if isinstance(type, Object):
        inner = _object([(name, _loose(each)) for name, each in type.fields])
    elif isinstance(type, Array):
        inner = _array(type) if type.of is None else _several(_loose(type.of))
    else:
        inner = _exact(type)
    return None if inner is None else f"(?:null|{inner})"


def _several(of: str | None) -> str | None:
    return None if of is None else rf"\[{_GAP}(?:{of}(?:{_GAP},{_GAP}{of})*)?{_GAP}\]"


def _fields(type: Type | None) -> int:
    type = None if type is None else sure(type)
    if isinstance(type, Object):
        return sum(_fields(each) for _, each in type.fields)
    return _fields(type.of) if isinstance(type, Array) else 1
