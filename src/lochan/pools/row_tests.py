"""Tests of rows that an object's statistics can decide: comparisons of a field with a value, and whether it exists,
joined by and/or. Everything else may be true of any row.

    status >= 500 and (host == "a" or f(x))    ──▶    All(status >= 500, Any(host == "a", ANY_ROW))
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from lochan.pools.shape import Path

Scalar = bool | int | float | Decimal | str


class Compare(NamedTuple):
    """A comparison of a field with a value. `op` is ==, <, <=, > or >=. A time is microseconds since 1970."""

    path: Path
    op: str
    kind: str
    value: Scalar


class Unlike(NamedTuple):
    """Rows that fail the comparison, including those with another kind of value."""

    test: Compare


class OneOf(NamedTuple):
    path: Path
    values: tuple[tuple[str, Scalar], ...]  # kind, value


class IsNull(NamedTuple):
    """The field is explicitly null."""

    path: Path


class Missing(NamedTuple):
    path: Path


class Has(NamedTuple):
    """The field exists; it may be null."""

    path: Path


class Valued(NamedTuple):
    """The field is neither null nor missing."""

    path: Path


class All(NamedTuple):
    tests: tuple[Test, ...]


class Either(NamedTuple):
    tests: tuple[Test, ...]


class AnyRow(NamedTuple):
    """A test that statistics cannot decide."""


Test = Compare | Unlike | OneOf | IsNull | Missing | Has | Valued | All | Either | AnyRow
ANY_ROW = AnyRow()


def both(tests: Iterable[Test]) -> Test:
    decidable = [test for test in tests if not isinstance(test, AnyRow)]
    parts = [part for test in decidable for part in (test.tests if isinstance(test, All) else (test,))]
    return All(tuple(parts)) if len(parts) > 1 else parts[0] if parts else ANY_ROW
