"""Columns of one layout from those of another, as SQL: each by its kind, NULL where the other has no such column.

It cannot be where the one keeps as text what the other holds as a list or an object.
"""

from __future__ import annotations

from collections.abc import Iterable

from lochan.engines.duckdb.load.sql import name_sql, type_sql
from lochan.pools.layout import Alternate, Member, column_type
from lochan.pools.shape import ARRAY, OBJECT


def carried(to: Iterable[Member], source: Iterable[Member], of: str = "") -> list[str] | None:
    """Each column of the one layout, from those of the other; None where that cannot be. `of` is the struct that the
    columns are in, and a dot."""
    sources = {member.name: member for member in source}
    values = []
    for member in to:
        there = sources.get(member.name)
        if there is not None and any(member.alternate(each.kind) is None for each in there.alternates):
            return None
        for alternate in member.alternates:
            value = _value(alternate, there.alternate(alternate.kind) if there else None, of)
            if value is None:
                return None
            if alternate.column:
                values.append(f"{value} AS {name_sql(alternate.column)}")
    return values


def _value(to: Alternate, source: Alternate | None, of: str) -> str | None:
    nothing = f"NULL::{type_sql(column_type(to))}" if to.column else ""
    if source is None:
        return nothing
    value = of + name_sql(source.column)
    if to.kind == OBJECT and to.members != source.members:
        inner = carried(to.members, source.members, f"{value}.")
        if inner is None or not source.column:
            return None if inner is None else nothing
        packed = ", ".join(_packed(each) for each in inner)
        return f"CASE WHEN {value} IS NOT NULL THEN struct_pack({packed}) END"
    if to.kind == ARRAY and to.element != source.element:
        return f"{value}::{type_sql(column_type(to))}"
    return value


def _packed(value: str) -> str:
    sql, _, name = value.rpartition(" AS ")
    return f"{name} := {sql}"
