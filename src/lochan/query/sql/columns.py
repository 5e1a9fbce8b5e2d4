"""The columns that a query gives: a value is as many of them as it has kinds, and members."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from lochan.pools.shape import NULL
from lochan.query.compile.decimals import from_text
from lochan.query.compile.sql import DECIMAL, Sql
from lochan.query.compile.value import Record, Value


@dataclass
class SelectColumns:
    """Every column is one of the query, constants too: behind an outer join they can be NULL."""

    made: dict[str, Sql] = field(default_factory=dict)

    def add(self, sql: Sql) -> Sql:
        for name, each in self.made.items():
            if each == sql:
                return exp.column(name, quoted=True)
        name = f"c{len(self.made)}"
        self.made[name] = sql
        return exp.column(name, quoted=True)

    def value(self, value: Value) -> Value:
        """In terms of these columns."""
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
        """Of an object: there, missing and null are still told apart."""
        return replace(self.value(value), nothing=value.nothing)

    def select(self) -> list[exp.Expr]:
        shown: list[exp.Expr] = [sql.copy().as_(name, quoted=True) for name, sql in self.made.items()]
        return shown or [exp.Literal.number(1).as_("_", quoted=True)]


def leaves(value: Value) -> list[Sql]:
    """All that a value is made of: what it is grouped by."""
    found = list(value.alts.values())
    if value.original is not None:
        found.append(value.original)
    if value.exact is not None:
        found.append(value.exact.sql)
    if value.record is not None and "object" in value.alts:
        for _, each in value.record.items():
            found += leaves(each)
    return found
