"""Staged tables put together under one layout. One that cannot follow keeps its own, and gets objects of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lochan.engines.duckdb.load.known_shapes import KnownShapes
from lochan.engines.duckdb.load.layout_cast import bare, carried
from lochan.engines.duckdb.load.sql import name_sql
from lochan.engines.duckdb.load.staging import StagingTable
from lochan.pools.layout import SHAPE_COLUMN, Layout, columns
from lochan.pools.nullable_shapes import joined
from lochan.pools.shape import Object, encode


class StagedRelation(NamedTuple):
    """Rows that lie in objects together."""

    layout: Layout
    sql: str  # a query: _shape, _body if the layout has one, then the layout's columns
    shapes: tuple[Object, ...]  # that the layout is of


def relations(
    tables: Sequence[StagingTable], layout: Layout, known: KnownShapes, shapes: Sequence[Object]
) -> list[StagedRelation]:
    """`layout` is that of these shapes, all of which are known. Of those that differ by nulls alone one is left."""
    found = []
    arms = []
    into = joined(shapes)
    for table in tables:
        arm = _arm(table, layout, known, into)
        if arm is None:
            own = joined(table.shapes)
            alone = _arm(table, table.layout, known, own)
            assert alone is not None
            found.append(StagedRelation(table.layout, alone, tuple(dict.fromkeys(own.values()))))
        else:
            arms.append(arm)
    if arms:
        found.append(StagedRelation(layout, " UNION ALL ".join(arms), tuple(dict.fromkeys(into.values()))))
    return found


def follows(layout: Layout, to: Layout) -> bool:
    """Whether rows in columns of the one can be put into those of the other."""
    return layout == to or carried(to.members, layout.members, {}) is not None


def _arm(table: StagingTable, layout: Layout, known: KnownShapes, into: Mapping[Object, Object]) -> str | None:
    empty = bare(known.columns)
    if table.layout == layout and not empty:
        values: list[str] | None = [name_sql(name) for name, _ in columns(layout)]
    else:
        values = carried(layout.members, table.layout.members, empty)
    return None if values is None else f"SELECT {', '.join([_shape(known, into), *values])} FROM {table.name}"


def _shape(known: KnownShapes, into: Mapping[Object, Object]) -> str:
    numbers = known.numbered(sorted(set(into.values()), key=encode))
    arms = [f"WHEN {known.columns[one]} THEN {numbers[other]}" for one, other in into.items() if one != other]
    if not arms:
        return SHAPE_COLUMN
    return f"(CASE {SHAPE_COLUMN} {' '.join(arms)} ELSE {SHAPE_COLUMN} END)::INTEGER AS {SHAPE_COLUMN}"
