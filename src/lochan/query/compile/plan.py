"""From a pipe to a plan: one SQL query, and how its columns become rows again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlglot import exp

from lochan.errors import Refused
from lochan.query import ast
from lochan.query.compile.bindings import bound
from lochan.query.compile.expressions import test_of
from lochan.query.compile.fields import row_of
from lochan.query.compile.operators import order as row_order
from lochan.query.compile.operators import projection
from lochan.query.compile.operators.branches import fork, join, stacked, switch
from lochan.query.compile.operators.summarize import aggregated
from lochan.query.compile.operators.yield_over import unnested, yielded
from lochan.query.compile.relations import Names, Picked, Scan
from lochan.query.compile.result_columns import shown
from lochan.query.compile.rows import Rows
from lochan.query.compile.scope import Query, Scope, refused
from lochan.query.compile.size import check_plan
from lochan.query.dialects import render
from lochan.query.leaves import Source
from lochan.query.output.columns import Column

OpenSource = Callable[[ast.Source], Source]


@dataclass(frozen=True)
class Plan:
    """`row` says what the columns of the result are. `load` is where the result goes, if the query says so."""

    query: exp.Query
    row: Column
    sources: tuple[Source, ...]
    load: ast.Load | None = None
    warnings: tuple[str, ...] = ()  # of fields that no row has

    def sql(self, dialect: str = "duckdb") -> str:
        """Raises Refused where the engine cannot give the rows that the query means."""
        try:
            return render(self.query, dialect)
        except RecursionError:
            raise Refused("the query is too deep to be written out", hint="compute it in several steps") from None


def compile(
    pipe: ast.Pipe,
    open_source: OpenSource,
    *,
    text: str = "",
    now: int | None = None,
    ordered: bool = True,
    tolerant: bool = False,
) -> Plan:
    """`text` is the query as it was written, to point into; `now` is when it began, in microseconds since 1970; rows
    need not come in order if nobody cares. `tolerant`: a field that no row of a pool has is missing, and the plan has a
    warning. Raises QueryError."""
    compiler = _Compiler(open_source, Query(text, now, Names(), tolerant))
    operators = pipe.operators
    load = operators[-1] if operators and isinstance(operators[-1], ast.Load) else None
    rows = compiler.pipe(ast.Pipe(operators[:-1], span=pipe.span) if load is not None else pipe, None)
    final = Picked(rows.relation, compiler.query.names.next(), rows.tests, rows.order)
    row = shown(rows.this, final.columns)
    query = final.query(list(final.columns), ordered=ordered)
    check_plan(query)
    return Plan(query, row, tuple(compiler.sources), load, tuple(compiler.query.warnings))


@dataclass
class _Compiler:
    open_source: OpenSource
    query: Query
    sources: list[Source] = field(default_factory=list)

    def pipe(self, pipe: ast.Pipe, rows: Rows | None) -> Rows:
        operators = list(pipe.operators)
        if operators and isinstance(operators[0], ast.From):
            rows = self._from(operators)
        if rows is None:
            raise refused(self.query, pipe, "the query says not where its rows come from", "begin it with: from POOL")
        for operator in operators:
            rows = self._operator(operator, rows)
        return rows

    def _from(self, operators: list[ast.Operator]) -> Rows:
        """Tests that follow at once go to each source by itself, so that each leaves out what fails them."""
        first = operators.pop(0)
        assert isinstance(first, ast.From)
        arms = [self._scan(source) for source in first.sources]
        while len(arms) > 1 and operators and isinstance(operators[0], ast.Where):
            where = operators.pop(0)
            assert isinstance(where, ast.Where)
            self._check(where, stacked(arms, self.query))
            arms = [arm.where(test_of(where.test, self._scope(arm).forgiving())) for arm in arms]
        return stacked(arms, self.query)

    def _check(self, where: ast.Where, whole: Rows) -> None:
        """A field that none of the sources has is a mistake; one that some have is not."""
        test_of(where.test, self._scope(whole))

    def _scan(self, source: ast.Source) -> Rows:
        opened = self.open_source(source)
        self.sources.append(opened)
        scan = Scan(opened, self.query.names.next())
        this = row_of(scan)
        return Rows(scan, this, key=opened.key, place=row_order.place_of(this, opened.key_parts))

    def _scope(self, rows: Rows) -> Scope:
        return Scope(self.query, rows.this, rows.key)

    def _operator(self, operator: ast.Operator, rows: Rows) -> Rows:
        rows, scope = bound(operator, rows, self._scope(rows))
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
                return aggregated(operator, rows, scope)
            case ast.Yield(values):
                return yielded(values, rows, scope)
            case ast.Over(values):
                return unnested(values, rows, scope)
            case ast.Join():
                return join(operator, rows, self.pipe(operator.other, None), scope)
            case ast.Union(other):
                return stacked([rows, self.pipe(other, None)], self.query)
            case ast.Fork():
                return fork(operator, rows, self.query, self.pipe)
            case ast.Switch():
                return switch(operator, rows, scope, self.pipe)
            case ast.Load():
                raise refused(
                    self.query, operator, "`load` ends a query: nothing can follow it, and it stands in no branch"
                )
        raise refused(self.query, operator, "this operator cannot stand here")
