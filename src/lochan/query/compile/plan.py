"""Compiles a pipe to a plan: one SQL query, and a description of how its columns become rows again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from lochan.errors import Refused
from lochan.pools.kinds import ARRAY, NULL, OBJECT, TIME
from lochan.query import ast
from lochan.query.compile.bindings import bind_columns
from lochan.query.compile.expressions import test_of
from lochan.query.compile.fields import row_of
from lochan.query.compile.needed_rows import needed_rows
from lochan.query.compile.numbers import unsplit
from lochan.query.compile.operators import order as row_order
from lochan.query.compile.operators import projection
from lochan.query.compile.operators.branches import fork, join, stack_arms, switch
from lochan.query.compile.operators.summarize import aggregate_rows
from lochan.query.compile.operators.yield_over import unnest_rows, yield_rows
from lochan.query.compile.relations import PLACE, Names, Picked, Rows, Scan
from lochan.query.compile.scope import Query, Scope, check_plan, query_error
from lochan.query.compile.sql import TRUE, Sql, columns_of
from lochan.query.compile.value import Record, Value, errors_as_null
from lochan.query.dialects import render
from lochan.query.leaves import ScanRequest, Source
from lochan.query.output.columns import BodyText, Column, FieldOrder, TimeFormat

OpenSource = Callable[[ast.Source], Source]


@dataclass(frozen=True)
class Plan:
    """A compiled query. `row` describes the columns of the result. `load` is the place for the result, if the query
    names one."""

    query: exp.Query
    row: Column
    sources: tuple[Source, ...]
    load: ast.Load | None = None
    warnings: tuple[str, ...] = ()  # about fields that no row has
    absent: frozenset[str] = frozenset()  # names with another meaning if rows that are not read had such a field
    misread: frozenset[str] = frozenset()  # names that must not be used to decide which rows matter

    def sql(self, dialect: str = "duckdb") -> str:
        """Returns the SQL. Raises Refused if the engine cannot return the rows that the query means."""
        try:
            return render(self.query, dialect)
        except RecursionError:
            raise Refused("the query is nested too deeply", hint="compute it in several steps") from None


def compile(
    pipe: ast.Pipe,
    open_source: OpenSource,
    *,
    text: str = "",
    now: int | None = None,
    ordered: bool = True,
    tolerant: bool = False,
) -> Plan:
    """Compiles a query. `text` is the query as it was written, for error positions; `now` is when it began, in
    microseconds since 1970. With `ordered` false, rows need not come in order. With `tolerant`, a field that no row of
    a pool has is missing, and the plan has a warning. Raises QueryError."""
    compiler = _Compiler(open_source, Query(text, now, Names(), tolerant))
    operators = pipe.operators
    load = operators[-1] if operators and isinstance(operators[-1], ast.Load) else None
    rows = compiler.pipe(ast.Pipe(operators[:-1], span=pipe.span) if load is not None else pipe, None)
    final = Picked(rows.relation, compiler.query.names.next(), rows.tests, rows.order)
    row = select_column(rows.this, final.columns)
    query = fill_scans(final.query(list(final.columns), ordered=ordered), compiler.scans)
    check_plan(query)
    return Plan(query, row, tuple(compiler.sources), load, tuple(compiler.query.warnings))


@dataclass
class _Compiler:
    open_source: OpenSource
    query: Query
    sources: list[Source] = field(default_factory=list)
    scans: dict[str, Scan] = field(default_factory=dict)

    def pipe(self, pipe: ast.Pipe, rows: Rows | None) -> Rows:
        operators = list(pipe.operators)
        if operators and isinstance(operators[0], ast.From):
            rows = self._from(operators)
        if rows is None:
            raise query_error(
                self.query, pipe, "the query does not say where its rows come from", "begin it with: from POOL"
            )
        for operator in operators:
            rows = self._operator(operator, rows)
        return rows

    def _from(self, operators: list[ast.Operator]) -> Rows:
        """Opens the sources. Tests that follow immediately are applied to each source, so that each can leave out rows
        that fail them."""
        first = operators.pop(0)
        assert isinstance(first, ast.From)
        arms = [self._scan(source) for source in first.sources]
        while len(arms) > 1 and operators and isinstance(operators[0], ast.Where):
            where = operators.pop(0)
            assert isinstance(where, ast.Where)
            self._check(where, stack_arms(arms, self.query))
            arms = [arm.where(test_of(where.test, self._scope(arm).forgiving())) for arm in arms]
        return stack_arms(arms, self.query)

    def _check(self, where: ast.Where, whole: Rows) -> None:
        """Raises an error for a field that none of the sources has; a field that some of them have is no mistake."""
        test_of(where.test, self._scope(whole))

    def _scan(self, source: ast.Source) -> Rows:
        opened = self.open_source(source)
        self.sources.append(opened)
        scan = Scan(opened, self.query.names.next())
        self.scans[scan.alias] = scan
        this = row_of(scan)
        return Rows(scan, this, key=opened.key, place=row_order.place_of(this, opened.key_parts))

    def _scope(self, rows: Rows) -> Scope:
        return Scope(self.query, rows.this, rows.key)

    def _operator(self, operator: ast.Operator, rows: Rows) -> Rows:
        rows, scope = bind_columns(operator, rows, self._scope(rows))
        match operator:
            case ast.Where(test):
                return rows.where(test_of(test, scope))
            case ast.Cut():
                return replace(rows, this=projection.cut(operator, scope))
            case ast.Put():
                return replace(rows, this=projection.put(operator, scope))
            case ast.Drop():
                return replace(rows, this=projection.drop(operator, scope))
            case ast.Rename():
                return replace(rows, this=projection.rename(operator, scope))
            case ast.Fuse():
                return replace(rows, this=projection.fuse(rows.this))
            case ast.Sort():
                return row_order.sort(operator, rows, scope)
            case ast.Head(count):
                return row_order.head(count, rows, scope)
            case ast.Tail(count):
                return row_order.tail(count, rows, scope)
            case ast.Top():
                return row_order.top(operator, rows, scope)
            case ast.Uniq():
                return row_order.uniq(operator, rows, scope)
            case ast.Sample():
                return row_order.sample(operator, rows, scope)
        return self._new_rows(operator, rows, scope)

    def _new_rows(self, operator: ast.Operator, rows: Rows, scope: Scope) -> Rows:
        match operator:
            case ast.Aggregate():
                return aggregate_rows(operator, rows, scope)
            case ast.Yield(values):
                return yield_rows(values, rows, scope)
            case ast.Over(values):
                return unnest_rows(values, rows, scope)
            case ast.Join():
                return join(operator, rows, self.pipe(operator.other, None), scope)
            case ast.Union(other):
                return stack_arms([rows, self.pipe(other, None)], self.query)
            case ast.Fork():
                return fork(operator, rows, self.query, self.pipe)
            case ast.Switch():
                return switch(operator, rows, scope, self.pipe)
            case ast.Load():
                raise query_error(
                    self.query, operator, "`load` must be the last operator of a query, and cannot be in a branch"
                )
        raise query_error(self.query, operator, "this operator cannot be used here")


def fill_scans(query: exp.Query, scans: Mapping[str, Scan]) -> exp.Query:
    """Puts the rows of the scans in their places. Each source learns what the whole plan needs of it there."""
    places = [each for each in query.find_all(exp.Subquery) if PLACE in each.this.meta]
    needed = needed_rows(query, places)
    for place in places:
        place.set("this", scans[place.alias].read(place.this, needed.get(id(place), ())))
    return query


# ── a test of rows without a query around it ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class RowTest:
    sql: str  # SQL of DuckDB; NULL counts as false
    request: ScanRequest  # the columns that it needs
    alias: str  # the alias of the table that has these


def row_test(source: Source, test: ast.Expr, text: str, now: int) -> RowTest:
    """Compiles a test of rows. `text` is the text of the expression. Raises QueryError."""
    noting = _Noting(source)
    scan = Scan(noting, "tested")
    sql = test_of(test, Scope(Query(text, now, Names()), row_of(scan), source.key))
    scan.rows(columns_of([sql], scan.alias), False, None, ())
    return RowTest(render(exp.Paren(this=sql), "duckdb"), noting.request, scan.alias)


class _Noting:
    """A source that records the request, and is not read."""

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
        self.request = ScanRequest(())

    def select(self, request: ScanRequest) -> exp.Query:
        self.request = request
        return exp.select("1")


# ── the columns of a result ──────────────────────────────────────────────────────────────────────────────────────────


ALWAYS = ""


def select_column(value: Value, columns: dict[str, Sql]) -> Column:
    """Returns the column of the value, and adds the SQL columns that must be selected to `columns`."""
    value = unsplit(errors_as_null(value))
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
    return tuple((name, select_column(record.get(name), columns)) for name in names)


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
