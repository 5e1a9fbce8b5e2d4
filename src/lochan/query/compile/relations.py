"""Relations, from which rows come, nested in each other. A relation learns only at the end which of its columns are
needed, so a plan reads no leaf and carries no column that is not used outside.

    Scan      the rows of a source
    Picked    rows of another, selected, ordered, cut, numbered or grouped
    Stacked   rows of several, one after the other
    Joined    pairs of rows"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from sqlglot import exp

from lochan.pools.layout import BODY_COLUMN, SHAPE_COLUMN
from lochan.pools.shape import Leaf, Path
from lochan.query.compile.logic import all_of
from lochan.query.compile.sql import TRUE, Sql, columns_of, is_constant
from lochan.query.compile.value import Value, map_expressions
from lochan.query.dialects.neutral import Neutral, neutral
from lochan.query.leaves import ScanRequest, Source

TIES_MAX = 32  # columns that rows are ordered by if the query's own order finds them equal


class Names:
    """Aliases that are unique in the plan."""

    def __init__(self) -> None:
        self._count = 0

    def next(self) -> str:
        self._count += 1
        return f"t{self._count}"


class Relation(Protocol):
    @property
    def alias(self) -> str: ...

    def query(self, columns: Iterable[str], ordered: bool) -> exp.Query:
        """Returns a query with these columns. If `ordered`, its rows come in their order."""


class Scan:
    def __init__(self, source: Source, alias: str) -> None:
        self.source = source
        self.alias = alias
        self._leaves: dict[str, Leaf] = {}
        self._reads: list[_Read] = []

    def leaf(self, leaf: Leaf) -> Sql:
        self._leaves[leaf.column] = leaf
        return exp.column(leaf.column, self.alias, quoted=True)

    def shape(self) -> Sql:
        return exp.column(SHAPE_COLUMN, self.alias, quoted=True)

    def body(self) -> Sql:
        return exp.column(BODY_COLUMN, self.alias, quoted=True)

    def query(self, columns: Iterable[str], ordered: bool) -> exp.Query:
        return self.place(columns, ordered, None)

    def place(self, columns: Iterable[str], ordered: bool, first: int | None) -> exp.Query:
        """Returns a placeholder for the rows, until the whole plan exists and shows what it needs of them: see
        `read`."""
        self._reads.append(_Read(tuple(columns), ordered, first))
        placed = exp.Select(expressions=[exp.Null()])
        placed.meta[PLACE] = len(self._reads) - 1
        return placed

    def read(self, place: exp.Expr, tests: Sequence[Sql]) -> exp.Query:
        """Returns the rows for such a placeholder."""
        request = self._reads[place.meta[PLACE]]
        return self.rows(request.columns, request.ordered, request.first, tests)

    def rows(self, columns: Iterable[str], ordered: bool, first: int | None, tests: Sequence[Sql]) -> exp.Query:
        """Selects rows from the source, which learns the tests that the rows must pass later, and may leave out rows
        that fail them."""
        names = set(columns)
        test = all_of(tests)
        return self.source.select(
            ScanRequest(
                leaves=[leaf for column, leaf in self._leaves.items() if column in names],
                shape=SHAPE_COLUMN in names,
                body=BODY_COLUMN in names,
                test=None if test == TRUE else test,
                ordered=ordered,
                first=first if ordered else None,
            )
        )


PLACE = "place"  # in the meta of a placeholder for a scan: the number of its read


class _Read(NamedTuple):
    columns: tuple[str, ...]
    ordered: bool
    first: int | None


@dataclass
class Picked:
    inner: Relation
    alias: str
    tests: tuple[Sql, ...] = ()
    order: tuple[exp.Ordered, ...] = ()  # without any, the order of the inner rows
    limit: int | None = None
    group: tuple[Sql, ...] | None = None
    having: Sql | None = None
    numbered: bool = False  # a column counts the inner rows, so these must come in order
    spread: str = ""  # the column that makes several rows of one: it exists even if no query selects it
    columns: dict[str, Sql] = field(default_factory=dict)

    def column(self, value: Sql) -> Sql:
        """Returns the value as a column of this relation. A constant stays a constant."""
        if is_constant(value):
            return value
        return exp.column(_column_name(self.columns, value), self.alias, quoted=True)

    def query(self, columns: Iterable[str], ordered: bool) -> exp.Query:
        names = dict.fromkeys([*columns, *([self.spread] if self.spread else [])])
        shown = [self.columns[name].copy().as_(name, quoted=True) for name in names]
        sorted_here = self._total(names) if self.order and (ordered or self.limit is not None) else ()
        used = [*shown, *self.tests, *sorted_here, *(self.group or ()), self.having]
        inner_ordered = self.numbered or (not self.order and self.group is None and (ordered or self.limit is not None))
        needed = columns_of(used, self.inner.alias)
        if isinstance(self.inner, Scan):
            first = self.limit if not self.tests and self.group is None and not self.numbered else None
            source = self.inner.place(needed, inner_ordered, first)
        else:
            source = self.inner.query(needed, inner_ordered)
        select = exp.select(*(shown or [exp.Literal.number(1).as_("_")]), copy=False)
        if self.group == () and all(is_constant(each) for each in shown):
            select = select.select(exp.Count(this=exp.Star()).as_("_rows"), copy=False)  # so that it is one row
        select = select.from_(source.subquery(self.inner.alias, copy=False), copy=False)
        return self._clauses(select, sorted_here)

    def _total(self, names: Iterable[str]) -> tuple[exp.Ordered, ...]:
        """Returns the order, completed by the columns that are shown. Rows that are equal in these too look the same,
        so every engine returns the same rows in the same order."""
        if any(self._is_place(key.this) for key in self.order):
            return self.order
        return total_order(self.order, {name: self.columns[name] for name in names})

    def _is_place(self, key: Sql) -> bool:
        """Returns whether the key numbers the rows: then no two are equal."""
        inner = self.inner.columns.get(key.name) if isinstance(self.inner, Picked) else None
        return isinstance(key, exp.Column) and (
            (isinstance(inner, Neutral) and inner.this == "row_number")
            or (isinstance(inner, exp.Window) and isinstance(inner.this, exp.RowNumber))
        )

    def _clauses(self, select: exp.Select, order: tuple[exp.Ordered, ...]) -> exp.Select:
        if self.tests:
            select.set("where", exp.Where(this=all_of(self.tests).copy()))
        if self.group:
            select.set("group", exp.Group(expressions=[each.copy() for each in self.group]))
        if self.having is not None:
            select.set("having", exp.Having(this=self.having.copy()))
        if order:
            select.set("order", exp.Order(expressions=[each.copy() for each in order]))
        if self.limit is not None:
            select.set("limit", exp.Limit(expression=exp.Literal.number(self.limit)))
        return select


@dataclass
class Stacked:
    arms: tuple[Picked, ...]
    alias: str
    columns: dict[str, tuple[str | None, ...]] = field(default_factory=dict)  # each arm's column, if it has one
    types: dict[str, exp.DataType] = field(default_factory=dict)

    def column(self, values: Sequence[Sql | None], kind: str, type: exp.DataType) -> Sql:
        """Returns one column of the values that the arms have there."""
        names = tuple(
            None if value is None else _column_name(arm.columns, value)
            for arm, value in zip(self.arms, values, strict=True)
        )
        found = next((name for name, each in self.columns.items() if each == names and self.types[name] == type), None)
        if found is None:
            found = f"c{len(self.columns)}"
            self.columns[found] = names
            self.types[found] = type
        return exp.column(found, self.alias, quoted=True)

    def query(self, columns: Iterable[str], ordered: bool) -> exp.Query:
        names = list(columns)
        return _union_all([self._arm(number, names, ordered) for number in range(len(self.arms))])

    def _arm(self, number: int, names: list[str], ordered: bool) -> exp.Query:
        arm = self.arms[number]
        own = [self.columns[name][number] for name in names]
        query = arm.query(dict.fromkeys(name for name in own if name is not None), ordered)
        shown: list[Sql] = []
        for name, there in zip(names, own, strict=True):
            value: Sql = exp.Null() if there is None else exp.column(there, arm.alias, quoted=True)
            shown.append(exp.Cast(this=value, to=self.types[name].copy()).as_(name, quoted=True))
        shown = shown or [exp.Literal.number(1).as_("_")]
        return exp.select(*shown, copy=False).from_(query.subquery(arm.alias, copy=False), copy=False)


@dataclass
class Joined:
    """Pairs of rows. Values of either side are columns of `left` and `right` first: no value is constant after an outer
    join."""

    left: Picked
    right: Picked
    kind: str  # inner, left, right, anti
    on: Sql
    alias: str
    columns: dict[str, Sql] = field(default_factory=dict)

    def column(self, value: Sql) -> Sql:
        return exp.column(_column_name(self.columns, value), self.alias, quoted=True)

    def query(self, columns: Iterable[str], ordered: bool) -> exp.Query:
        shown = [self.columns[name].copy().as_(name, quoted=True) for name in columns]
        used = [*shown, self.on]
        left = self.left.query(columns_of(used, self.left.alias), False).subquery(self.left.alias, copy=False)
        right = self.right.query(columns_of(used, self.right.alias), False).subquery(self.right.alias, copy=False)
        select = exp.select(*(shown or [exp.Literal.number(1).as_("_")]), copy=False).from_(left, copy=False)
        join = exp.Join(this=right, on=self.on.copy())
        if self.kind in ("left", "right"):
            join.set("side", self.kind.upper())
        elif self.kind == "anti":
            join.set("side", "LEFT")
            join.set("kind", "ANTI")
        return select.join(join, copy=False)


def total_order(order: Sequence[exp.Ordered], shown: Mapping[str, Sql]) -> tuple[exp.Ordered, ...]:
    """Returns the order, completed by the columns that are shown under these names."""
    seen = [key.this for key in order]
    rest = [name for name, sql in shown.items() if not is_constant(sql) and sql not in seen]
    ties = (exp.Ordered(this=exp.column(name, quoted=True), desc=False, nulls_first=False) for name in rest[:TIES_MAX])
    return (*order, *ties)


def _column_name(columns: dict[str, Sql], value: Sql) -> str:
    """Returns the name of the column that holds this value. It adds a column if there is none."""
    for name, each in columns.items():
        if each == value:
            return name
    own = value.name if isinstance(value, exp.Column) else ""
    name = own if own and own not in columns else f"c{len(columns)}"
    while name in columns:
        name += "_"
    columns[name] = value
    return name


def _union_all(queries: list[exp.Query]) -> exp.Query:
    if len(queries) == 1:
        return queries[0]
    middle = len(queries) // 2
    left, right = _union_all(queries[:middle]), _union_all(queries[middle:])
    return exp.Union(this=left, expression=right, distinct=False)


# ── rows between two operators ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Rows:
    """A relation, a row in terms of its columns, and the filters and orders that are still to be applied.

    Filters and orders wait here. They become SQL when an operator needs new rows (`seal`), or at the end, so a series
    of operators can be one SELECT."""

    relation: Relation
    this: Value
    tests: tuple[Sql, ...] = ()
    order: tuple[exp.Ordered, ...] = ()  # without any, the order of the relation
    key: Path | None = None  # the first field of the pool's key, as long as rows are the pool's
    place: tuple[exp.Ordered, ...] = ()  # the order by the whole key: rows that a sort finds equal stay in this order

    def where(self, test: Sql) -> Rows:
        return replace(self, tests=(*self.tests, test))


def seal(rows: Rows, names: Names, limit: int | None = None) -> Rows:
    """Returns the same rows as a relation of their own, with all filters and orders applied."""
    picked = Picked(rows.relation, names.next(), rows.tests, rows.order, limit)
    return over(rows, picked)


def over(rows: Rows, picked: Picked) -> Rows:
    """Returns the rows of `picked`, whose inner relation is that of these rows."""
    column = _column(picked)
    order = tuple(_order_term(each, picked.column) for each in rows.order)
    place = tuple(_order_term(each, picked.column) for each in rows.place)
    return Rows(picked, map_expressions(rows.this, column), order=order, key=rows.key, place=place)


def number_rows(rows: Rows, names: Names) -> tuple[Rows, Sql]:
    """Seals the rows, and adds a column that counts them in their order."""
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


def _order_term(key: exp.Ordered, column: Callable[[Sql], Sql]) -> exp.Ordered:
    return exp.Ordered(this=column(key.this), desc=key.args.get("desc"), nulls_first=key.args.get("nulls_first"))
