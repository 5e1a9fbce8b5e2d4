"""Removes columns that are not used from the queries within a plan: `select a from (select * from logs)` reads only
`a`, and computes no other value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from lochan.query.compile.sql import Sql
from lochan.query.dialects.neutral import AGGREGATES, Neutral

Wanted = set[str] | None  # names of columns; None for all

_OWN = ("where", "group", "having", "qualify", "order")


def with_used_columns(query: exp.Query) -> exp.Query:
    """Returns the same query, trimmed in place. Its own columns all stay."""
    uses: dict[str, int] = {}
    for table in query.find_all(exp.Table):
        uses[table.name] = uses.get(table.name, 0) + 1
    plan = _Plan(uses)
    plan.read(query)
    return query


@dataclass
class _Plan:
    in_all: dict[str, int]  # the number of uses of each name of a WITH
    seen: dict[str, list[Wanted]] = field(default_factory=dict)

    def read(self, query: exp.Query) -> None:
        self._query(query, None)
        with_ = query.args.get("with_")
        for each in reversed([] if with_ is None else with_.expressions):  # each query sees only those before it
            self._query(each.this, self._of_name(each.alias))

    def _of_name(self, name: str) -> Wanted:
        uses = self.seen.get(name, [])
        if len(uses) < self.in_all.get(name, 0):
            return None
        limited = [each for each in uses if each is not None]
        return set().union(*limited) if len(limited) == len(uses) else None

    def _query(self, query: exp.Expr, wanted: Wanted) -> None:
        if isinstance(query, exp.Subquery):
            self._query(query.this, wanted)
        elif isinstance(query, exp.SetOperation):
            sides = (query.this, query.expression)
            places = _places(query, wanted)
            for side in sides:
                named = None if places is None else {side.expressions[at].alias_or_name for at in places}
                self._query(side, named)
        elif isinstance(query, exp.Select):
            if wanted is not None:
                _trim(query, wanted)
            self._trim_inside(query)

    def _trim_inside(self, select: exp.Select) -> None:
        joins: Sequence[exp.Join] = select.args.get("joins") or []
        start = select.args.get("from_")
        parts: list[exp.Expr] = [*select.expressions]
        parts += [each for key in _OWN if (each := select.args.get(key)) is not None]
        parts += [on for join in joins if (on := join.args.get("on")) is not None]
        columns = [each for part in parts for each in part.find_all(exp.Column)]
        for place in [] if start is None else [start.this, *(join.this for join in joins)]:
            wanted = {each.name for each in columns if each.table in ("", place.alias_or_name)}
            if isinstance(place, exp.Table):
                self.seen.setdefault(place.name, []).append(wanted)
            else:
                self._query(place, wanted)
        for part in parts:
            for each in _queries(part):
                self._query(each, set() if isinstance(each.parent, exp.Exists) else None)


def _queries(part: exp.Expr) -> Iterator[exp.Expr]:
    return (each for each in part.walk(prune=_is_query) if _is_query(each))


def _is_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.Query)


def _places(query: exp.SetOperation, wanted: Wanted) -> list[int] | None:
    """Returns the positions of the wanted columns, if both sides can do without the others."""
    sides = (query.this, query.expression)
    if wanted is None or query.args.get("distinct") is not False or type(query) is not exp.Union:
        return None
    if query.args.get("order") is not None or not all(isinstance(each, exp.Select) for each in sides):
        return None
    if len(sides[0].expressions) != len(sides[1].expressions) or any(_is_bound(each) for each in sides):
        return None
    return [at for at, each in enumerate(sides[0].expressions) if each.alias_or_name in wanted]


def _is_bound(select: exp.Select) -> bool:
    """Returns whether some of its columns must stay."""
    clauses = ("distinct", "order", "group", "having", "qualify")
    return any(select.args.get(key) is not None for key in clauses) or any(_stays(each) for each in select.expressions)


def _trim(select: exp.Select, wanted: set[str]) -> None:
    if select.args.get("distinct") is not None:
        return
    order = select.args.get("order")
    ordered = set() if order is None else {each.name for each in order.find_all(exp.Column) if not each.table}
    kept = [each for each in select.expressions if each.alias_or_name in wanted | ordered]
    grouped = select.args.get("group") is not None
    bound = None if grouped else next((each for each in select.expressions if _stays(each)), None)
    if bound is not None and not any(_stays(each) for each in kept):
        kept.append(bound)
    if len(kept) < len(select.expressions):
        select.set("expressions", kept or [exp.Literal.number(1).as_("_", quoted=True)])


def _stays(item: Sql) -> bool:
    """Returns whether the item has an aggregate. One of these must stay, because without an aggregate the query would
    return other rows."""
    return any(
        isinstance(each, exp.AggFunc) or (isinstance(each, Neutral) and each.this in AGGREGATES)
        for each in item.walk(prune=_is_query)
    )
