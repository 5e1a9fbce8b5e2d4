"""Staged tables put together under one layout. One that cannot follow keeps its own, and gets objects of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lochan.engines.duckdb.load.carrying import carried
from lochan.engines.duckdb.load.sql import name_sql
from lochan.engines.duckdb.load.staging import Table
from lochan.pools.layout import SHAPE_COLUMN, Layout, columns
from lochan.pools.shape import Object


class Relation(NamedTuple):
    """Rows that lie in objects together."""

    layout: Layout
    sql: str  # a query: _shape, _body if the layout has one, then the layout's columns
    shapes: tuple[Object, ...]  # that the layout is of


def relations(tables: Sequence[Table], layout: Layout, shapes: Sequence[Object]) -> list[Relation]:
    """`layout` is that of all shapes that have columns."""
    found = []
    arms = []
    for table in tables:
        arm = _arm(table, layout)
        if arm is None:
            own = _arm(table, table.layout)
            assert own is not None
            found.append(Relation(table.layout, own, table.shapes))
        else:
            arms.append(arm)
    if arms:
        found.append(Relation(layout, " UNION ALL ".join(arms), tuple(shapes)))
    return found


def _arm(table: Table, layout: Layout) -> str | None:
    if table.layout == layout:
        values: list[str] | None = [name_sql(name) for name, _ in columns(layout)]
    else:
        values = carried(layout.members, table.layout.members)
    return None if values is None else f"SELECT {', '.join([SHAPE_COLUMN, *values])} FROM {table.name}"
