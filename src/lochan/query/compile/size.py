"""How much SQL a plan and its parts may be. What is larger takes engines longer to read than to run, and is refused."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from lochan.errors import Invalid
from lochan.query.checkpoint import checkpoint
from lochan.query.compile.sql import ERROR, Sql
from lochan.query.compile.value import Value

VALUE_NODES_MAX = 5_000
PLAN_NODES_MAX = 200_000


def size_of(value: Value, most: int) -> int:
    """Nodes of its longest alternate; at most so many. What it says where it is an error does not count."""
    return max((_count(value.alts[kind], most) for kind in value.alts if kind != ERROR), default=0)


def check_value(alternates: Iterable[Sql]) -> None:
    """Raises Invalid."""
    if any(_count(each, VALUE_NODES_MAX) >= VALUE_NODES_MAX for each in alternates):
        raise Invalid(
            "an expression is too large: it computes with fields of many kinds, and what they may be multiplies",
            hint="cast the fields first, such as int64(a) + int64(b); or compute it in several steps",
        )


def check_plan(query: Sql) -> None:
    """Raises Invalid."""
    if _count(query, PLAN_NODES_MAX) >= PLAN_NODES_MAX:
        raise Invalid(
            f"the query is too large: its plan has more than {PLAN_NODES_MAX:,} parts",
            hint="ask for less at once: fewer terms, fewer fields of many kinds",
        )


def _count(sql: Sql, most: int) -> int:
    checkpoint()
    return sum(1 for _ in islice(sql.walk(), most))
