"""A source made of Python rows, read by VALUES, to test a plan without a pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlglot import exp

from lochan.pools import times
from lochan.pools.json_row import row_text
from lochan.pools.kinds import ARRAY, FLOAT, JSON, NULL, OBJECT, STRING, TIME
from lochan.pools.layout import Alternate, Member, lay_out
from lochan.pools.shape import Array, Leaf, Object, Path, Type, kind_of, number_shapes, type_of
from lochan.query.compile.sql import moment, null_of, number, sql_type
from lochan.query.dialects import duckdb, duckdb_text, render, spark, spark_words
from lochan.query.dialects.neutral import neutral
from lochan.query.leaves import KeyPart, LeafInfo, ScanRequest

Row = dict[str, Any]


class ToySource:
    def __init__(
        self,
        rows: Sequence[Row],
        *,
        key: Path | None = None,
        descending: bool = False,
        times_at: Sequence[Path] = (),
        body: bool = False,
        grows: bool = False,
    ) -> None:
        """The rows are in the order of the key."""
        self.rows = rows
        self.grows = grows
        self.key = key
        self.key_parts = () if key is None else (KeyPart(key, descending, nulls_first=descending),)
        self.request: list[ScanRequest] = []
        self._types = [_typed(row, times_at) for row in rows]
        self.shapes: Mapping[int, Object] = {} if body else number_shapes(self._types)
        self.has_body = body
        self.text_shapes: tuple[int, ...] = ()
        self._ids = {shape: id for id, shape in number_shapes(self._types).items()}
        self._layout = lay_out(self._types)
        self._texts: dict[tuple[int, Any, str], str] = {}

    def known(self, path: Path) -> Sequence[LeafInfo]:
        found: dict[str, list[Type]] = {}
        for shape in self._types:
            leaf = self._leaf_kind(shape, path)
            if leaf is not None:
                found.setdefault(leaf[0], []).append(leaf[1])
        return [self._known(path, kind, types) for kind, types in found.items()]

    def _known(self, path: Path, kind: str, types: list[Type]) -> LeafInfo:
        always = len(types) == len(self._types) and not self.has_body
        alternate = self._alternate(path, kind)
        element = alternate.element if alternate is not None and kind == ARRAY else NULL
        formats = tuple(sorted({type[5:] for type in types if isinstance(type, str)})) if kind == TIME else ()
        return LeafInfo(Leaf(path, kind), always, element, formats)

    def members(self, path: Path) -> Sequence[str]:
        names: dict[str, None] = {}
        for shape in self._types:
            type = _at(shape, path)
            if isinstance(type, Object):
                names.update(dict.fromkeys(type.names()))
        return tuple(names)

    def select(self, request: ScanRequest) -> exp.Query:
        self.request.append(request)
        columns: list[tuple[str, Any]] = [(leaf.column, leaf) for leaf in request.leaves]
        columns += [("_shape", None)] * request.shape + [("_body", "")] * request.body
        if not self.rows:
            nothing = [self._null(leaf).as_(name, quoted=True) for name, leaf in columns] or [number(1).as_("_")]
            return exp.select(*nothing).where(exp.false())
        _SELECTED.append((self, columns or [("_", self)]))
        rows = neutral("toy_rows", options=(len(_SELECTED) - 1,))
        return exp.select(*(exp.column(name, quoted=True) for name, _ in _SELECTED[-1][1])).from_(rows)

    def texts(self, columns: list[tuple[str, Any]], dialect: str) -> list[list[str]]:
        """The values of all rows, as SQL."""
        return [[self._text(at, what, dialect) for _, what in columns] for at in range(len(self.rows))]

    def _text(self, at: int, what: Any, dialect: str) -> str:
        key = at, what, dialect
        if key not in self._texts:
            self._texts[key] = render(self._shown(at, what), dialect)
        return self._texts[key]

    def _shown(self, at: int, what: Any) -> exp.Expr:
        if what is self:
            return number(1)
        if what is None:
            return number(0 if self.has_body else self._ids[self._types[at]])
        if what == "":
            return exp.Literal.string(row_text(self.rows[at]))
        return self._value(at, what)

    def _value(self, at: int, leaf: Leaf) -> exp.Expr:
        found = self._leaf_kind(self._types[at], leaf.path)
        if found is None or found[0] != leaf.kind:
            return self._null(leaf)
        if leaf.kind in (NULL, OBJECT):
            return exp.true()
        value: Any = self.rows[at]
        for name in leaf.path:
            value = value[name]
        return self._literal(value, leaf)

    def _literal(self, value: Any, leaf: Leaf) -> exp.Expr:
        if leaf.kind == ARRAY:
            alternate = self._alternate(leaf.path, ARRAY)
            assert alternate is not None
            return neutral("toy_array", options=(orjson.dumps(value).decode(), Array(alternate.element)))
        if leaf.kind == JSON:
            return exp.Literal.string(row_text(value))
        if leaf.kind == TIME:
            return moment(times.parse(value))
        if leaf.kind == STRING:
            return exp.Literal.string(value)
        if leaf.kind == FLOAT:
            return number(float(value))
        return exp.cast(exp.convert(value), sql_type(leaf.kind))

    def _null(self, leaf: Any) -> exp.Expr:
        if leaf is None or leaf == "":
            return exp.cast(exp.Null(), "bigint" if leaf is None else "varchar")
        alternate = self._alternate(leaf.path, leaf.kind)
        return null_of(leaf.kind, alternate.element if alternate is not None else NULL)

    def _leaf_kind(self, shape: Object, path: Path) -> tuple[str, Type] | None:
        """The kind of the row's value; arrays and objects that the layout keeps as text are of the kind json."""
        type = _at(shape, path)
        if type is None or any(self._is_text(path[:depth]) for depth in range(1, len(path))):
            return None
        kind = kind_of(type)
        if kind in (OBJECT, ARRAY) and self._alternate(path, kind) is None:
            return JSON, type
        return kind, type

    def _is_text(self, path: Path) -> bool:
        return self._alternate(path, OBJECT) is None

    def _alternate(self, path: Path, kind: str) -> Alternate | None:
        members: tuple[Member, ...] = self._layout.members
        found: Alternate | None = None
        for depth, name in enumerate(path, 1):
            member = next((each for each in members if each.name == name), None)
            found = member.alternate(kind if depth == len(path) else OBJECT) if member is not None else None
            if found is None:
                return None
            members = found.members
        return found


def _at(type: Type, path: Path) -> Type | None:
    for name in path:
        inner = dict(type.fields).get(name) if isinstance(type, Object) else None
        if inner is None:
            return None
        type = inner
    return type


def _typed(row: Row, times_at: Sequence[Path], path: Path = ()) -> Object:
    fields: list[tuple[str, Type]] = []
    for name, value in row.items():
        here = (*path, name)
        format = times.format_of(value) if here in times_at and isinstance(value, str) else None
        if isinstance(value, dict):
            fields.append((name, _typed(value, times_at, here)))
        else:
            fields.append((name, f"time:{format}" if format else type_of(value)))
    return Object(tuple(fields))


def _values(_: object, options: tuple[Any, ...]) -> str:
    source, columns = _SELECTED[options[0]]
    rows = ", ".join(f"({', '.join(row)})" for row in source.texts(columns, "duckdb"))
    names = ", ".join(exp.to_identifier(name, quoted=True).sql("duckdb") for name, _ in columns)
    return f"(VALUES {rows}) AS toy({names})"


def _arms(_: object, options: tuple[Any, ...]) -> str:
    source, columns = _SELECTED[options[0]]
    names = [exp.to_identifier(name, quoted=True).sql("spark") for name, _ in columns]
    arms = [zip(row, names, strict=True) for row in source.texts(columns, "spark")]
    return f"({' UNION ALL '.join('SELECT ' + ', '.join(f'{text} AS {name}' for text, name in arm) for arm in arms)})"


def _duckdb_type(type: Type | None) -> str:
    if isinstance(type, Object):
        members = ", ".join('"' + name.replace('"', '""') + '" ' + _duckdb_type(each) for name, each in type.fields)
        return f"STRUCT({members})"
    if isinstance(type, Array):
        return f"{_duckdb_type(type.of)}[]"
    return duckdb.TYPES[kind_of(type)] if type is not None else "VARCHAR"


_SELECTED: list[tuple[ToySource, list[tuple[str, Any]]]] = []
duckdb.FORMS["toy_rows"], spark.FORMS["toy_rows"] = _values, _arms
duckdb.FORMS["toy_array"] = lambda _, options: (
    f"CAST(CAST({duckdb_text.quote_text(options[0])} AS JSON) AS {_duckdb_type(options[1])})"
)
spark.FORMS["toy_array"] = lambda _, options: (
    f"FROM_JSON({spark_words.quote_text(options[0])}, '{spark_words.type_text(options[1])}')"
)
