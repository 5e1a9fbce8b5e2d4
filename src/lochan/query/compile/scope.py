"""The scope of an expression: the names it can use, the limits of its size, and reports of its mistakes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from lochan.errors import Invalid
from lochan.pools.kinds import ERROR
from lochan.pools.shape import Path
from lochan.query.ast import Node
from lochan.query.checkpoint import checkpoint
from lochan.query.compile.relations import Names
from lochan.query.compile.sql import Sql
from lochan.query.compile.value import Value
from lochan.query.errors import QueryError, UnknownField


@dataclass(frozen=True)
class Query:
    """The properties of the whole query."""

    text: str
    now: int | None  # microseconds since 1970
    names: Names
    tolerant: bool = False  # whether a field that no row of a pool has yet is missing, with a warning
    warnings: list[str] = field(default_factory=list)
    absent: set[str] = field(default_factory=set)  # names that would have another meaning if another row had the field
    misread: set[str] = field(default_factory=set)  # names such as `a.b` that are not a column of the table `a`

    def unknown(self, error: UnknownField, *, may_come: bool) -> None:
        """Raises the error, or adds a warning if rows may have the field later."""
        if not (self.tolerant and may_come):
            raise error
        warning = f"{error.message} (line {error.line}, column {error.column}): no row has it, so it is missing"
        if warning not in self.warnings:
            self.warnings.append(warning)


@dataclass(frozen=True)
class Scope:
    query: Query
    this: Value
    key: Path | None = None  # the first field of the pool's key
    lenient: bool = False  # whether a field that no row has is missing, and not a mistake
    bound: Mapping[int, Value] = field(default_factory=dict)  # computed parts of expressions, by their ids

    def forgiving(self) -> Scope:
        return replace(self, lenient=True)


def query_error(query: Query, at: Node, message: str, hint: str = "") -> QueryError:
    return QueryError(message, query.text, at.span, hint=hint)


# ── how much SQL a plan and its parts may be ─────────────────────────────────────────────────────────────────────────


# Engines take longer to parse a query beyond these sizes than to run it.
VALUE_NODES_MAX = 5_000
PLAN_NODES_MAX = 200_000


def size_of(value: Value, most: int) -> int:
    """Returns the number of nodes of the longest alternate, at most `most`. The text of an error does not count."""
    return max((_count(value.alts[kind], most) for kind in value.alts if kind != ERROR), default=0)


def check_value(alternates: Iterable[Sql]) -> None:
    """Raises Invalid for an expression that is too large."""
    if any(_count(each, VALUE_NODES_MAX) >= VALUE_NODES_MAX for each in alternates):
        raise Invalid(
            "an expression is too large: it computes with fields of several kinds, and the combinations multiply",
            hint="cast the fields first, such as int64(a) + int64(b); or compute it in several steps",
        )


def check_plan(query: Sql) -> None:
    """Raises Invalid for a query that is too large."""
    if _count(query, PLAN_NODES_MAX) >= PLAN_NODES_MAX:
        raise Invalid(
            f"the query is too large: its plan has more than {PLAN_NODES_MAX:,} parts",
            hint="use fewer terms, or fewer fields of several kinds",
        )


def _count(sql: Sql, most: int) -> int:
    checkpoint()
    return sum(1 for _ in islice(sql.walk(), most))
