"""Names, texts and types in DuckDB's SQL."""

from __future__ import annotations

from lochan.pools.kinds import BOOL, DECIMAL, FLOAT, INT, JSON, STRING, TIME
from lochan.pools.layout import DIGITS_MAX, scale_of
from lochan.pools.shape import Array, Object, Type, kind_of

_TYPES = {BOOL: "BOOLEAN", INT: "BIGINT", FLOAT: "DOUBLE", STRING: "VARCHAR", TIME: "TIMESTAMPTZ", JSON: "VARCHAR"}


def name_sql(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def text_sql(text: str) -> str:
    """Returns the text as an SQL expression. A query's text cannot contain a NUL."""
    doubled = text.replace("'", "''")
    if "\0" not in doubled:
        return f"'{doubled}'"
    return "(" + " || chr(0) || ".join(f"'{part}'" for part in doubled.split("\0")) + ")"


def type_sql(type: Type) -> str:
    if isinstance(type, Object):
        fields = ", ".join(f"{name_sql(name)} {type_sql(each)}" for name, each in type.fields)
        return f"STRUCT({fields})"
    if isinstance(type, Array):
        assert type.of is not None, "an empty list has no column"
        return f"{type_sql(type.of)}[]"
    kind = kind_of(type)
    return f"DECIMAL({DIGITS_MAX}, {scale_of(type)})" if kind == DECIMAL else _TYPES[kind]
