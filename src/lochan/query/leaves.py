"""What a source gives to a plan: flat columns, one for each path and kind that the plan asks for.

    leaf            column        holds
    (b.c, int)      "b.c:int"     the value where the row has an int at b.c, else NULL
    (b.c, null)     "b.c:null"    TRUE where the row has an explicit null there, else NULL
    (b, object)     "b:object"    TRUE where the row has an object there, else NULL

So of all the leaves of one path at most one is not NULL in any row, and where all are the path is missing. Objects are
made of their members' leaves; they have no column of their own. Which kinds a path may have is known before anything is
read, from the shapes in the objects' entries; a kind that no row has is never asked for.

    (x, decimal)    "x:decimal"   beside (x, json): the number that its text is, else NULL (pools/layout.py)

    (x, original)   "x:original"  beside (x, time): its text, where microseconds do not give it back, else NULL

    _shape          the number of the row's shape in the source's dictionary; 0: its shape is not known
    _body           the row as JSON text, of objects that keep their rows as text; else NULL
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from sqlglot import exp

from lochan.pools.kinds import NULL
from lochan.pools.shape import Leaf, Object, Path, Type


class Digits(NamedTuple):
    """What every number of a leaf of decimals fits in; together at most 38."""

    whole: int  # before the point
    scale: int  # behind it


class LeafInfo(NamedTuple):
    """What is known of a leaf before anything is read."""

    leaf: Leaf
    always: bool  # every row has it
    element: Type = NULL  # of an array: what its elements are
    formats: tuple[str, ...] = ()  # of a time: how it is written (the shape says which)
    timed: bool = False  # of a string: those that say a time are times
    numberless: bool = False  # of json: no text is a number
    digits: Digits = Digits(0, 0)  # of decimals; all numbers among the texts at the path are there
    alone: bool = False  # of decimals: every text at the path is a number
    otherwise: bool = False  # of null: every row has it that has none of the others, so it need not be read


class ScanRequest(NamedTuple):
    """What a plan needs of a source."""

    leaves: Sequence[Leaf]
    shape: bool = False  # also `_shape`
    body: bool = False  # also `_body`
    test: exp.Expr | None = None  # over the leaves' columns: only rows for which it is true matter (may be ignored)
    ordered: bool = False  # rows in the order of the pool's key
    first: int | None = None  # with `ordered`: only so many of them matter (may be ignored)


class KeyPart(NamedTuple):
    """A field that the rows of a source are ordered by."""

    path: Path
    descending: bool = False
    nulls_first: bool = False


class Source(Protocol):
    """Something that `from` names, at one snapshot."""

    @property
    def shapes(self) -> Mapping[int, Object]:
        """By number; empty if every row is text."""

    @property
    def grows(self) -> bool:
        """Whether its rows may have other fields tomorrow."""

    @property
    def has_body(self) -> bool:
        """Whether some rows are text: of those, kinds are found while reading."""

    @property
    def text_shapes(self) -> Collection[int]:
        """The shapes that only rows kept as text have."""

    @property
    def key(self) -> Path | None:
        """The first field of the pool's key."""

    @property
    def key_parts(self) -> Sequence[KeyPart]:
        """All of the key; none: there is no key, or it is the whole row."""

    def known(self, path: Path) -> Sequence[LeafInfo]:
        """The leaves at this very path. None: no row has it."""

    def members(self, path: Path) -> Sequence[str]:
        """The names below an object at this path, in the order of first sight; () is the whole row."""

    def select(self, request: ScanRequest) -> exp.Query:
        """The rows, as a query whose columns are those asked for."""
