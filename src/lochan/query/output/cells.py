"""Rows as cells of a table: a column of texts for each field of the rows, NULL where a row has nothing there.

A string is its own text, everything else is written as in JSON; null is an empty cell, as missing is.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Refused
from lochan.pools.shape import NULL, OBJECT, STRING, TIME
from lochan.query.output.columns import Column
from lochan.query.output.texts import DURATION, IP, duration_texts, kind_texts, times_of

VALUE = "value"  # the only column of rows that are no records


def fields(row: Column) -> tuple[tuple[str, Column], ...]:
    """Raises Refused for rows that are kept as text: they have no columns in common."""
    if row.body is not None:
        raise Refused(
            "these rows are kept as text, and each has fields of its own: they make no table",
            hint="choose fields with cut, or take ndjson or json",
        )
    return row.members if set(row.kinds) == {OBJECT} else ((VALUE, row),)


def titles(row: Column) -> list[str]:
    return [name for name, _ in fields(row)]


def cells(batch: pa.RecordBatch, row: Column) -> list[pa.Array]:
    return [cell_texts(batch, column) for _, column in fields(row)]


def cell_texts(batch: pa.RecordBatch, column: Column) -> pa.Array:
    """Of one field."""
    plain = [_plain(batch, kind, name, column) for kind, name in column.kinds.items() if kind != NULL]
    if not plain:
        return pa.nulls(len(batch), pa.large_string())
    return plain[0] if len(plain) == 1 else pc.coalesce(*plain)


def _plain(batch: pa.RecordBatch, kind: str, name: str, column: Column) -> pa.Array:
    if kind == STRING:
        return batch.column(name).cast(pa.large_string())
    if kind == TIME:
        return times_of(batch, column)
    if kind == DURATION:
        return duration_texts(batch.column(name))
    if kind == IP:
        return pc.replace_substring(kind_texts(batch, kind, name, column), '"', "")
    return kind_texts(batch, kind, name, column)


def tab_separated(batch: pa.RecordBatch, row: Column) -> Iterator[bytes]:
    """The `text` format: cells with tabs between them, without a header. What would break a line is a space."""
    found = [pc.replace_substring_regex(pc.fill_null(each, ""), r"[\t\r\n]", " ") for each in cells(batch, row)]
    if found and len(batch):
        lines = pc.binary_join_element_wise(*found, pa.scalar("\t", pa.large_string()))
        yield "\n".join(lines.to_pylist()).encode() + b"\n"
