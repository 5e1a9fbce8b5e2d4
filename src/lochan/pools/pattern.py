"""A regular expression for the JSON texts of one shape, in RE2's dialect: what matches is certainly of that shape.

Names and kinds, order, nulls, ints within 64 bits, decimals that a double gives back, escapes that mean a character:
all of it is in the pattern, so an engine may then read the values without a doubt. Some texts of the shape do not match
(an unusual escape in a name, a decimal of seventeen digits); these are judged one by one (pools/json_row.py).
"""

from __future__ import annotations

import json
import re
from functools import cache

from lochan.pools import times
from lochan.pools.shape import BOOL, FLOAT, INT, NULL, STRING, Array, Maybe, Object, Type, kind_of, sure

# A regular expression of very many fields costs more than it saves.
FIELDS_MAX = 200

_GAP = r"[ \t\r\n]*"
_UNIT = r"u(?:[0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})"
_PAIR = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_SCALARS = {
    NULL: "null",
    BOOL: "(?:true|false)",
    INT: "-?(?:0|[1-9][0-9]{0,17}|[1-8][0-9]{18})",
    # Fifteen digits at most: any such decimal comes back from a double.
    FLOAT: r"-?(?:(?:0|[1-9][0-9]{0,6})\.[0-9]{1,8}|0\.[0-9]{1,15}|[1-9][0-9]{0,11}\.[0-9]{1,3})"
    r"(?:[eE][+-]?[0-9]{1,2})?",
    STRING: rf'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|{_UNIT}|{_PAIR}))*"',
}


@cache
def pattern(shape: Object) -> str | None:
    """None: there is none, for something in it is kept as text, or it is too large."""
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
    """The first element that is not null must be all of the type: those behind it may have nulls."""
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
