"""A plan's SQL as DuckDB is to run it: with the files in the place of the scans' names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlglot import exp

from lochan.pools.layout import SHAPE_COLUMN
from lochan.pools.shape import ARRAY, INT, Type
from lochan.query.compile.sql import sql_type
from lochan.query.sources.pool import PRESORTED
from lochan.query.sources.scans import FileScan, Scans


def with_files(query: exp.Query, scans: Scans, paths: Mapping[str, Sequence[str]]) -> exp.Query:
    """`paths` has those of each scan's files. An order that reading them gives by itself is left out."""
    for table in list(query.find_all(exp.Table)):
        scan = scans.files.get(table.name)
        if scan is not None:
            there = paths[table.name]
            table.replace(_read(table.name, there, scan) if there else _nothing(table.name, scan))
    for order in list(query.find_all(exp.Order)):
        if order.meta.get(PRESORTED) and order.parent is not None:
            order.parent.set("order", None)
    return query


def used(query: exp.Query, scans: Scans) -> list[str]:
    """The names of the scans that the query reads."""
    return [table.name for table in query.find_all(exp.Table) if table.name in scans.files]


def _nothing(name: str, scan: FileScan) -> exp.Expression:
    """No rows, where all of the files are gone."""
    types = {SHAPE_COLUMN: INT, **scan.columns}
    made = [exp.Cast(this=exp.Null(), to=_type(type)).as_(column, quoted=True) for column, type in types.items()]
    return exp.select(*made).where(exp.false()).subquery(exp.to_identifier(name, quoted=True))


def _read(name: str, paths: Sequence[str], scan: FileScan) -> exp.Expression:
    listed = exp.Array(expressions=[exp.Literal.string(path) for path in paths])
    union = [] if scan.uniform else [exp.PropertyEQ(this=exp.to_identifier("union_by_name"), expression=exp.true())]
    read = exp.Table(this=exp.Anonymous(this="READ_PARQUET", expressions=[listed, *union]))
    alias = exp.to_identifier(name, quoted=True)
    if scan.with_gaps:
        return exp.select(_whole(scan.with_gaps), copy=False).from_(read, copy=False).subquery(alias)
    read.set("alias", exp.TableAlias(this=alias))
    return read


def _whole(columns: Collection[str]) -> exp.Star:
    """All columns, these such that DuckDB reads them with all members. Where it reads only `a.b.c`, and comes to a
    file that has `a` but nothing at `b`, it fails with an internal error; it does not look through a CASE."""
    there = exp.column(SHAPE_COLUMN, quoted=True).is_(exp.null()).not_()
    made = [exp.Case().when(there, exp.column(name, quoted=True)).as_(name, quoted=True) for name in sorted(columns)]
    return exp.Star(replace=made)


def _type(type: Type) -> exp.DataType:
    element: exp.DataType = sql_type(ARRAY, type).expressions[0]
    return element
