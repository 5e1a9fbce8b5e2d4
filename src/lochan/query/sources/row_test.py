"""An expression as a test of a source's rows by itself, without a query around it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from lochan.query import ast
from lochan.query.compile.expressions import test_of
from lochan.query.compile.fields import row_of
from lochan.query.compile.relations import Names, Scan
from lochan.query.compile.scope import Query, Scope
from lochan.query.compile.sql import columns_of
from lochan.query.dialects import render
from lochan.query.leaves import ScanRequest, Source


@dataclass(frozen=True)
class RowTest:
    sql: str  # of DuckDB; NULL counts as false
    asked: ScanRequest  # the columns that it needs
    alias: str  # of the table that has these


def row_test(source: Source, test: ast.Expr, text: str, now: int) -> RowTest:
    """`text` is what the expression was written as. Raises QueryError."""
    noting = _Noting(source)
    scan = Scan(noting, "tested")
    sql = test_of(test, Scope(Query(text, now, Names()), row_of(scan), source.key))
    scan.query(columns_of([sql], scan.alias), ordered=False)
    return RowTest(render(exp.Paren(this=sql), "duckdb"), noting.asked, scan.alias)


class _Noting:
    """A source that is asked, but not read."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.shapes = source.shapes
        self.grows = source.grows
        self.has_body = source.has_body
        self.text_shapes = source.text_shapes
        self.key = source.key
        self.key_parts = source.key_parts
        self.known = source.known
        self.members = source.members
        self.asked = ScanRequest(())

    def select(self, asked: ScanRequest) -> exp.Query:
        self.asked = asked
        return exp.select("1")
