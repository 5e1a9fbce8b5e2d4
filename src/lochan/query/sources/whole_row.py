"""Rows, objects and lists as texts, made of their leaves: a key that is none of the scalars is ordered by its text.

The text is the same wherever the value lies, in structs, in lists or in JSON text: names in order at each level, no
spaces, times with six digits behind the second. Only in lists names stay in the order that they were written in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from lochan.pools.json_row import row_text
from lochan.pools.shape import ARRAY, DECIMAL, JSON, NULL, OBJECT, ORIGINAL, TIME, Leaf, Path
from lochan.query.compile import moments
from lochan.query.compile.sql import Sql, case, coalesce, concat, is_set, text
from lochan.query.dialects.neutral import neutral
from lochan.query.leaves import LeafInfo

COMPOSITE = (OBJECT, ARRAY, JSON)
LookUp = Callable[[Path], Sequence[LeafInfo]]
Names = Callable[[Path], Sequence[str]]
Read = Callable[[LeafInfo], Sql]  # the value of a leaf
_MOMENT = '"%Y-%m-%dT%H:%M:%S.%f'


def leaves(known: LookUp, names: Names, above: Path = ()) -> Iterator[Leaf]:
    for name in names(above):
        yield from leaves_at(known, names, (*above, name))


def leaves_at(known: LookUp, names: Names, path: Path) -> Iterator[Leaf]:
    """What there is at a path, and below it."""
    for each in known(path):
        yield each.leaf
        if each.leaf.kind == OBJECT:
            yield from leaves(known, names, path)


def by_column(each: LeafInfo) -> Sql:
    """Where a query below has the leaves as columns."""
    return exp.column(each.leaf.column, quoted=True)


class Texts:
    """Of what is known; `read` tells where the values are."""

    def __init__(self, known: LookUp, names: Names, read: Read = by_column) -> None:
        self._known = known
        self._names = names
        self._read = read

    def of_row(self) -> Sql:
        return self._of_object(())

    def of_key(self, path: Path) -> Sql | None:
        """NULL in rows that have a scalar there, or nothing. None: all rows are so."""
        found = [self._value(each) for each in self._known(path) if each.leaf.kind in COMPOSITE]
        return coalesce(*found) if found else None

    def _of_object(self, path: Path) -> Sql:
        pieces = [
            concat(text(f"{row_text(name)}:"), self._value(each))
            for name in sorted(self._names(path))
            for each in self._known((*path, name))
            if each.leaf.kind not in (DECIMAL, ORIGINAL)  # they are beside something else
        ]
        joined = neutral("join_texts", *pieces, options=(",",)) if pieces else text("")
        return concat(text("{"), joined, text("}"))

    def _value(self, each: LeafInfo) -> Sql:
        """NULL in rows that have something else at its path."""
        leaf, value = each.leaf, self._read(each)
        match leaf.kind:
            case kind if kind == NULL:
                return case((is_set(value), text("null")))
            case kind if kind == OBJECT:
                return case((is_set(value), self._of_object(leaf.path)))
            case kind if kind == ARRAY:
                return neutral("array_json", value, options=(each.element,))
            case kind if kind == JSON:
                return value
            case kind if kind == TIME:
                return self._time(leaf.path, value)
        return neutral("scalar_json", value, options=(leaf.kind,))

    def _time(self, path: Path, value: Sql) -> Sql:
        """With all the digits that it has."""
        original = next((each for each in self._known(path) if each.leaf.kind == ORIGINAL), None)
        if original is None:
            return neutral("strftime", value, options=(f'{_MOMENT}Z"',))
        finer = moments.finer(self._read(original))
        return concat(neutral("strftime", value, options=(_MOMENT,)), finer, text('Z"'))
