"""Converts rows in memory to the columns of their leaves: few rows of any shape from dictionaries, and very many of one
shape from a table. A time is an `Instant`, or a column of timestamps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from lochan.pools.keys import Instant
from lochan.pools.kinds import ARRAY, BOOL, FLOAT, INT, JSON, NULL, OBJECT, STRING, TIME
from lochan.pools.layout import BODY_COLUMN, SHAPE_COLUMN, is_typed
from lochan.pools.shape import Array, Leaf, Object, Path, Type, kind_of, number_shapes, type_of, unify
from lochan.pools.times import NATIVE
from lochan.query.compile.sql import Sql, null_of
from lochan.query.dialects.neutral import neutral
from lochan.query.leaves import KeyPart, LeafInfo, ScanRequest
from lochan.query.sources.scans import Scans, table

Row = Mapping[str, Any]
MOMENT = pa.timestamp("us", tz="UTC")
_ARROW = {
    NULL: pa.bool_(),
    OBJECT: pa.bool_(),
    BOOL: pa.bool_(),
    INT: pa.int64(),
    FLOAT: pa.float64(),
    STRING: pa.string(),
    TIME: MOMENT,
    JSON: pa.string(),
}


def of_rows(rows: Sequence[Row], scans: Scans, fields: Iterable[str] = ()) -> TableSource:
    """Returns a source of these rows. `fields` are those that a row may have: a query may name them even if no row has
    them."""
    spread = _Spread(len(rows))
    shapes = [spread.add(index, row) for index, row in enumerate(rows)]
    numbers = number_shapes(shapes)
    number_of = {shape: number for number, shape in numbers.items()}
    columns = spread.columns()
    infos = [spread.known(leaf, column) for leaf, column in columns.items()]
    there = {leaf.path[0] for leaf in columns}
    for leaf in (Leaf((name,), STRING) for name in fields if name not in there):
        infos.append(LeafInfo(leaf, False))
        columns[leaf] = pa.nulls(len(rows), pa.string())
    return TableSource(scans, numbers, infos, columns, pa.array([number_of[each] for each in shapes], pa.int32()))


def of_table(table: pa.Table, scans: Scans) -> TableSource:
    """Returns a source of this table. REQUIRES: columns of scalars, timestamps or maps, without a null in them."""
    leaves = {Leaf((field.name,), _kind(field.type)): table[field.name] for field in table.schema}
    shape = Object(tuple((leaf.path[0], f"time:{NATIVE}" if leaf.kind == TIME else leaf.kind) for leaf in leaves))
    infos = [_leaf_info(leaf, always=True) for leaf in leaves]
    [number] = number_shapes([shape])
    return TableSource(scans, {number: shape}, infos, leaves, pa.repeat(pa.scalar(number, pa.int32()), len(table)))


class _Spread:
    def __init__(self, count: int) -> None:
        self._count = count
        self._cells: dict[Leaf, list[Any]] = {}
        self._arrays: dict[Path, list[Array]] = {}

    def add(self, index: int, row: Row) -> Object:
        shape = _type(row)
        assert isinstance(shape, Object)
        self._members(index, row, shape, ())
        return shape

    def _members(self, index: int, row: Row, shape: Object, above: Path) -> None:
        for name, type in shape.fields:
            path, kind, value = (*above, name), kind_of(type), row[name]
            if isinstance(type, Array):
                self._arrays.setdefault(path, []).append(type)
            if isinstance(type, Object):
                self._cells_of(Leaf(path, OBJECT))[index] = True
                self._members(index, value, type, path)
            else:
                self._cells_of(Leaf(path, kind))[index] = _cell(value, kind)

    def columns(self) -> dict[Leaf, Any]:
        found: dict[Leaf, list[Any]] = {}
        for leaf, cells in self._cells.items():
            if leaf.kind == ARRAY and self._element(leaf.path) is None:  # as text: no single type holds them all
                text = Leaf(leaf.path, JSON)
                cells = [None if cell is None else _json(cell) for cell in cells]
                others = found.get(text) or self._cells.get(text) or [None] * self._count
                found[text] = [other if cell is None else cell for cell, other in zip(cells, others, strict=True)]
            else:
                found.setdefault(leaf, cells)
        return {leaf: pa.array(cells, self._arrow(leaf)) for leaf, cells in found.items()}

    def known(self, leaf: Leaf, column: pa.Array) -> LeafInfo:
        element = self._element(leaf.path) if leaf.kind == ARRAY else None
        return _leaf_info(leaf, always=not column.null_count, element=NULL if element is None else element)

    def _element(self, path: Path) -> Type | None:
        of: Type | None = None
        for array in self._arrays[path]:
            both = unify(of, array.of)
            if both is None and (of, array.of) != (None, None):
                return None
            of = both
        return of if is_typed(of) else None

    def _arrow(self, leaf: Leaf) -> pa.DataType:
        return _arrow(Array(self._element(leaf.path)) if leaf.kind == ARRAY else leaf.kind)

    def _cells_of(self, leaf: Leaf) -> list[Any]:
        return self._cells.setdefault(leaf, [None] * self._count)


def _type(value: Any) -> Type:
    if isinstance(value, Instant):
        return f"time:{NATIVE}"
    if isinstance(value, Mapping):
        return Object(tuple((name, _type(each)) for name, each in value.items()))
    return type_of(value)


def _cell(value: Any, kind: str) -> Any:
    match kind:
        case "null":
            return True
        case "time":
            return value.micros
        case "json":
            return _json(value)
    return value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _leaf_info(leaf: Leaf, *, always: bool, element: Type = NULL) -> LeafInfo:
    return LeafInfo(leaf, always, element, (NATIVE,) if leaf.kind == TIME else ())


def _arrow(type: Type) -> pa.DataType:
    if isinstance(type, Object):
        return pa.struct([(name, _arrow(each)) for name, each in type.fields])
    if isinstance(type, Array):
        return pa.list_(_arrow(type.of or NULL))
    return _ARROW[kind_of(type)]


def _kind(type: pa.DataType) -> str:
    if pa.types.is_timestamp(type):
        return TIME
    if pa.types.is_map(type):
        return JSON
    return next(kind for kind, each in _ARROW.items() if each == type and kind not in (NULL, OBJECT))


# ── the source ───────────────────────────────────────────────────────────────────────────────────────────────────────


_ROW = "_row"


class TableSource:
    """A source of rows in memory, in the order in which they were given. A query sees a map as a column of JSON
    text."""

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
        """Describes the table. `numbers` are those of the rows' shapes."""
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

    def select(self, request: ScanRequest) -> exp.Query:
        made = [self._value(leaf).as_(leaf.column, quoted=True) for leaf in request.leaves]
        if request.shape:
            made.append(exp.column(SHAPE_COLUMN, quoted=True).as_(SHAPE_COLUMN, quoted=True))
        if request.body:
            made.append(null_of(JSON).as_(BODY_COLUMN, quoted=True))
        query = exp.select(*made or [exp.Literal.number(1)], copy=False).from_(table(self._name), copy=False)
        return query.order_by(exp.column(_ROW, quoted=True), copy=False) if request.ordered else query

    def _value(self, leaf: Leaf) -> Sql:
        column = exp.column(leaf.column, quoted=True)
        return neutral("array_json", column, options=(None,)) if leaf in self._maps else column
