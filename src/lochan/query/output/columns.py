"""Describes the columns of a result, and how a row is made of them.

Column
  kinds      {"int": "c0", "string": "c1"}    the column of each kind; at most one of them is not NULL in a row
  nothing    missing, null, or "" if one of them is always set
  members    of an object, each a Column again, in order
  order      if the order differs from row to row: a column, and the names that its numbers represent"""

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
    column: str = ""  # its numbers represent formats, if there are several
    by_number: Mapping[int, str] = field(default_factory=dict)
    original: str = ""  # a column of texts: if it is not NULL, it is the text of the time


@dataclass(frozen=True)
class BodyText:
    """The column that holds rows which are text, as a whole, except for the members that the query made. It is NULL for
    other rows."""

    column: str
    made: frozenset[str]
    edits: tuple[Callable[[Names], Names], ...]


@dataclass(frozen=True)
class Column:
    kinds: Mapping[str, str]  # without a column, a value always has the kind, like an object that always exists
    nothing: str = ""
    members: tuple[tuple[str, Column], ...] = ()
    order: FieldOrder | None = None
    element: Type | None = None
    format: TimeFormat | None = None
    body: BodyText | None = None
    scale: int | None = None  # of decimals: all of them fit in DECIMAL(38, scale)
