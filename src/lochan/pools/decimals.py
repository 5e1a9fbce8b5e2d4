"""Numbers that neither 64 bits nor a double hold, as a column beside their text. On somebody's disk.

    x#j     33.33333333333333333333     the text, by which the row is given back as it was
    x#d     33.33333333333333333333     DECIMAL(38, s), which engines compare, sort and add; NULL where x#j is no number

The scale s is the one that the values of the object need. Either all numbers among the texts of a column are in `x#d`,
or the object has none: then the texts are read, as they are in objects that were written before there was `x#d`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from lochan.pools.layout import Layout, Member
from lochan.pools.shape import DECIMAL, JSON, OBJECT, Type

DIGITS_MAX = 38  # of a decimal, in both engines
Column = tuple[str, ...]  # a column, and the members of its structs; by their physical names


class DecimalColumn(msgspec.Struct, frozen=True, array_like=True):
    text: Column  # whose numbers these are
    column: str  # empty: there are no numbers among the texts
    whole: int = 0  # at most so many digits before the point
    scale: int = 0  # and behind it
    alone: bool = False  # every text is a number

    @property
    def type(self) -> str:
        return f"{DECIMAL}:{self.scale}"


def scale_of(type: Type) -> int:
    """Of a column's type."""
    return int(str(type).partition(":")[2])


def column_name(text: Column) -> str:
    """In the file, beside the outermost column. No user's name has a single # in it (pools/layout.py)."""
    return f"{'#.'.join(text).removesuffix('#j')}#d"


def text_columns(layout: Layout) -> Iterator[Column]:
    """Those that may have numbers among their texts."""
    if not layout.body:
        yield from _text_columns(layout.members, ())


def _text_columns(members: Iterable[Member], above: Column) -> Iterator[Column]:
    for member in members:
        for alternate in member.alternates:
            if alternate.kind == JSON:
                yield (*above, alternate.column)
            elif alternate.kind == OBJECT:
                yield from _text_columns(alternate.members, (*above, alternate.column))
