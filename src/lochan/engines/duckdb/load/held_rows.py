"""Rows in Arrow's columns that are held as they are until they are sorted, instead of being inserted into a table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lochan.engines.duckdb.load.relation import cast_columns, columnless_objects
from lochan.engines.duckdb.load.sql import name_sql, type_sql
from lochan.pools.layout import SHAPE_COLUMN, Layout, columns
from lochan.pools.shape import Object


class ShapedRows(NamedTuple):
    """Rows of one shape, in the columns of a layout."""

    table: pa.Table
    layout: Layout
    shape: Object
    id: int  # the number of the shape


class HeldRows:
    """Rows that all have one layout. They can be cast to the layout of `last`, which has those shapes."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.last: tuple[Layout, tuple[Object, ...]] = (layout, ())
        self.size = 0  # in bytes
        self._shapes: dict[Object, int] = {}
        self._tables: list[pa.Table] = []
        self._schema: pa.Schema | None = None

    def fits(self, rows: ShapedRows) -> bool:
        return self.layout == rows.layout and self._schema in (None, rows.table.schema)

    def add(self, rows: ShapedRows, to: Layout, shapes: tuple[Object, ...]) -> None:
        """Adds rows. REQUIRES: they fit, and can be cast to the layout `to`, which has those shapes."""
        self._schema = rows.table.schema
        numbers = pa.array(np.full(rows.table.num_rows, rows.id, dtype=np.int32))
        self._tables.append(rows.table.add_column(0, SHAPE_COLUMN, numbers))
        self._shapes[rows.shape] = rows.id
        self.size += rows.table.nbytes
        self.last = to, shapes

    def table(self) -> pa.Table:
        """Returns a table of `_shape`, then the layout's columns."""
        return pa.concat_tables(self._tables)

    def cast(self, to: Layout, of: str) -> str:
        """Returns a query of the rows in the columns of another layout. `of` is the name of the table. REQUIRES: they
        can be cast. The objects without a column are the same for all shapes of a layout."""
        typed = (f"{name_sql(name)}::{type_sql(type)} AS {name_sql(name)}" for name, type in columns(self.layout))
        rows = f"SELECT {', '.join([SHAPE_COLUMN, *typed])} FROM {of}"
        if to == self.layout:
            return rows
        values = cast_columns(to.members, self.layout.members, columnless_objects(self._shapes))
        assert values is not None, "they can be cast"
        return f"SELECT {', '.join([SHAPE_COLUMN, *values])} FROM ({rows})"
