"""Compiles SELECT, clause by clause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from lochan.pools.kinds import DECIMAL, NULL
from lochan.query.compile.decimals import from_text
from lochan.query.compile.relations import total_order
from lochan.query.compile.sql import TRUE, Sql, is_constant, number, op
from lochan.query.compile.value import Record, Value
from lochan.query.dialects.neutral import Neutral
from lochan.query.errors import did_you_mean
from lochan.query.sql.aggregates import AGGREGATES
from lochan.query.sql.expressions import test_of, value_of
from lochan.query.sql.scope import Made, SqlScope, SqlTable
from lochan.query.sql.tables import Opener, Tables
from lochan.query.sql.windows import is_aggregate, order_of

# ── columns ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class SelectColumns:
    """The columns that a query returns: a value needs as many of them as it has kinds and members. Constants are
    columns too: after an outer join they can be NULL."""

    made: dict[str, Sql] = field(default_factory=dict)

    def add(self, sql: Sql) -> Sql:
        for name, each in self.made.items():
            if each == sql:
                return exp.column(name, quoted=True)
        name = f"c{len(self.made)}"
        self.made[name] = sql
        return exp.column(name, quoted=True)

    def value(self, value: Value) -> Value:
        """Returns the value in terms of these columns."""
        alts = {kind: self.add(sql) for kind, sql in value.alts.items()}
        format = value.format
        if format is not None and format.number is not None:
            format = replace(format, number=self.add(format.number))
        record = self._record(value.record) if value.record is not None and "object" in alts else None
        original = None if value.original is None else self.add(value.original)
        exact = value.exact and from_text(alts[DECIMAL], value.exact.digits)
        return replace(
            value,
            alts=alts,
            record=record,
            format=format,
            original=original,
            exact=exact,
            nothing=value.nothing and NULL,
            constant=None,
        )

    def _record(self, record: Record) -> Record:
        members = {name: self._member(each) for name, each in record.items()}
        order = record.order
        if order is not None:
            order = replace(order, number=self.add(order.number))
        return Record(members, members.__getitem__, order)

    def _member(self, value: Value) -> Value:
        """Returns the value of an object's member, which can still be present, missing or null."""
        return replace(self.value(value), nothing=value.nothing)

    def select(self) -> list[exp.Expr]:
        shown: list[exp.Expr] = [sql.copy().as_(name, quoted=True) for name, sql in self.made.items()]
        return shown or [exp.Literal.number(1).as_("_", quoted=True)]


def leaves(value: Value) -> list[Sql]:
    """Returns all expressions that a value is made of, by which it is grouped."""
    found = list(value.alts.values())
    if value.original is not None:
        found.append(value.original)
    if value.exact is not None:
        found.append(value.exact.sql)
    if value.record is not None and "object" in value.alts:
        for _, each in value.record.items():
            found += leaves(each)
    return found


Item = tuple[str, Value, exp.Expr]


def compile_select(node: exp.Select, opener: Opener, scope: SqlScope) -> Made:
    return _Select(node, opener, scope).made()


@dataclass
class _Select:
    node: exp.Select
    opener: Opener
    scope: SqlScope

    def made(self) -> Made:
        tables = Tables(self.scope, self.opener)
        tables.read(self.node)
        by_value = any(self.node.args.get(clause) is not None for clause in ("group", "distinct"))
        aliases = frozenset(each.alias for each in self.node.expressions if isinstance(each, exp.Alias))
        seen = replace(self.scope, tables=tuple(tables.found), merged=tables.merged)
        scope = replace(seen, by_value=by_value, aliases=aliases)
        where = self._test("where", scope)
        inside = replace(scope, aggregates=True, windows=True)
        items = self._items(inside)
        named = {name: value for name, value, node in items if isinstance(node, exp.Alias)}
        inside = replace(inside, named=named)
        keys = self._keys(items, replace(scope, named=named, groups=True))
        having = self._test("having", replace(inside, windows=False, groups=True))
        qualify = self._test("qualify", inside)
        order = order_of(self.node.args.get("order"), lambda each: self._order_key(each.this, items, inside))
        grouped = bool(keys) or scope.seen.aggregates > 0 or having is not None
        if grouped:
            self._check_grouped(items, keys, order, having, tables.found)
        columns = SelectColumns()
        values = [(name, columns.value(value)) for name, value, _ in items]
        query = self._query(columns, tables, where)
        if grouped:
            _group(query, keys, having)
        if qualify is not None:
            query, order = self._qualify(query, columns, order, qualify)
        if self.node.args.get("distinct") is not None:
            again = lambda each: self._result_column(each.this, items, values, inside)  # noqa: E731
            query, order = self._make_distinct(query, order_of(self.node.args.get("order"), again))
        if order:
            shown = {each.alias: each.this for each in query.expressions}
            query.set("order", exp.Order(expressions=[each.copy() for each in total_order(order, shown)]))
        limit(query, self.node, self.scope)
        return Made(query, tuple(values))

    def _test(self, clause: str, scope: SqlScope) -> Sql | None:
        found = self.node.args.get(clause)
        return None if found is None else test_of(found.this, scope)

    # ── the select list ──

    def _items(self, scope: SqlScope) -> list[Item]:
        items: list[Item] = []
        used: set[str] = set()
        for node in self.node.expressions:
            for name, value in self._item(node, scope):
                free, count = name, 0
                while free in used:
                    count += 1
                    free = f"{name}_{count}"
                used.add(free)
                items.append((free, value, node))
        return items

    def _item(self, node: exp.Expr, scope: SqlScope) -> list[tuple[str, Value]]:
        if isinstance(node, exp.Star):
            return self._all(node, scope.tables, scope)
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            tables = [each for each in scope.tables if each.name == node.table]
            if not tables:
                raise scope.refused(node, f"there is no table `{node.table}` here")
            return self._all(node.this, tables, scope)
        value = value_of(node.this if isinstance(node, exp.Alias) else node, scope)
        return [(_column_name(node, scope), value)]

    def _all(self, star: exp.Star, tables: Sequence[SqlTable], scope: SqlScope) -> list[tuple[str, Value]]:
        if star.args.get("replace") or star.args.get("rename"):
            raise scope.refused(star, "a star is supported with EXCLUDE only")
        if not tables:
            raise scope.refused(star, "there is no table for `*`")
        without = {each.name for each in star.args.get("except_") or []}
        found: list[tuple[str, Value]] = []
        for table in tables:
            if table.record.body is not None:
                raise scope.refused(star, f"rows of `{table.name}` have too many fields for `*`", "name the columns")
            for name in table.record.names:
                value = scope.merged.get(name) if len(tables) > 1 else None
                if value is not None and any(name == each for each, _ in found):
                    continue
                value = value if value is not None else table.get(name)
                assert value is not None
                found.append((name, scope.plain(value)))
        unknown = without - {name for name, _ in found}
        if unknown:
            name = unknown.pop()
            raise scope.refused(star, f"unknown column `{name}`{did_you_mean(name, [each for each, _ in found])}")
        return [(name, value) for name, value in found if name not in without]

    # ── groups ──

    def _keys(self, items: list[Item], scope: SqlScope) -> list[Value]:
        group = self.node.args.get("group")
        if group is None:
            return []
        if group.args.get("all"):
            return [value for _, value, _ in items if not _aggregates(value)]
        extra = [key for key, value in group.args.items() if value and key not in ("expressions", "all")]
        if extra:
            raise scope.refused(group, f"`{extra[0]}` is not supported in GROUP BY")
        keys = [self._key(each, items, scope) for each in group.expressions]
        for node, key in zip(group.expressions, keys, strict=True):
            if _aggregates(key) or any(sql.find(exp.Window) for sql in leaves(key)):
                raise scope.refused(node, "GROUP BY cannot use an aggregate or a window")
        return keys

    def _key(self, node: exp.Expr, items: list[Item], scope: SqlScope) -> Value:
        """Returns the value of a key. A number stands for a column of the select list."""
        if isinstance(node, exp.Literal) and node.is_int:
            at = int(node.this)
            if not 1 <= at <= len(items):
                raise scope.refused(node, f"there is no column {at}", f"the select list has {len(items)}")
            return items[at - 1][1]
        return value_of(node, scope)

    def _order_key(self, node: exp.Expr, items: list[Item], scope: SqlScope) -> Value:
        """Returns the value of an order key. A single name refers to the select list first, and then to a field."""
        if isinstance(node, exp.Column) and len(node.parts) == 1 and node.name in scope.named:
            return scope.named[node.name]
        return self._key(node, items, scope)

    def _check_grouped(
        self, items: list[Item], keys: list[Value], order: list[exp.Ordered], having: Sql | None, tables: list[SqlTable]
    ) -> None:
        """Raises an error for columns that are neither keys nor aggregates. Engines have errors of their own for that,
        without the place."""
        grouped = {sql for key in keys for sql in leaves(key)}
        local = {table.alias for table in tables}
        for name, value, node in items:
            if any(_is_loose(sql, grouped, local) for sql in leaves(value)):
                message = f"`{name}` is neither in GROUP BY nor in an aggregate"
                raise self.scope.refused(node, message, "add it to GROUP BY, or use any_value")
        for each in [*(key.this for key in order), *([having] if having is not None else [])]:
            if _is_loose(each, grouped, local):
                clause = self.node.args.get("having") if each is having else self.node.args.get("order")
                message = "a column here is neither in GROUP BY nor in an aggregate"
                raise self.scope.refused(clause or self.node, message)

    # ── the query ──

    def _query(self, columns: SelectColumns, tables: Tables, where: Sql | None) -> exp.Select:
        query = exp.select(*columns.select(), copy=False)
        if tables.first is not None:
            query = query.from_(tables.first, copy=False)
        for join in tables.joins:
            query = query.join(join, copy=False)
        if where is not None and where != TRUE:
            query.set("where", exp.Where(this=where.copy()))
        return query

    def _qualify(
        self, query: exp.Select, columns: SelectColumns, order: list[exp.Ordered], qualify: Sql
    ) -> tuple[exp.Select, list[exp.Ordered]]:
        """Wraps the query in one that filters rows by a column that it does not show, and that may be ordered."""
        shown = list(columns.made)
        order = [_order_term(each, columns) for each in order]
        test = columns.add(qualify)
        query.set("expressions", columns.select())
        return self._wrap_select(query, shown, test), order

    def _make_distinct(self, query: exp.Select, order: list[exp.Ordered]) -> tuple[exp.Select, list[exp.Ordered]]:
        distinct = self.node.args["distinct"]
        if distinct.args.get("on") is not None:
            raise self.scope.refused(distinct, "DISTINCT ON is not supported", "use QUALIFY row_number() OVER (…) = 1")
        query.set("distinct", exp.Distinct())
        return (self._wrap_select(query, [each.alias for each in query.expressions], None) if order else query), order

    def _result_column(
        self, node: exp.Expr, items: list[Item], values: list[tuple[str, Value]], scope: SqlScope
    ) -> Value:
        """Returns a column of the select list as one of the result; other fields of the rows are no longer
        available."""
        key = self._order_key(node, items, scope)
        for (_, value, _), (_, shown) in zip(items, values, strict=True):
            if value.alts == key.alts:
                return shown
        raise scope.refused(node, "with DISTINCT, rows can only be ordered by selected columns", "select it too")

    def _wrap_select(self, query: exp.Select, shown: list[str], test: Sql | None) -> exp.Select:
        alias = self.scope.query.names.next()
        outer = exp.select(*(exp.column(name, alias, quoted=True).as_(name, quoted=True) for name in shown or ["_"]))
        outer = outer.from_(query.subquery(alias, copy=False), copy=False)
        if test is not None:
            outer.set("where", exp.Where(this=test.copy()))
        return outer


def limit(query: exp.Query, node: exp.Query, scope: SqlScope) -> None:
    for key, kind in (("limit", exp.Limit), ("offset", exp.Offset)):
        found = node.args.get(key)
        if found is None:
            continue
        if not isinstance(found, kind) or not isinstance(found.expression, exp.Literal) or not found.expression.is_int:
            raise scope.refused(found, f"{key.upper()} takes a whole number")
        query.set(key, kind(expression=found.expression.copy()))


def _group(query: exp.Select, keys: list[Value], having: Sql | None) -> None:
    columns = [sql for sql in dict.fromkeys(sql for key in keys for sql in leaves(key)) if not is_constant(sql)]
    if columns:
        query.set("group", exp.Group(expressions=[sql.copy() for sql in columns]))
    elif keys or not any(is_aggregate(each) for each in query.find_all(exp.AggFunc, Neutral)):
        # If only constants are left, it is still a query of groups, or of one group.
        some = op(exp.GT, exp.Count(this=exp.Star()), number(0 if keys else -1))
        having = some if having is None else exp.and_(some, having)
    if having is not None:
        query.set("having", exp.Having(this=having.copy()))


def _order_term(key: exp.Ordered, columns: SelectColumns) -> exp.Ordered:
    return exp.Ordered(this=columns.add(key.this), desc=key.args.get("desc"), nulls_first=key.args.get("nulls_first"))


def _is_loose(sql: Sql, grouped: set[Sql], local: set[str]) -> bool:
    """Returns whether a column of this query's tables is used that is neither a key nor inside an aggregate."""
    if sql in grouped or is_aggregate(sql):
        return False
    if isinstance(sql, exp.Window):
        # A window function is over the groups, so its arguments must be keys or aggregates.
        parts = [each for each in sql.iter_expressions() if each is not sql.this]
        return any(_is_loose(each, grouped, local) for each in [*sql.this.iter_expressions(), *parts])
    if isinstance(sql, exp.Column):
        return sql.table in local
    return any(_is_loose(each, grouped, local) for each in sql.iter_expressions())


def _aggregates(value: Value) -> bool:
    return any(is_aggregate(each) for sql in leaves(value) for each in sql.walk())


def _column_name(node: exp.Expr, scope: SqlScope) -> str:
    """Returns the name of a column without an alias: the field's, or the function's as it was written."""
    if isinstance(node, exp.Alias):
        return node.alias
    while isinstance(node, exp.Paren | exp.Filter | exp.Window | exp.WithinGroup | exp.IgnoreNulls | exp.Cast):
        node = node.this
    if isinstance(node, exp.Column | exp.Dot):
        return node.name
    if not isinstance(node, exp.Func) or isinstance(node, exp.Binary | exp.Case | exp.If):
        return "value"
    if "start" in node.meta:
        return scope.text.quoted[node.meta["start"] : node.meta["end"] + 1].lower()
    return AGGREGATES[type(node)][0] if type(node) in AGGREGATES else node.sql_name().lower()
