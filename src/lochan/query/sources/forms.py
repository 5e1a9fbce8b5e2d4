"""Objects whose rows have the same shapes have the same form: where each leaf lies in their files.

What a row has is told by its shape alone, never by what a column holds: a leaf is looked up in the shapes, which give
the rows that have it, and in the layout, which gives the column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from lochan.pools.facts import Facts
from lochan.pools.layout import BODY_COLUMN, Alternate, Layout, Member, columns
from lochan.pools.shape import ARRAY, BOOL, FLOAT, INT, JSON, NULL, OBJECT, STRING, Array, Object, Type, kind_of
from lochan.query.leaves import Leaf, Path

Ids = frozenset[int]
# Of rows whose shape is not known: objects and lists among them are given as text.
OPEN_KINDS = (NULL, BOOL, INT, FLOAT, STRING, JSON)


class Place(NamedTuple):
    """Where the values of a leaf are, in the files of one form."""

    ids: Ids  # of the shapes that have the leaf
    always: bool  # every row has it
    column: tuple[str, ...] = ()  # a column and the members of its structs; empty: the shape says it all
    inside: Path | None = None  # where the column is JSON text: the path in it
    list_of: Type | None = None  # where it is a typed list
    by_value: bool = False  # no shape tells which rows have it: the text itself does

    @property
    def spot(self) -> tuple[object, ...]:
        """What must be alike for two forms to be read by one scan."""
        return self.column, self.inside, self.list_of, self.by_value


class Form:
    def __init__(self, shapes: Mapping[int, Object], keys: Sequence[Path], body: bool, layout: Layout) -> None:
        self.shapes = shapes
        self.body = body or layout.body
        self.layout = layout
        self._keys = keys
        self._places: dict[tuple[Leaf, bool], Place | None] = {}

    @property
    def is_open(self) -> bool:
        """What its rows hold shows only when they are read."""
        return self.body and not self.shapes

    @cached_property
    def columns(self) -> dict[str, Type]:
        return dict(columns(self.layout))

    @cached_property
    def _types(self) -> dict[Path, dict[Type, Ids]]:
        return {}

    def types(self, path: Path) -> dict[Type, Ids]:
        """What is at this path, and in which shapes."""
        if path not in self._types:
            found: dict[Type, set[int]] = {}
            for id, shape in self.shapes.items():
                type = type_at(shape, path)
                if type is not None:
                    found.setdefault(type, set()).add(id)
            self._types[path] = {type: frozenset(ids) for type, ids in found.items()}
        return self._types[path]

    def place(self, leaf: Leaf, lists_as_text: bool = False) -> Place | None:
        """None: no row has it. With `lists_as_text`, a leaf of kind json has the lists at its path too."""
        key = leaf, lists_as_text
        if key not in self._places:
            self._places[key] = self._open_place(leaf) if self.is_open else self._found(leaf, lists_as_text)
        return self._places[key]

    def _open_place(self, leaf: Leaf) -> Place | None:
        if leaf.kind not in OPEN_KINDS:
            return None
        return Place(frozenset(), False, (BODY_COLUMN,), leaf.path, by_value=True)

    def _found(self, leaf: Leaf, lists_as_text: bool) -> Place | None:
        kinds = (ARRAY, JSON) if lists_as_text and leaf.kind == JSON else (leaf.kind,)
        types = {type: ids for type, ids in self.types(leaf.path).items() if kind_of(type) in kinds}
        if not types:
            return None
        ids: Ids = frozenset().union(*types.values())
        always = len(ids) == len(self.shapes)
        if leaf.kind in (NULL, OBJECT):
            return Place(ids, always)
        if leaf.kind == ARRAY and all(isinstance(type, Array) and type.of is None for type in types):
            return Place(ids, always, list_of=NULL)  # they are all empty: no column is needed
        kind = JSON if JSON in map(kind_of, types) else kind_of(next(iter(types)))
        column, inside, alternate = self._column(leaf.path, kind)
        list_of = alternate.element if alternate is not None and alternate.kind == ARRAY else None
        return Place(ids, always, column, inside, list_of)

    def _column(self, path: Path, kind: str) -> tuple[tuple[str, ...], Path | None, Alternate | None]:
        """The column, where in its text, and the alternate if it has one of its own."""
        if self.body:
            key = self.layout.member(".".join(path)) if path in self._keys else None
            own = key.alternate(kind) if key else None
            return ((own.column,), None, own) if own else ((BODY_COLUMN,), path, None)
        column: tuple[str, ...] = ()
        members = self.layout.members
        found: Alternate | None = None
        for depth, name in enumerate(path, 1):
            member = _named(members, name)
            found = member.alternate(kind if depth == len(path) else OBJECT)
            if found is None or found.kind == JSON:  # a column of text, which it may share with other kinds
                text = member.alternate(JSON)
                assert text is not None, f"{path} has no column for {kind}"
                return (*column, text.column), path[depth:], None
            column, members = (*column, found.column), found.members
        return column, None, found


class Forms:
    """Each form once, however many objects have it."""

    def __init__(self) -> None:
        self._known: dict[object, Form] = {}

    def of(self, facts: Facts) -> Form:
        key = tuple((each.id, each.shape, each.rows > 0) for each in facts.shapes), facts.keys, facts.body
        found = self._known.get(key)
        if found is None:
            # One without a row is there for the layout alone.
            shapes = {each.id: each.shape for each in facts.shapes if each.rows}
            found = self._known[key] = Form(shapes, facts.keys, facts.body, facts.layout())
        return found


def type_at(type: Type, path: Path) -> Type | None:
    for name in path:
        if not isinstance(type, Object):
            return None
        inner = next((each for field, each in type.fields if field == name), None)
        if inner is None:
            return None
        type = inner
    return type


def _named(members: Sequence[Member], name: str) -> Member:
    return next(member for member in members if member.name == name)
