"""A query of the pipe language as it was written: operators in a row, expressions in trees.

Nothing here knows a pool or an engine. Every node remembers where it stands in the text, so that an error found later
can still point at it; the place is no part of what a node is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Span(NamedTuple):
    """From `start` up to `stop`, in characters of the query's text."""

    start: int
    stop: int


NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    span: Span = field(default=NOWHERE, compare=False, repr=False)


# ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """`kind` is one of null, bool, int, float, string, time, duration, ip, net. A time is microseconds since 1970, a
    duration microseconds, an address and a network their text in canonical form."""

    kind: str
    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Regexp(Node):
    pattern: str


@dataclass(frozen=True, slots=True)
class Glob(Node):
    pattern: str  # with at least one * or ?


@dataclass(frozen=True, slots=True)
class This(Node):
    """The whole row."""


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A field of the row."""

    name: str


@dataclass(frozen=True, slots=True)
class Dot(Node):
    of: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Index(Node):
    """`of[at]`: an element, counted from 0, from the end if negative; or a field by its name."""

    of: Expr
    at: Expr


@dataclass(frozen=True, slots=True)
class Slice(Node):
    of: Expr
    start: Expr | None
    stop: Expr | None


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`-` or `not`."""

    op: str
    of: Expr


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """+ - * / % == != < <= > >= and or in like  (`not in`, `not like` are a Unary around one; `~` against a regexp or
    a glob is the call `grep`)."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Between(Node):
    of: Expr
    low: Expr
    high: Expr


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """`c ? a : b`"""

    test: Expr
    then: Expr
    other: Expr


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function, a cast (`int64(e)`), or an aggregate where one may stand."""

    name: str
    arguments: tuple[Expr, ...]
    where: Expr | None = None  # of an aggregate alone
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class ListOf(Node):
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class RecordOf(Node):
    """`{a:1, b, ...c}`: a name alone stands for itself; a spread has no name."""

    fields: tuple[tuple[str | None, Expr], ...]


@dataclass(frozen=True, slots=True)
class Term(Node):
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


@dataclass(frozen=True, slots=True)
class Source(Node):
    """`name@ref/path:meta range low to high`, each part but one left out at will.

    `name` is a pool's or a repository's, a glob or a regexp over pools' names, or None for metadata of the lake.
    `ref` is all between the first @ and the path or the colon: `dev`, `main~2`, `{2026-11-01T10:00Z}`, `dev@{…}`.
    """

    name: str | Glob | Regexp | None
    ref: str = ""
    path: str = ""  # of files in a repository, a glob
    meta: str = ""  # objects, log, …
    no_key: bool = False  # `pool.$nokey`
    low: Expr | None = None
    high: Expr | None = None
    tap: bool = False


# ── operators ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Assigned(NamedTuple):
    """`path := value`. An empty path: the value names it, a field by its own path (`cut b.c` keeps c inside of b), a
    call by the function's name (`assigned_path`)."""

    path: tuple[str, ...]
    value: Expr


def assigned_path(assigned: Assigned) -> tuple[str, ...]:
    """Where the value goes: () for one that cannot name itself."""
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


@dataclass(frozen=True, slots=True)
class From(Node):
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Where(Node):
    """Also a search: then the expression holds Terms."""

    test: Expr


@dataclass(frozen=True, slots=True)
class Cut(Node):
    fields: tuple[Assigned, ...]


@dataclass(frozen=True, slots=True)
class Put(Node):
    fields: tuple[Assigned, ...]


@dataclass(frozen=True, slots=True)
class Drop(Node):
    paths: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Rename(Node):
    fields: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]  # new, old


@dataclass(frozen=True, slots=True)
class Sort(Node):
    """Without keys: by the pool's key, or the first field, backwards if `reverse`; with keys each of them says so."""

    keys: tuple[SortKey, ...]
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Head(Node):
    count: int


@dataclass(frozen=True, slots=True)
class Tail(Node):
    count: int


@dataclass(frozen=True, slots=True)
class Top(Node):
    """The `count` rows with the greatest values."""

    count: int
    keys: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class Uniq(Node):
    counted: bool  # -c: rows {value, count}


@dataclass(frozen=True, slots=True)
class Sample(Node):
    """One row of each shape; or that many of each."""

    count: int


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """`every` is a duration in microseconds, over the field `ts` or the pool's time key."""

    values: tuple[Assigned, ...]  # of aggregate calls; none: distinct keys
    keys: tuple[Assigned, ...]
    every: int | None = None


@dataclass(frozen=True, slots=True)
class Yield(Node):
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Over(Node):
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Join(Node):
    kind: str  # inner, left, right, anti
    other: Pipe
    left: Expr
    right: Expr
    fields: tuple[Assigned, ...]  # of the other side, added to the row; none: all that the row lacks


@dataclass(frozen=True, slots=True)
class Fuse(Node):
    pass


@dataclass(frozen=True, slots=True)
class Union(Node):
    other: Pipe


@dataclass(frozen=True, slots=True)
class Fork(Node):
    arms: tuple[Pipe, ...]


@dataclass(frozen=True, slots=True)
class Switch(Node):
    """`of` is compared with each case's value where it is given; a case without a value is the default."""

    of: Expr | None
    cases: tuple[tuple[Expr | None, Pipe], ...]


@dataclass(frozen=True, slots=True)
class Load(Node):
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


@dataclass(frozen=True, slots=True)
class Pipe(Node):
    """The first operator of a whole query is a From; an arm's pipe goes on with the rows it is given."""

    operators: tuple[Operator, ...]
