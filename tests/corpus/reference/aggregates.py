"""Aggregates over the rows of a group."""

from __future__ import annotations

import math
import statistics
from decimal import Decimal, localcontext
from typing import Any

from lochan.query import ast
from tests.corpus.reference.expressions import evaluate
from tests.corpus.reference.functions import type_text
from tests.corpus.reference.values import ERROR, MISSING, as_json, exact, identity, is_number, kind, order


def aggregated(call: ast.Call, rows: list[Any]) -> Any:
    if call.where is not None:
        rows = [row for row in rows if evaluate(call.where, row) is True]
    if call.name == "count" and not call.arguments:
        return len(rows)
    values = [evaluate(call.arguments[0], row) for row in rows]
    there = [value for value in values if value is not MISSING and value is not ERROR]
    present = [value for value in there if value is not None]
    match call.name:
        case "count":
            return len(present)
        case "sum" | "avg" | "stddev" | "quantile":
            return _of_numbers(call, [value for value in present if is_number(value)])
        case "min" | "max":
            return _extreme(call.name, present)
        case "any":
            return _extreme("min", present)
        case "first":  # what a row has, null too; likewise below
            return there[0] if there else None
        case "last":
            return there[-1] if there else None
        case "collect":
            return there
        case "union":
            distinct = {identity(value): value for value in present}
            return sorted(distinct.values(), key=lambda value: order(value, descending=False, nulls_first=False))
        case "dcount" | "countdistinct":
            return len({identity(value) for value in present})
        case "and":
            return all(bools) if (bools := [value for value in present if kind(value) == "bool"]) else None
        case "or":
            return any(bools) if (bools := [value for value in present if kind(value) == "bool"]) else None
        case "fuse":
            return "|".join(sorted({type_text(value) for value in present})) if present else None
    raise AssertionError(call.name)


def _of_numbers(call: ast.Call, numbers: list[Any]) -> Any:
    if not numbers:
        return None
    match call.name:
        case "sum" | "avg" if any(kind(number) == "decimal" for number in numbers):
            with localcontext(prec=200):
                whole_sum = sum(map(Decimal, map(exact, numbers)))
                return whole_sum if call.name == "sum" else float(whole_sum / len(numbers))
        case "sum":
            whole = all(isinstance(number, int) for number in numbers)
            total = sum(numbers) if whole else math.fsum(numbers)
            return total if not whole or abs(total) < 2**63 else ERROR
        case "avg":
            return math.fsum(numbers) / len(numbers)
        case "stddev":
            return statistics.stdev(map(float, numbers)) if len(numbers) > 1 else None
    share = call.arguments[1]
    assert isinstance(share, ast.Literal) and isinstance(share.value, int | float)
    ordered = sorted(map(float, numbers))
    at = share.value * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def _extreme(name: str, values: list[Any]) -> Any:
    """Mixed kinds are ordered by their class, as in a sort. If an int and a float are equal, the int counts."""
    if not values:
        return None

    def place(value: Any) -> tuple[Any, ...]:
        nested = as_json(value) if isinstance(value, dict | list) else ""
        return (order(value, descending=False, nulls_first=False), kind(value) != "int", nested)

    if name == "min":
        return min(values, key=place)
    return max(values, key=lambda value: (place(value)[0], kind(value) == "int", place(value)[2]))
