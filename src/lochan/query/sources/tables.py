"""Rows that are in memory, as a Source: metadata of the lake are read like data.

Each leaf has a column of its own in an Arrow table; how rows become such columns is in `in_memory.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from lochan.pools.layout import BODY_COLUMN, SHAPE_COLUMN
from lochan.pools.shape import JSON, Leaf, Object, Path
from lochan.query.compile.sql import Sql, null_of
from lochan.query.dialects.neutral import neutral
from lochan.query.leaves import KeyPart, LeafInfo, ScanRequest
from lochan.query.sources.scans import Scans, table

_ROW = "_row"


class TableSource:
    """Rows come in the order in which they were given. A map is a column of JSON text to a query."""

    grows = False
    has_body = False
    text_shapes: tuple[int, ...] = ()
    key: Path | None = None
    key_parts: tuple[KeyPart, ...] = ()

    def __init__(
        self,
        scans: Scans,
        shapes: Mapping[int, Object],
        known: Sequence[LeafInfo],
        columns: Mapping[Leaf, Any],
        numbers: pa.Array,
    ) -> None:
        """`numbers` are those of the rows' shapes."""
        self.shapes = shapes
        self._known = known
        self._maps = {leaf for leaf, column in columns.items() if pa.types.is_map(column.type)}
        self._name = scans.add_table(
            pa.table(
                {
                    _ROW: pa.array(range(len(numbers)), pa.int64()),
                    SHAPE_COLUMN: numbers,
                    **{leaf.column: column for leaf, column in columns.items()},
                }
            )
        )

    def known(self, path: Path) -> Sequence[LeafInfo]:
        return [each for each in self._known if each.leaf.path == path]

    def members(self, path: Path) -> Sequence[str]:
        below = [each.leaf.path for each in self._known if len(each.leaf.path) > len(path)]
        return list(dict.fromkeys(each[len(path)] for each in below if each[: len(path)] == path))

    def select(self, asked: ScanRequest) -> exp.Query:
        made = [self._value(leaf).as_(leaf.column, quoted=True) for leaf in asked.leaves]
        if asked.shape:
            made.append(exp.column(SHAPE_COLUMN, quoted=True).as_(SHAPE_COLUMN, quoted=True))
        if asked.body:
            made.append(null_of(JSON).as_(BODY_COLUMN, quoted=True))
        query = exp.select(*made or [exp.Literal.number(1)], copy=False).from_(table(self._name), copy=False)
        return query.order_by(exp.column(_ROW, quoted=True), copy=False) if asked.ordered else query

    def _value(self, leaf: Leaf) -> Sql:
        column = exp.column(leaf.column, quoted=True)
        return neutral("array_json", column, options=(None,)) if leaf in self._maps else column
