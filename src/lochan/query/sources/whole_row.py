"""A row as text, made of its leaves: the order of a pool whose key is the whole row.

The text is the one that the rows of each object were sorted by when they were loaded: names in order, no spaces, times
with six digits behind the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from lochan.pools.json_row import row_text
from lochan.pools.shape import ARRAY, JSON, NULL, OBJECT, TIME
from lochan.query.compile.sql import Sql, case, concat, is_set, text
from lochan.query.dialects.neutral import neutral
from lochan.query.leaves import Known, Leaf, Path

LookUp = Callable[[Path], Sequence[Known]]
Names = Callable[[Path], Sequence[str]]
_MOMENT = '"%Y-%m-%dT%H:%M:%S.%fZ"'


def leaves(known: LookUp, names: Names, above: Path = ()) -> Iterator[Leaf]:
    for name in names(above):
        for each in known((*above, name)):
            yield each.leaf
            if each.leaf.kind == OBJECT:
                yield from leaves(known, names, each.leaf.path)


def whole_row(known: LookUp, names: Names, above: Path = ()) -> Sql:
    """Over the columns of the leaves."""
    pieces = [
        concat(text(f"{row_text(name)}:"), _value(each, known, names))
        for name in sorted(names(above))
        for each in known((*above, name))
    ]
    joined = neutral("join_texts", *pieces, options=(",",)) if pieces else text("")
    return concat(text("{"), joined, text("}"))


def _value(each: Known, known: LookUp, names: Names) -> Sql:
    """NULL in rows that have something else at its path."""
    leaf = each.leaf
    column: Sql = exp.column(leaf.column, quoted=True)
    match leaf.kind:
        case kind if kind == NULL:
            return case((is_set(column), text("null")))
        case kind if kind == OBJECT:
            return case((is_set(column), whole_row(known, names, leaf.path)))
        case kind if kind == ARRAY:
            return neutral("array_json", column, options=(each.element,))
        case kind if kind == JSON:
            return column
        case kind if kind == TIME:
            return neutral("strftime", column, options=(_MOMENT,))
    return neutral("scalar_json", column, options=(leaf.kind,))
