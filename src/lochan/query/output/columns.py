"""Describes the columns of a result, and how a row is made of them.

Column
  kinds      {"int": "c0", "string": "c1"}    the column of each kind; of a row's at most one is not NULL
  nothing    missing, null, or "" where one of them is always set
  members    of an object, each a Column again, in order
  order      where the order differs from row to row: a column, and the names that its numbers stand for
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lochan.pools.shape import Type

Names = tuple[str, ...]


@dataclass(frozen=True)
class FieldOrder:
    column: str
    by_number: Mapping[int, Names]


@dataclass(frozen=True)
class TimeFormat:
    constant: str = ""
    column: str = ""  # its numbers stand for formats, if there are several
    by_number: Mapping[int, str] = field(default_factory=dict)
    original: str = ""  # a column of texts: where it is not NULL, that is how the time is written


@dataclass(frozen=True)
class BodyText:
    """The column that holds rows which are text, as a whole, except for the members that the query made. It is NULL for
    other rows."""

    column: str
    made: frozenset[str]
    edits: tuple[Callable[[Names], Names], ...]


@dataclass(frozen=True)
class Column:
    kinds: Mapping[str, str]  # a name of no column: it is always so, as with an object that is surely there
    nothing: str = ""
    members: tuple[tuple[str, Column], ...] = ()
    order: FieldOrder | None = None
    element: Type | None = None
    format: TimeFormat | None = None
    body: BodyText | None = None
    scale: int | None = None  # of decimals: all of them fit in DECIMAL(38, scale)
