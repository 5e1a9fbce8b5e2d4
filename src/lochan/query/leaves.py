"""The columns that a source provides to a plan: flat columns, one for each path and kind that the plan needs.

    leaf            column        holds
    (b.c, int)      "b.c:int"     the value where the row has an int at b.c, otherwise NULL
    (b.c, null)     "b.c:null"    TRUE where the row has an explicit null there, otherwise NULL
    (b, object)     "b:object"    TRUE where the row has an object there, otherwise NULL

So of all the leaves of one path at most one is not NULL in any row, and if all are, the path is missing. Objects are
made of their members' leaves; they have no column of their own. The kinds that a path may have are known before
anything is read, from the shapes in the objects' entries; a plan never requests a kind that no row has.

    (x, decimal)    "x:decimal"   beside (x, json): the number of its text, otherwise NULL (pools/layout.py)

    (x, original)   "x:original"  beside (x, time): its text, if microseconds do not reproduce it, otherwise NULL

    _shape          the number of the row's shape in the source's dictionary; 0 if its shape is not known
    _body           the row as JSON text, for objects that keep their rows as text; otherwise NULL"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from sqlglot import exp

from lochan.pools.kinds import NULL
from lochan.pools.shape import Leaf, Object, Path, Type


class Digits(NamedTuple):
    """The most digits that a number of a leaf of decimals has; together at most 38."""

    whole: int  # digits before the point
    scale: int  # digits after the point


class LeafInfo(NamedTuple):
    """The properties of a leaf that are known before anything is read."""

    leaf: Leaf
    always: bool  # whether every row has it
    element: Type = NULL  # for an array: the type of its elements
    formats: tuple[str, ...] = ()  # for a time: its formats (the shape determines which one)
    timed: bool = False  # for a string: whether strings that are written as times are times
    numberless: bool = False  # for json: whether no text is a number
    digits: Digits = Digits(0, 0)  # for decimals; all numbers among the texts at the path are in the column
    alone: bool = False  # for decimals: whether every text at the path is a number
    otherwise: bool = False  # for null: whether every row without any of the others has it, so that it need not be read


class ScanRequest(NamedTuple):
    """The request of a plan to a source."""

    leaves: Sequence[Leaf]
    shape: bool = False  # whether `_shape` is needed too
    body: bool = False  # whether `_body` is needed too
    test: exp.Expr | None = None  # over the leaves' columns: only rows for which it is true matter (may be ignored)
    ordered: bool = False  # whether rows must come in the order of the pool's key
    first: int | None = None  # with `ordered`: the number of rows that matter (may be ignored)


class KeyPart(NamedTuple):
    """A field by which the rows of a source are ordered."""

    path: Path
    descending: bool = False
    nulls_first: bool = False


class Source(Protocol):
    """A source of `from`, at one snapshot."""

    @property
    def shapes(self) -> Mapping[int, Object]:
        """The shapes by their numbers. It is empty if every row is text."""

    @property
    def grows(self) -> bool:
        """Whether its rows may have other fields later."""

    @property
    def has_body(self) -> bool:
        """Whether some rows are text: their kinds are found while they are read."""

    @property
    def text_shapes(self) -> Collection[int]:
        """The shapes that only rows kept as text have."""

    @property
    def key(self) -> Path | None:
        """The first field of the pool's key."""

    @property
    def key_parts(self) -> Sequence[KeyPart]:
        """The whole key. It is empty if there is no key, or if the key is the whole row."""

    def known(self, path: Path) -> Sequence[LeafInfo]:
        """Returns the leaves at this very path. There are none if no row has it."""

    def members(self, path: Path) -> Sequence[str]:
        """Returns the names below an object at this path, in the order of their first occurrence; () is the whole
        row."""

    def select(self, request: ScanRequest) -> exp.Query:
        """Returns the rows, as a query whose columns are those of the request."""
