"""A form describes where each leaf is in the files of objects whose rows have the same shapes.

A leaf is looked up in the shapes, which determine the rows that have it, and in the layout, which determines the
column. If it may be null by its shape, the column decides, by being NULL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from lochan.pools.facts import Facts
from lochan.pools.kinds import ARRAY, BOOL, DECIMAL, FLOAT, INT, JSON, NULL, OBJECT, ORIGINAL, STRING, TIME
from lochan.pools.layout import BODY_COLUMN, Alternate, Column, DecimalColumn, Layout, Member, columns
from lochan.pools.shape import TEXT_TIME, Array, Leaf, Maybe, Object, Path, Type, kind_of, sure, type_at

Ids = frozenset[int]
# The kinds in rows of unknown shape: their objects and lists are text.
OPEN_KINDS = (NULL, BOOL, INT, FLOAT, STRING, JSON)


class NullMark(NamedTuple):
    """A test of a value that may be null: the column to test, and the result that is required."""

    column: tuple[str, ...]
    inside: Path | None
    is_null: bool


class Place(NamedTuple):
    """The place of a leaf's values in the files of one form."""

    ids: Ids  # the ids of the shapes that have the leaf
    every: bool  # whether all shapes have it
    column: tuple[str, ...] = ()  # a column and the members of its structs; empty if the shape alone decides
    inside: Path | None = None  # if the column is JSON text: the path in it
    list_of: Type | None = None  # if it is a typed list: the type of its elements
    by_value: bool = False  # whether the text itself, and no shape, determines which rows have it
    null_marks: Mapping[tuple[NullMark, ...], Ids] = MappingProxyType(
        {}
    )  # tests of columns, and the shapes that need them

    @property
    def always(self) -> bool:
        """Whether every row has it."""
        return self.every and not self.null_marks

    @property
    def paths(self) -> list[tuple[str, ...]]:
        """The columns, or members of structs, that must be read."""
        return [each for each in (self.column, *(mark.column for marks in self.null_marks for mark in marks)) if each]

    @property
    def columns(self) -> set[str]:
        return {path[0] for path in self.paths}

    @property
    def spot(self) -> tuple[object, ...]:
        """A value that is equal for two forms that one scan can read."""
        return self.column, self.inside, self.list_of, self.by_value


class Form:
    def __init__(
        self,
        shapes: Mapping[int, Object],
        keys: Sequence[Path],
        body: bool,
        layout: Layout,
        others: Iterable[Object] = (),
        decimals: Iterable[DecimalColumn] = (),
        times: Collection[Path] = (),
    ) -> None:
        """Describes the objects of these shapes. `others` have no rows, but are part of the layout. Strings at `times`
        are not times."""
        self.shapes = shapes
        self.laid_out = (*shapes.values(), *others)  # the shapes of the layout
        self.body = body or layout.body
        self.layout = layout
        self._keys = keys
        self._times = frozenset(times)
        self._decimals: dict[Column, DecimalColumn] = {each.text: each for each in decimals}
        self._places: dict[tuple[Leaf, bool], Place | None] = {}

    @property
    def is_open(self) -> bool:
        """Whether the content of its rows is unknown until they are read."""
        return self.body and not self.shapes

    @cached_property
    def columns(self) -> dict[str, Type]:
        beside = {each.column: each.type for each in self._decimals.values() if each.column}
        return {**dict(columns(self.layout)), **beside}

    @cached_property
    def _by_path(self) -> dict[Path, list[_Seen]]:
        return {}

    def types(self, path: Path) -> dict[Type, None]:
        """Returns the types at this path, with null if it may be null."""
        seen = self._at(path)
        found: dict[Type, None] = dict.fromkeys(sure(each.type) for each in seen)
        if any(isinstance(each.type, Maybe) for each in seen):
            found[NULL] = None
        return found

    def has_always(self, path: Path) -> bool:
        """Returns whether every row has it, even if it is null."""
        seen = self._at(path)
        return len(seen) == len(self.shapes) and not any(each.below for each in seen)

    def see_all(self) -> None:
        """Prepares for queries of every path: walks through the shapes once, instead of once for each path."""
        found: dict[Path, list[_Seen]] = {}
        for id, shape in self.shapes.items():
            for path, type, below in _walk(shape):
                found.setdefault(path, []).append(_Seen(id, type, below))
        self._by_path.update(found)

    def _at(self, path: Path) -> list[_Seen]:
        if path not in self._by_path:
            found = ((id, type_at(shape, path)) for id, shape in self.shapes.items())
            self._by_path[path] = [
                _Seen(id, type, _maybe_above(self.shapes[id], path)) for id, type in found if type is not None
            ]
        return self._by_path[path]

    def decimals(self, path: Path, lists_as_text: bool = False) -> DecimalColumn | None:
        """Returns the column of all numbers among the texts at this path; its name is empty if there are none. Returns
        None if the texts themselves must be read."""
        place = self.place(Leaf(path, JSON), lists_as_text)
        if place is None or place.list_of is not None:
            return DecimalColumn((), "")
        if place.by_value or place.inside:
            return None
        return self._decimals.get(place.column)

    def may_say_times(self, path: Path) -> bool:
        """Returns whether strings at this path, which is declared as a time, may be times."""
        return self.place(Leaf(path, STRING)) is not None and (self.is_open or path not in self._times)

    def has_originals(self, path: Path) -> bool:
        """Returns whether times at this path may be finer than microseconds."""
        return self.place(Leaf(path, ORIGINAL)) is not None

    def place(self, leaf: Leaf, lists_as_text: bool = False) -> Place | None:
        """Returns the place of a leaf, or None if no row has it. With `lists_as_text`, a leaf of kind json includes the
        lists at its path."""
        key = leaf, lists_as_text
        if key not in self._places:
            self._places[key] = self._open_place(leaf) if self.is_open else self._find_place(leaf, lists_as_text)
        return self._places[key]

    def _open_place(self, leaf: Leaf) -> Place | None:
        if leaf.kind not in OPEN_KINDS:
            return None
        return Place(frozenset(), False, (BODY_COLUMN,), leaf.path, by_value=True)

    def _find_place(self, leaf: Leaf, lists_as_text: bool) -> Place | None:
        if leaf.kind == DECIMAL:
            decimal = self.decimals(leaf.path, lists_as_text)
            return None if decimal is None or not decimal.column else Place(frozenset(), False, (decimal.column,))
        if leaf.kind == ORIGINAL:
            return self._original(leaf.path)
        kinds = (ARRAY, JSON) if lists_as_text and leaf.kind == JSON else (leaf.kind,)
        seen = [each for each in self._at(leaf.path) if each.may_be(kinds)]
        if not seen:
            return None
        ids = frozenset(each.id for each in seen)
        found = Place(ids, len(ids) == len(self.shapes), null_marks=self._null_marks(leaf, seen))
        if leaf.kind in (NULL, OBJECT):
            return found
        types = [sure(each.type) for each in seen]
        if leaf.kind == ARRAY and all(isinstance(type, Array) and type.of is None for type in types):
            return found._replace(list_of=NULL)  # all lists are empty, so no column is needed
        kind = JSON if JSON in map(kind_of, types) else kind_of(types[0])
        column, inside, alternate = self._column(leaf.path, kind)
        list_of = alternate.element if alternate is not None and alternate.kind == ARRAY else None
        return found._replace(column=column, inside=inside, list_of=list_of)

    def _original(self, path: Path) -> Place | None:
        seen = [each for each in self._at(path) if sure(each.type) == TEXT_TIME]
        if not seen:
            return None
        column, inside, own = self._column(path, TIME)
        if own is not None:
            column = (*column[:-1], own.original)
        ids = frozenset(each.id for each in seen)
        marks = self._null_marks(Leaf(path, TIME), seen)
        return Place(ids, len(ids) == len(self.shapes), column, inside, null_marks=marks)

    def _null_marks(self, leaf: Leaf, seen: Sequence[_Seen]) -> dict[tuple[NullMark, ...], Ids]:
        """Returns the tests of columns that are needed, and the shapes that need them."""
        found: dict[tuple[NullMark, ...], set[int]] = {}
        for each in seen:
            tests = []
            if each.below:
                tests.append(NullMark(*self._column(each.below, OBJECT)[:2], is_null=False))
            if isinstance(each.type, Maybe):
                tests.append(NullMark(*self._column(leaf.path, kind_of(each.type))[:2], is_null=leaf.kind == NULL))
            if tests:
                found.setdefault(tuple(tests), set()).add(each.id)
        return {tests: frozenset(ids) for tests, ids in found.items()}

    def _column(self, path: Path, kind: str) -> tuple[tuple[str, ...], Path | None, Alternate | None]:
        """Returns the column, the path in its text, and the alternate if there is one for this kind."""
        if self.body:
            key = self.layout.member(".".join(path)) if path in self._keys else None
            own = key.alternate(kind) if key else None
            return ((own.column,), None, own) if own else ((BODY_COLUMN,), path, None)
        column: tuple[str, ...] = ()
        members = self.layout.members
        found: Alternate | None = None
        for depth, name in enumerate(path, 1):
            member = _find_member(members, name)
            found = member.alternate(kind if depth == len(path) else OBJECT)
            if found is None or found.kind == JSON:  # a column of text, shared with other kinds
                text = member.alternate(JSON)
                assert text is not None, f"{path} has no column for {kind}"
                return (*column, text.column), path[depth:], None
            column, members = (*column, found.column), found.members
        return column, None, found


class Forms:
    """Creates each form once, however many objects have it."""

    def __init__(self) -> None:
        self._known: dict[object, Form] = {}

    def of(self, facts: Facts) -> Form:
        key = (
            tuple((each.id, each.shape, each.rows > 0) for each in facts.shapes),
            facts.keys,
            facts.body,
            facts.decimals,
            facts.times,
        )
        found = self._known.get(key)
        if found is None:
            shapes = {each.id: each.shape for each in facts.shapes if each.rows}
            others = (each.shape for each in facts.shapes if not each.rows)
            rest = others, facts.decimals, facts.times
            found = self._known[key] = Form(shapes, facts.keys, facts.body, facts.layout(), *rest)
        return found


class _Seen(NamedTuple):
    """A shape with something at a path."""

    id: int
    type: Type
    below: Path  # the innermost object above it that may be null; empty if there is none

    def may_be(self, kinds: Collection[str]) -> bool:
        return kind_of(self.type) in kinds or (isinstance(self.type, Maybe) and NULL in kinds)


def _walk(shape: Object, above: Path = (), below: Path = ()) -> Iterator[tuple[Path, Type, Path]]:
    """Yields every path, its type, and the innermost object above it that may be null."""
    for name, type in shape.fields:
        path = (*above, name)
        yield path, type, below
        if isinstance(inner := sure(type), Object):
            yield from _walk(inner, path, path if isinstance(type, Maybe) else below)


def _maybe_above(shape: Object, path: Path) -> Path:
    ends = (end for end in range(len(path) - 1, 0, -1) if isinstance(type_at(shape, path[:end]), Maybe))
    return path[: next(ends, 0)]


def _find_member(members: Sequence[Member], name: str) -> Member:
    return next(member for member in members if member.name == name)
