"""Finds which rows of its scans a plan needs, so that objects without such rows are never opened.

A test outside a query can be applied to the tables in it too, if the rows that fail it have no effect on the others:

    SELECT c0 FROM (SELECT t1.a AS c0, t1.k AS c1 FROM <scan> t1) t2 WHERE t2.c1 > 5        t1.k > 5

This reads a finished plan, in which every alias is unique and every name is resolved. It does not change the plan: the
engine still carries out every test, and the tests found here only choose objects. A test is not moved through anything
that depends on rows that fail it: a LIMIT, an aggregate, a window, a row number, and the side of an outer join that may
have no row. Tests of columns that all rows of a group or window share are moved through these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from lochan.query.compile.logic import all_of, any_of
from lochan.query.compile.sql import Sql
from lochan.query.dialects.neutral import AGGREGATES, Neutral

ROW_NUMBER = "row_number"
_NODES_MAX = 500  # of the tests of one query that is named by WITH: each use repeats the tests around it

Tests = list[Sql]


def needed_rows(query: exp.Query, scans: Iterable[exp.Subquery]) -> dict[int, Tests]:
    """Returns, by the id of each scan, tests over its columns that all rows that matter pass. A scan without known
    tests has no entry."""
    plan = _Plan({id(each) for each in scans})
    plan.read(query)
    return plan.found


@dataclass
class _Plan:
    scans: set[int]
    found: dict[int, Tests] = field(default_factory=dict)
    uses: dict[str, list[Tests]] = field(default_factory=dict)  # the uses of a WITH, each with its tests

    def read(self, query: exp.Query) -> None:
        with_ = query.args.get("with_")
        named: Sequence[exp.CTE] = () if with_ is None else with_.expressions
        in_all: dict[str, int] = {}
        for table in query.find_all(exp.Table):
            in_all[table.name] = in_all.get(table.name, 0) + 1
        self._query(query, [])
        for each in reversed(named):  # each query sees only those before it
            uses = self.uses.get(each.alias, [])
            all_seen = len(uses) == in_all.get(each.alias, 0)
            self._query(each.this, _any_of(uses) if all_seen else [])

    def _query(self, query: exp.Expr, tests: Tests) -> None:
        """Reads a query. `tests` use the names of its columns."""
        if _is_cut(query):
            tests = []
        if isinstance(query, exp.Subquery):
            self._query(query.this, tests)
        elif isinstance(query, exp.SetOperation):
            names = _names(query)
            for side in (query.this, query.expression):
                self._query(side, _by_place(tests, names, _names(side)))
        elif isinstance(query, exp.Select):
            self._select(query, tests)

    def _select(self, select: exp.Select, tests: Tests) -> None:
        joins: Sequence[exp.Join] = select.args.get("joins") or []
        start = select.args.get("from_")
        places = [] if start is None else [start.this, *(join.this for join in joins)]
        of_rows = [*_parts(select.args.get("where")), *_input_tests(select, tests)]
        for at, place in enumerate(places):
            alias = place.alias_or_name
            own_tests = [test for test in _of_place(at, joins, of_rows) if _is_about(test, alias)]
            self._place(place, [_bare_columns(test) for test in own_tests])
        for each in _queries_in_expressions(select):
            self._query(each, [])

    def _place(self, place: exp.Expr, tests: Tests) -> None:
        if isinstance(place, exp.Table):
            self.uses.setdefault(place.name, []).append(tests)
        elif id(place) in self.scans:
            if tests:
                self.found[id(place)] = tests
        elif isinstance(place, exp.Subquery):
            self._query(place, tests)


def _any_of(uses: Sequence[Tests]) -> Tests:
    """Returns the rows that at least one of the uses needs."""
    if not uses or not all(uses):
        return []
    if len(uses) == 1:
        return uses[0]
    test = any_of([all_of(each) for each in uses])
    return [test] if sum(1 for _ in test.walk()) <= _NODES_MAX else []


# ── a SELECT ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _is_cut(query: exp.Expr) -> bool:
    return any(query.args.get(key) is not None for key in ("limit", "offset", "qualify"))


def _input_tests(select: exp.Select, tests: Tests) -> Tests:
    """Selects the tests, over the result and in HAVING, that can be applied to the input rows of the query."""
    made = [*select.expressions, *_clause(select, "having"), *_clause(select, "order")]
    group = select.args.get("group")
    in_common: list[Sql] | None = None  # columns that all rows which affect each other share; None if no rows do
    if group is not None:
        in_common = [each for each in group.expressions if isinstance(each, exp.Column)]
    elif select.args.get("having") is not None or any(
        _is_aggregate(each) for node in made for each in _own_nodes(node)
    ):
        in_common = []
    for part in _partitions(made):
        in_common = [each for each in part if in_common is None or each in in_common]
    found = _rename_columns(tests, {each.alias_or_name: each.unalias() for each in select.expressions}, in_common)
    if group is not None:
        found += [part for part in _parts(select.args.get("having")) if _is_of(part, group.expressions)]
    return found


def _partitions(made: Iterable[exp.Expr]) -> Iterator[list[Sql]]:
    """Yields the columns by which each window is partitioned."""
    for node in (each for whole in made for each in _own_nodes(whole)):
        if isinstance(node, exp.Window):
            yield [each for each in node.args.get("partition_by") or [] if isinstance(each, exp.Column)]
        elif isinstance(node, Neutral) and node.this == ROW_NUMBER:
            yield []


def _clause(select: exp.Select, clause: str) -> list[exp.Expr]:
    found = select.args.get(clause)
    return [] if found is None else [found]


def _is_aggregate(node: exp.Expr) -> bool:
    """Returns whether the node is an aggregate, except inside a window, which defines its own rows."""
    made_of_many = isinstance(node, exp.AggFunc) or (isinstance(node, Neutral) and node.this in AGGREGATES)
    return made_of_many and not isinstance(node.find_ancestor(exp.Window, exp.Query), exp.Window)


def _own_nodes(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yields all nodes inside it, but not those of nested queries."""
    return node.walk(prune=lambda each: isinstance(each, exp.Query))


def _is_of(test: Sql, groups: Sequence[Sql]) -> bool:
    """Returns whether the test uses only these columns."""
    columns = list(test.find_all(exp.Column))
    pure = not any(_is_aggregate(each) or isinstance(each, exp.Query) for each in test.walk())
    return bool(columns) and pure and all(each in groups for each in columns)


def _parts(test: exp.Expr | None) -> Tests:
    """Returns the tests that AND joins."""
    if isinstance(test, exp.Where | exp.Having | exp.Paren):
        return _parts(test.this)
    if isinstance(test, exp.And):
        return [part for side in test.flatten() for part in _parts(side)]
    return [] if test is None else [test]


def _queries_in_expressions(select: exp.Select) -> Iterator[exp.Query]:
    joins = select.args.get("joins") or []
    made = [each for key in ("where", "group", "having", "order") for each in _clause(select, key)]
    made += [*select.expressions, *(on for join in joins if (on := join.args.get("on")) is not None)]
    for node in made:
        yield from (each for each in _own_nodes(node) if isinstance(each, exp.Query))


# ── joins ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_place(at: int, joins: Sequence[exp.Join], of_rows: Tests) -> Iterator[Sql]:
    """Yields the tests that a row of a table must pass to be in a pair that matters: those over the pairs, unless a
    join may have pairs without a row of the table, and those of the joins it is in. 0 is the table before the first
    join."""
    may_lack = False  # whether a pair may have no row of this table
    for number, join in enumerate(joins, 1):
        kind, on = _kind(join), _parts(join.args.get("on"))
        if number == at:
            yield from on if kind in ("INNER", "LEFT", "SEMI", "ANTI") else ()
            may_lack = kind in ("LEFT", "FULL")
        elif number > at:
            yield from on if kind in ("INNER", "RIGHT", "SEMI") and not may_lack else ()
            may_lack = may_lack or kind in ("RIGHT", "FULL")
    if not may_lack:
        yield from of_rows


def _kind(join: exp.Join) -> str:
    kind, side = str(join.args.get("kind") or "").upper(), str(join.args.get("side") or "").upper()
    if kind in ("SEMI", "ANTI"):
        return kind
    return side or "INNER"


def _is_about(test: Sql, alias: str) -> bool:
    """Returns whether the test uses only columns of this table."""
    columns = list(test.find_all(exp.Column))
    return bool(columns) and all(each.table == alias for each in columns)


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _bare_columns(test: Sql) -> Sql:
    return _replace_columns(test, lambda column: exp.column(column.name, quoted=True))


def _rename_columns(tests: Tests, made: Mapping[str, Sql], in_common: list[Sql] | None) -> Tests:
    """Returns the tests in terms of the columns' definitions; if `in_common` is given, only those whose columns are all
    in it."""
    found: Tests = []
    for test in tests:
        names = [each.name for each in test.find_all(exp.Column)]
        values = [made[name] for name in names if name in made]
        if len(values) < len(names) or any(_is_of_several_rows(value) for value in values):
            continue
        if in_common is None or all(value in in_common for value in values):
            found.append(_replace_columns(test, lambda column: made[column.name].copy()))
    return found


def _is_of_several_rows(value: Sql) -> bool:
    return any(isinstance(each, exp.Query | exp.Window) or _is_aggregate(each) for each in value.walk())


def _replace_columns(test: Sql, value: Callable[[exp.Column], Sql]) -> Sql:
    return test.copy().transform(lambda node: value(node) if isinstance(node, exp.Column) else node, copy=False)


def _by_place(tests: Tests, given: Sequence[str], own: Sequence[str]) -> Tests:
    """Returns the tests with the names of the other side: sides of a UNION have columns at the same places."""
    if not tests or len(given) != len(own) or len(set(given)) < len(given) or len(set(own)) < len(own):
        return []
    names = dict(zip(given, own, strict=True))
    usable = [test for test in tests if all(each.name in names for each in test.find_all(exp.Column))]
    return [_replace_columns(test, lambda column: exp.column(names[column.name], quoted=True)) for test in usable]


def _names(query: exp.Expr) -> list[str]:
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    return [each.alias_or_name for each in query.expressions]
