"""What a plan says where the engines have no common word: each dialect knows what to put in its place.

A plan is a sqlglot tree of comparisons, connectives, CASE, casts and the plain aggregates, which both engines read
alike; all else is a Neutral with a name that `dialects/duckdb.py` and `dialects/spark.py` have a form for. None of
these forms raises while a query runs: what cannot be computed is NULL.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp


class Neutral(exp.Expression):
    """`this` names it; `options` are constants that are not SQL, such as a pattern. They are a tuple, for in a list
    sqlglot would compare texts without regard to case."""

    arg_types = {"this": True, "expressions": False, "options": False}  # noqa: RUF012  sqlglot's own way

    @property
    def options(self) -> tuple[Any, ...]:
        return self.args.get("options") or ()


# What is made of many rows, even if no column is in it.
AGGREGATES = frozenset(
    ("row_number", "quantile", "sum_of", "collect", "collect_distinct", "collect_keyed", "first_by", "last_by")
)


def neutral(name: str, *arguments: exp.Expr, options: tuple[Any, ...] = ()) -> Neutral:
    return Neutral(this=name, expressions=[each.copy() for each in arguments], options=options)
