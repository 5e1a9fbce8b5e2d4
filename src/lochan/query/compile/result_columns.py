"""The columns of a result, from the value that its rows are."""

from __future__ import annotations

from sqlglot import exp

from lochan.pools.shape import ARRAY, NULL, OBJECT, TIME
from lochan.query.compile.numbers import unsplit
from lochan.query.compile.sql import TRUE, Sql
from lochan.query.compile.value import Record, Value, settled
from lochan.query.output.columns import BodyText, Column, FieldOrder, TimeFormat

ALWAYS = ""


def shown(value: Value, columns: dict[str, Sql]) -> Column:
    """Adds what must be selected to `columns`."""
    value = unsplit(settled(value))
    kinds = {}
    for kind, sql in value.alts.items():
        sure = sql == TRUE and kind in (OBJECT, NULL) and len(value.alts) == 1
        kinds[kind] = ALWAYS if sure else _add(sql, columns)
    record = value.record if OBJECT in value.alts else None
    return Column(
        kinds,
        value.nothing,
        _members(record, columns) if record is not None else (),
        _order(record, columns) if record is not None else None,
        value.element if ARRAY in value.alts else None,
        _format(value, columns) if TIME in value.alts else None,
        _body(record, columns) if record is not None else None,
        None if value.exact is None else value.exact.digits.scale,
    )


def _members(record: Record, columns: dict[str, Sql]) -> tuple[tuple[str, Column], ...]:
    names = record.names
    if record.body is not None:
        names = tuple(name for name in names if name in record.body.names or name in record.body.made)
    return tuple((name, shown(record.get(name), columns)) for name in names)


def _order(record: Record, columns: dict[str, Sql]) -> FieldOrder | None:
    if record.order is None:
        return None
    return FieldOrder(_add(record.order.number, columns), record.order.names())


def _format(value: Value, columns: dict[str, Sql]) -> TimeFormat | None:
    format = value.format
    if format is None and value.original is None:
        return None
    original = "" if value.original is None else _add(value.original, columns)
    if format is None or format.number is None:
        return TimeFormat(format.constant if format is not None else "", original=original)
    return TimeFormat("", _add(format.number, columns), dict(format.by_number), original)


def _body(record: Record, columns: dict[str, Sql]) -> BodyText | None:
    if record.body is None:
        return None
    edits = record.order.edits if record.order is not None else ()
    return BodyText(_add(record.body.text, columns), record.body.made, edits)


def _add(sql: Sql, columns: dict[str, Sql]) -> str:
    for name, each in columns.items():
        if each == sql:
            return name
    own = sql.name if isinstance(sql, exp.Column) else ""
    name = own if own and own not in columns else f"c{len(columns)}"
    while name in columns:
        name += "_"
    columns[name] = sql
    return name
