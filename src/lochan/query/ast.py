"""A query of the pipe language as it was written: operators in a row, expressions in trees.

This module knows neither pools nor engines. Every node has its place in the text, so that an error found later can
still point at it; the place does not count when nodes are compared."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

import msgspec


class Span(NamedTuple):
    """The part of the query's text from `start` up to `stop`, in characters."""

    start: int
    stop: int


NOWHERE = Span(0, 0)


class Node(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A node of the tree. It is a struct, because making forty dataclasses takes 20 ms each time a command begins."""

    span: Span = NOWHERE

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._parts() == other._parts()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), *self._parts()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._parts()))})"

    def _parts(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__struct_fields__ if name != "span")


# ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Literal(Node, frozen=True, eq=False):
    """A constant. `kind` is one of null, bool, int, float, decimal, string, time, duration, ip, net. A time is
    microseconds since 1970, a duration microseconds, an address and a network their text in canonical form."""

    kind: str
    value: bool | int | float | Decimal | str | None


class Regexp(Node, frozen=True, eq=False):
    pattern: str


class Glob(Node, frozen=True, eq=False):
    pattern: str  # with at least one * or ?


class This(Node, frozen=True, eq=False):
    """The whole row."""


class Name(Node, frozen=True, eq=False):
    """A field of the row."""

    name: str


class Dot(Node, frozen=True, eq=False):
    of: Expr
    name: str


class Index(Node, frozen=True, eq=False):
    """An element or a field, `of[at]`. Elements are counted from 0, or from the end if negative; a field is given by
    its name."""

    of: Expr
    at: Expr


class Slice(Node, frozen=True, eq=False):
    of: Expr
    start: Expr | None
    stop: Expr | None


class Unary(Node, frozen=True, eq=False):
    """The operators `-` and `not`."""

    op: str
    of: Expr


class Binary(Node, frozen=True, eq=False):
    """An operator with two operands: + - * / % == != < <= > >= and or in like  (`not in`, `not like` are a Unary around
    one; `~` against a regexp or a glob is the call `grep`)."""

    op: str
    left: Expr
    right: Expr


class Between(Node, frozen=True, eq=False):
    of: Expr
    low: Expr
    high: Expr


class Conditional(Node, frozen=True, eq=False):
    """A choice, `c ? a : b`."""

    test: Expr
    then: Expr
    other: Expr


class Call(Node, frozen=True, eq=False):
    """A call of a function, a cast (`int64(e)`), or an aggregate where one is allowed."""

    name: str
    arguments: tuple[Expr, ...]
    where: Expr | None = None  # only for an aggregate
    distinct: bool = False


class ListOf(Node, frozen=True, eq=False):
    items: tuple[Expr, ...]


class RecordOf(Node, frozen=True, eq=False):
    """A record, `{a:1, b, ...c}`. A name alone stands for the field of that name; a spread has no name."""

    fields: tuple[tuple[str | None, Expr], ...]


class Term(Node, frozen=True, eq=False):
    """A search term: the word or text (case-insensitive), the glob or the regexp, anywhere in the row."""

    what: str | Regexp | Glob


Expr = (
    Literal
    | Regexp
    | Glob
    | This
    | Name
    | Dot
    | Index
    | Slice
    | Unary
    | Binary
    | Between
    | Conditional
    | Call
    | ListOf
    | RecordOf
    | Term
)

# ── sources ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Source(Node, frozen=True, eq=False):
    """A source, `name@ref/path:meta range low to high`. Each part but one is optional.

    `name` is a pool's or a repository's, a glob or a regexp over pools' names, or None for metadata of the lake.
    `ref` is all between the first @ and the path or the colon: `dev`, `main~2`, `{2026-11-01T10:00Z}`, `dev@{…}`."""

    name: str | Glob | Regexp | None
    ref: str = ""
    path: str = ""  # of files in a repository; may be a glob
    meta: str = ""  # objects, log, …
    no_key: bool = False  # for `pool.$nokey`
    low: Expr | None = None
    high: Expr | None = None
    tap: bool = False


# ── operators ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Assigned(NamedTuple):
    """An assignment, `path := value`. If the path is empty, the value determines it: a field has its own path (`cut
    b.c` keeps c inside of b), a call the function's name (`assigned_path`)."""

    path: tuple[str, ...]
    value: Expr


def assigned_path(assigned: Assigned) -> tuple[str, ...]:
    """Returns the path that the value is assigned to, or () if the value does not determine one."""
    if assigned.path:
        return assigned.path
    names: list[str] = []
    value = assigned.value
    while isinstance(value, Dot):
        names.append(value.name)
        value = value.of
    match value:
        case Name(name):
            return (name, *reversed(names))
        case This():
            return tuple(reversed(names))
        case Call(name):
            return (name,) if not names else ()
    return ()


class SortKey(NamedTuple):
    value: Expr
    descending: bool = False
    nulls_first: bool = False


class From(Node, frozen=True, eq=False):
    sources: tuple[Source, ...]


class Where(Node, frozen=True, eq=False):
    """A filter, or a search, whose expression holds Terms."""

    test: Expr


class Cut(Node, frozen=True, eq=False):
    fields: tuple[Assigned, ...]


class Put(Node, frozen=True, eq=False):
    fields: tuple[Assigned, ...]


class Drop(Node, frozen=True, eq=False):
    paths: tuple[tuple[str, ...], ...]


class Rename(Node, frozen=True, eq=False):
    fields: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]  # pairs of the new and the old path


class Sort(Node, frozen=True, eq=False):
    """A sort. Without keys, rows are sorted by the pool's key, or the first field, and backwards if `reverse`; with
    keys, each key has its own direction."""

    keys: tuple[SortKey, ...]
    reverse: bool = False


class Head(Node, frozen=True, eq=False):
    count: int


class Tail(Node, frozen=True, eq=False):
    count: int


class Top(Node, frozen=True, eq=False):
    """The `count` rows with the greatest values."""

    count: int
    keys: tuple[SortKey, ...]


class Uniq(Node, frozen=True, eq=False):
    counted: bool  # for -c: rows {value, count}


class Sample(Node, frozen=True, eq=False):
    """A sample: one row of each shape, or `count` of each."""

    count: int


class Aggregate(Node, frozen=True, eq=False):
    """An aggregation. `every` is a duration in microseconds, over the field `ts` or the pool's time key."""

    values: tuple[Assigned, ...]  # aggregate calls; without any, the result is the distinct keys
    keys: tuple[Assigned, ...]
    every: int | None = None


class Yield(Node, frozen=True, eq=False):
    values: tuple[Expr, ...]


class Over(Node, frozen=True, eq=False):
    values: tuple[Expr, ...]


class Join(Node, frozen=True, eq=False):
    kind: str  # inner, left, right, anti
    other: Pipe
    left: Expr
    right: Expr
    fields: tuple[Assigned, ...]  # of the other side, added to the row; without any, all that the row lacks


class Fuse(Node, frozen=True, eq=False):
    pass


class Union(Node, frozen=True, eq=False):
    other: Pipe


class Fork(Node, frozen=True, eq=False):
    arms: tuple[Pipe, ...]


class Switch(Node, frozen=True, eq=False):
    """A switch. If `of` is given, it is compared with each case's value; a case without a value is the default."""

    of: Expr | None
    cases: tuple[tuple[Expr | None, Pipe], ...]


class Load(Node, frozen=True, eq=False):
    pool: str
    branch: str = ""
    message: str = ""


Operator = (
    From
    | Where
    | Cut
    | Put
    | Drop
    | Rename
    | Sort
    | Head
    | Tail
    | Top
    | Uniq
    | Sample
    | Aggregate
    | Yield
    | Over
    | Join
    | Fuse
    | Union
    | Fork
    | Switch
    | Load
)


class Pipe(Node, frozen=True, eq=False):
    """A pipe of operators. The first operator of a whole query is a From; the pipe of an arm gets its rows from
    outside."""

    operators: tuple[Operator, ...]
