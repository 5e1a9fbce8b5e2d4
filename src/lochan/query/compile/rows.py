"""The rows between two operators: a relation, what a row is in terms of its columns, and what is still to be done.

Filters and orders wait here; they become SQL when an operator needs new rows (`sealed`), or at the end. So many
operators in a row are still one SELECT.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from lochan.pools.shape import Path
from lochan.query.compile.relations import Names, Picked, Relation
from lochan.query.compile.sql import Sql
from lochan.query.compile.value import Value, mapped
from lochan.query.dialects.neutral import neutral


@dataclass(frozen=True)
class Rows:
    relation: Relation
    this: Value
    tests: tuple[Sql, ...] = ()
    order: tuple[exp.Ordered, ...] = ()  # none: that of the relation
    key: Path | None = None  # the first field of the pool's key, as long as rows are the pool's
    place: tuple[exp.Ordered, ...] = ()  # by all of that key: what a sort finds equal stays in this order

    def where(self, test: Sql) -> Rows:
        return replace(self, tests=(*self.tests, test))


def sealed(rows: Rows, names: Names, limit: int | None = None) -> Rows:
    """The same rows as a relation of their own, with all filters and orders carried out."""
    picked = Picked(rows.relation, names.next(), rows.tests, rows.order, limit)
    return over(rows, picked)


def over(rows: Rows, picked: Picked) -> Rows:
    """The rows of `picked`, whose inner relation is that of these."""
    column = _column(picked)
    order = tuple(_reordered(each, picked.column) for each in rows.order)
    place = tuple(_reordered(each, picked.column) for each in rows.place)
    return Rows(picked, mapped(rows.this, column), order=order, key=rows.key, place=place)


def numbered(rows: Rows, names: Names) -> tuple[Rows, Sql]:
    """Sealed, with a column that counts the rows in their order."""
    picked = Picked(rows.relation, names.next(), rows.tests, numbered=not rows.order)
    if rows.order:
        count: Sql = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[each.copy() for each in rows.order]))
    else:
        count = neutral("row_number")
    number = picked.column(count)
    found = over(rows, picked)
    return replace(found, order=(ascending(number),)), number


def ascending(value: Sql, *, descending: bool = False) -> exp.Ordered:
    return exp.Ordered(this=value.copy(), desc=descending, nulls_first=False)


def _column(picked: Picked) -> Callable[[Sql, str], Sql]:
    return lambda value, kind: picked.column(value)


def _reordered(key: exp.Ordered, column: Callable[[Sql], Sql]) -> exp.Ordered:
    return exp.Ordered(this=column(key.this), desc=key.args.get("desc"), nulls_first=key.args.get("nulls_first"))
