"""The files and tables that a plan reads. In the plan's SQL each is a table with a name of its own, which the engine
replaces: DuckDB by `read_parquet([…])`, Spark by a view.

    scan 1    files of data objects: every column by its name; one that a file lacks is NULL in its rows
    rows 1    an Arrow table in memory
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
from sqlglot import exp

from lochan.pools.forms import Form, Place
from lochan.pools.kinds import STRING
from lochan.pools.layout import BODY_COLUMN
from lochan.pools.shape import Leaf, Object, Type
from lochan.pools.snapshot import DataObject


class FileScan(NamedTuple):
    objects: Sequence[DataObject]
    columns: dict[str, Type]  # the columns that the plan reads, with the type that they have in files that have them
    uniform: bool  # every file has all of them, of the same type
    with_gaps: Collection[str] = ()  # columns that are read in part, if some files lack the object around that part


class Scans:
    def __init__(self) -> None:
        self.files: dict[str, FileScan] = {}
        self.tables: dict[str, pa.Table] = {}

    def add_files(self, scan: FileScan) -> str:
        name = f"scan {len(self.files) + 1}"
        self.files[name] = scan
        return name

    def add_table(self, table: pa.Table) -> str:
        name = f"rows {len(self.tables) + 1}"
        self.tables[name] = table
        return name


def table(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))


# ── forms that one scan can read ─────────────────────────────────────────────────────────────────────────────────────


# Only the columns that the plan reads decide: a thousand schemas that agree on two fields are one scan of these.
Places = dict[Leaf, Place | None]
Slots = dict[str, tuple[str, Type]]  # by a column's name in lower case: its real name, and its type
Path = tuple[str, ...]  # a column, and the members of its structs


class ScanPart(NamedTuple):
    """A form in one plan."""

    form: Form
    places: Places
    renumbered: Mapping[int, int]  # shapes that have another number in the source than in the object


class ScanGroup(NamedTuple):
    forms: list[Form]
    places: Places
    columns: Slots
    renumbered: Mapping[int, int]
    uniform: bool  # every file has all of the columns
    gaps: frozenset[Path] = frozenset()  # paths that some files lack although they have the object around them

    @property
    def with_gaps(self) -> set[str]:
        """The columns that are read in part, and have a gap in that part."""
        paths = (path for place in self.places.values() if place for path in place.paths)
        return {path[0] for path in paths if any(path[:depth] in self.gaps for depth in range(2, len(path)))}

    @property
    def body(self) -> bool:
        """Whether some of its files store rows as text."""
        return any(form.body for form in self.forms)


def group_parts(parts: Sequence[ScanPart], *, body: bool = False) -> list[ScanGroup]:
    """Groups parts that one scan can read. With `body`, the texts of rows are read too, where there are any."""
    roots = {BODY_COLUMN} if body else set()
    places = (place for part in parts for place in part.places.values() if place)
    roots |= {column.lower() for place in places for column in place.columns}
    groups: list[ScanGroup] = []
    for part in parts:
        alone = ScanGroup([part.form], part.places, _slots(part.form, roots), part.renumbered, True)
        for number, group in enumerate(groups):
            joined = _join_groups(group, alone)
            if joined is not None:
                groups[number] = joined
                break
        else:
            groups.append(alone)
    return groups


def _slots(form: Form, roots: set[str]) -> Slots:
    columns = {**form.columns, BODY_COLUMN: STRING} if form.body else form.columns
    return {name.lower(): (name, type) for name, type in columns.items() if name.lower() in roots}


def _join_groups(one: ScanGroup, other: ScanGroup) -> ScanGroup | None:
    if one.renumbered != other.renumbered:
        return None
    gaps: set[Path] = set()
    columns = _join_slots(one.columns, other.columns, (), gaps)
    if columns is None:
        return None
    places: Places = {}
    for leaf, place in one.places.items():
        another = other.places[leaf]
        if place and another and place.spot != another.spot:
            return None
        places[leaf] = _join_places(place, another)
    uniform = one.uniform and other.uniform and one.columns == other.columns
    return ScanGroup([*one.forms, *other.forms], places, columns, one.renumbered, uniform, one.gaps | other.gaps | gaps)


def _join_places(one: Place | None, other: Place | None) -> Place | None:
    if one is None or other is None:
        there = one or other
        return there._replace(every=False) if there else None
    marks = dict(one.null_marks)
    for tests, ids in other.null_marks.items():
        marks[tests] = marks.get(tests, frozenset()) | ids
    return one._replace(ids=one.ids | other.ids, every=one.every and other.every, null_marks=marks)


def _join_slots(one: Slots, other: Slots, around: Path, gaps: set[Path]) -> Slots | None:
    both = {**one, **other}
    for folded in one.keys() & other.keys():
        (name, type), (another, also) = one[folded], other[folded]
        joined = _joined_types(type, also, (*around, name), gaps) if name == another else None
        if joined is None:
            return None
        both[folded] = name, joined
    if around:
        gaps.update((*around, both[folded][0]) for folded in one.keys() ^ other.keys())
    return both


def _joined_types(one: Type, other: Type, at: Path, gaps: set[Path]) -> Type | None:
    if one == other:
        return one
    if not (isinstance(one, Object) and isinstance(other, Object)):
        return None
    members = _join_slots(_members(one), _members(other), at, gaps)
    return None if members is None else Object(tuple(members.values()))


def _members(of: Object) -> Slots:
    return {name.lower(): (name, type) for name, type in of.fields}
