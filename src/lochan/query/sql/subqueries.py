"""Queries within expressions: one value, EXISTS, IN."""

from __future__ import annotations

from sqlglot import exp

from lochan.pools.kinds import DECIMAL, EVERY_NUMBER, FLOAT, INT, JSON, NULL, SIMPLE
from lochan.query.compile.decimals import from_text
from lochan.query.compile.logic import all_of, any_of, case, eq, is_null, negate, surely
from lochan.query.compile.numbers import number_text
from lochan.query.compile.sql import FALSE, TRUE, Sql, cast, try_cast
from lochan.query.compile.value import Value, has_value
from lochan.query.dialects.neutral import neutral
from lochan.query.sql.expressions import value_of
from lochan.query.sql.scope import Made, SqlScope


def scalar(node: exp.Expr, scope: SqlScope) -> Value:
    """Compiles a subquery to a value, with a query for each kind that its one column may have."""
    made = scope.maker.made(node, scope)
    value = _one_column(node, made, scope)
    alts: dict[str, Sql] = {kind: exp.Subquery(this=only(made, sql.name, scope)) for kind, sql in value.alts.items()}
    if _is_correlated(made.query, scope):
        # Spark's optimiser fails on these where the rows come from a UNION, so it has no form for them.
        alts = {kind: neutral("value of a query that depends on the row", sql) for kind, sql in alts.items()}
    exact = value.exact and from_text(alts[DECIMAL], value.exact.digits)
    return Value(alts, NULL, value.element, exact=exact)


def exists(node: exp.Exists, scope: SqlScope) -> Sql:
    made = scope.maker.made(node.this, scope)
    return exp.Exists(this=made.query)


def among(node: exp.In, scope: SqlScope) -> Sql:
    value = value_of(node.this, scope)
    made = scope.maker.made(node.args["query"], scope)
    other = _one_column(node, made, scope)
    single = len(value.alts) == 1 and len(other.alts) == 1
    tests: list[Sql] = []
    for kind, sql in value.alts.items():
        for theirs, column in other.alts.items():
            if kind == theirs or {kind, theirs} <= set(EVERY_NUMBER):
                mine = sql.copy()
                query = only(made, column.name, scope, filled=not single)
                if DECIMAL in (kind, theirs):
                    mine = neutral("number_key", number_text(kind, mine))
                    query = _keys(query, column.name, theirs, scope)
                elif (kind, theirs) == (INT, FLOAT):
                    query = _whole(query, column.name, scope)
                elif (kind, theirs) == (FLOAT, INT):
                    tests.append(
                        all_of([_is_whole(sql), exp.In(this=try_cast(sql, INT), query=exp.Subquery(this=query))])
                    )
                    continue
                tests.append(exp.In(this=mine, query=exp.Subquery(this=query)))
    found = any_of(tests) if tests else FALSE
    if single:
        return found
    nothing = exp.Cast(this=exp.Null(), to=exp.DataType.build("boolean"))
    unknown = any_of([negate(has_value(value)), exp.Exists(this=_null_rows(made, other, scope))])
    return case((surely(found), TRUE), (unknown, nothing), other=FALSE)


def _keys(query: exp.Query, column: str, kind: str, scope: SqlScope) -> exp.Query:
    """Converts a query of numbers to one of keys, which are equal where the numbers are."""
    alias = scope.query.names.next()
    text = number_text(kind, exp.column(column, alias, quoted=True))
    key = neutral("number_key", text).as_(column, quoted=True)
    return exp.select(key).from_(query.subquery(alias))


def _whole(query: exp.Query, column: str, scope: SqlScope) -> exp.Query:
    """Converts a query of floats to one of ints, without values that are not whole: as floats, ints would be
    rounded."""
    alias = scope.query.names.next()
    real = exp.column(column, alias, quoted=True)
    chosen = any_of([is_null(real), _is_whole(real)])
    return exp.select(try_cast(real, INT).as_(column, quoted=True)).from_(query.subquery(alias)).where(chosen)


def _is_whole(real: Sql) -> Sql:
    return eq(cast(try_cast(real, INT), FLOAT), real)


def only(made: Made, column: str, scope: SqlScope, *, filled: bool = False) -> exp.Query:
    """Returns a query for one of its columns. With `filled`, it leaves out NULL."""
    query = made.query.copy()
    simple = isinstance(query, exp.Select) and not query.args.get("distinct") and not filled
    if simple:
        kept = [each for each in query.expressions if each.alias == column]
        query.set("expressions", kept)
        return query
    alias = scope.query.names.next()
    name = exp.column(column, alias, quoted=True)
    found = exp.select(name).from_(query.subquery(alias, copy=False), copy=False)
    return found.where(exp.Not(this=exp.Is(this=name.copy(), expression=exp.Null()))) if filled else found


def _is_correlated(query: exp.Query, scope: SqlScope) -> bool:
    around: SqlScope | None = scope
    aliases: set[str] = set()
    while around is not None:
        aliases |= {table.alias for table in around.tables}
        around = around.outer
    return any(column.table in aliases for column in query.find_all(exp.Column))


def _null_rows(made: Made, column: Value, scope: SqlScope) -> exp.Query:
    """Returns a query for the rows whose column is NULL."""
    alias = scope.query.names.next()
    names = [exp.column(sql.name, alias, quoted=True) for sql in column.alts.values()]
    found = exp.select(exp.Literal.number(1)).from_(made.query.copy().subquery(alias, copy=False), copy=False)
    found.set("where", exp.Where(this=all_of(is_null(name) for name in names).copy()))
    return found


def _one_column(node: exp.Expr, made: Made, scope: SqlScope) -> Value:
    if len(made.columns) != 1:
        raise scope.refused(node, f"this query has {len(made.columns)} columns and must have one")
    value = made.columns[0][1]
    texts = DECIMAL in value.alts and JSON in value.alts  # some of the field's numbers are text
    if not set(value.alts) <= {*SIMPLE, "error", *((JSON,) if texts else ())}:
        raise scope.refused(node, "the column is a record or an array", "take a field of it")
    alts = {kind: value.alts[kind] for kind in value.alts if kind not in ("error", JSON)}
    return Value(alts, NULL, exact=value.exact)
