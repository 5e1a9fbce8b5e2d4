"""The order of a pool's key, in SQL: by kind first (`pools/kinds.py`), then by value. Values that are not scalars are
ordered by their text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.pools.json_row import row_text
from lochan.pools.kinds import (
    ARRAY,
    CLASSES,
    COMPOSITE,
    DECIMAL,
    FLOAT,
    INT,
    JSON,
    NULL,
    OBJECT,
    ORIGINAL,
    STRING,
    TIME,
)
from lochan.pools.shape import Leaf, Path
from lochan.query.compile import decimals, moments
from lochan.query.compile.comparison import number_keys
from lochan.query.compile.logic import any_of, case, coalesce, is_null, is_set
from lochan.query.compile.numbers import key as number_key
from lochan.query.compile.numbers import split
from lochan.query.compile.sql import Sql, concat, number, text
from lochan.query.compile.value import Exact, Value
from lochan.query.dialects.neutral import neutral
from lochan.query.leaves import LeafInfo

_TEXT_TIME, _TEXT = "text-time", "text"  # strings where some are times: those, and the rest
_PARTS = {TIME: (_TEXT_TIME,), STRING: (_TEXT,)}
_CLASSES = tuple((*kinds, *(part for kind in kinds for part in _PARTS.get(kind, ()))) for kinds in CLASSES)
_KINDS = frozenset(kind for each in _CLASSES for kind in each)


def key_leaves(settings: PoolSettings, known: LookUp, names: Names) -> list[Leaf]:
    """Returns the leaves that the order is made of. There are none for a key that is the whole record, which is ordered
    by its text."""
    found = (
        leaf
        for key in settings.keys
        if key.path
        for leaf in leaves_at(known, names, key.path)
        if leaf.path != key.path or leaf.kind in _KINDS or leaf.kind == ORIGINAL
    )
    return list(dict.fromkeys(found))


def order(settings: PoolSettings, known: LookUp, names: Names) -> list[exp.Ordered]:
    texts = Texts(known, names)
    return [term for key in settings.keys if key.path for term in _terms(key, settings, known, texts)]


def is_composite(settings: PoolSettings, known: LookUp) -> bool:
    """Returns whether a part of the key may be an object or a list, or a string that is a time."""
    every = (each for key in settings.keys if key.path for each in known(key.path))
    return any(each.leaf.kind in COMPOSITE or each.timed for each in every)


def has_originals(settings: PoolSettings, known: LookUp) -> bool:
    """Returns whether a part of the key may be a time that is more exact than microseconds."""
    return any(each.leaf.kind == ORIGINAL for key in settings.keys if key.path for each in known(key.path))


def _terms(key: PoolKey, settings: PoolSettings, known: LookUp, texts: Texts) -> Iterator[exp.Ordered]:
    kinds = [each.leaf.kind for each in known(key.path)]
    timed = any(each.timed for each in known(key.path))
    if timed:
        kinds = [
            *(kind for kind in kinds if kind not in (TIME, STRING)),
            *((TIME,) * (TIME in kinds)),
            _TEXT_TIME,
            _TEXT,
        ]
    known_decimals = next((each for each in known(key.path) if each.leaf.kind == DECIMAL), None)
    if JSON in kinds and known_decimals is None and not any(each.numberless for each in known(key.path)):
        kinds.append(DECIMAL)  # some of these texts may be numbers
    exact = None if known_decimals is None else Exact(_leaf(known_decimals.leaf), known_decimals.digits)
    nulls_first = settings.nulls_first != key.descending  # null counts as the greatest value, or as the least
    classes = [[kind for kind in each if kind in kinds] for each in _CLASSES]
    present = [each for each in classes if each]
    if len(present) > 1:
        yield _order_term(_rank(key.path, present, settings.nulls_first, exact), key.descending, nulls_first)
    for each in present:
        for value in _values(key.path, each, texts, exact, original=ORIGINAL in kinds):
            yield _order_term(value, key.descending, nulls_first)


def _rank(path: Path, classes: list[list[str]], nulls_first: bool, exact: Exact | None) -> Sql:
    there = [any_of([is_set(_column(path, kind, exact)) for kind in kinds]) for kinds in classes]
    arms = [(test, number(rank)) for rank, test in enumerate(there, 1)]
    return case(*arms, other=number(0 if nulls_first else len(classes) + 1))


def _values(path: Path, kinds: list[str], texts: Texts, exact: Exact | None, *, original: bool) -> Iterator[Sql]:
    if kinds[0] in COMPOSITE:
        text = texts.of_key(path)
        assert text is not None
        yield case((is_null(_column(path, DECIMAL, exact)), text)) if JSON in kinds else text
    elif _TEXT_TIME in kinds or TIME in kinds:
        found = [_column(path, kind) for kind in kinds]
        yield coalesce(*found)
        originals = [_leaf(Leaf(path, ORIGINAL))] if original else []
        if _TEXT_TIME in kinds:
            originals.append(moments.split(_leaf(Leaf(path, STRING))).original)
        if originals:
            yield case((any_of(map(is_set, found)), moments.finer(coalesce(*originals))))
    elif DECIMAL in kinds:
        value = Value({kind: _column(path, kind, exact) for kind in kinds}, exact=exact)
        yield from decimals.keys(value) or [number_key(value)]
    elif kinds == [INT, FLOAT]:
        yield from number_keys(_column(path, INT), _column(path, FLOAT))
    else:
        yield from (_column(path, kind) for kind in kinds)


def _column(path: Path, kind: str, exact: Exact | None = None) -> Sql:
    if kind in (_TEXT_TIME, _TEXT):
        parts = moments.split(exp.column(Leaf(path, STRING).column, quoted=True))
        return parts.time if kind == _TEXT_TIME else parts.rest
    if kind in (DECIMAL, JSON):
        number, other = split(exp.column(Leaf(path, JSON).column, quoted=True), exact)
        return number if kind == DECIMAL else other
    return _leaf(Leaf(path, kind))


def _leaf(leaf: Leaf) -> Sql:
    return exp.column(leaf.column, quoted=True)


def _order_term(value: Sql, descending: bool, nulls_first: bool) -> exp.Ordered:
    return exp.Ordered(this=value, desc=descending, nulls_first=nulls_first)


# ── texts of rows, objects and lists ─────────────────────────────────────────────────────────────────────────────────


LookUp = Callable[[Path], Sequence[LeafInfo]]
Names = Callable[[Path], Sequence[str]]
Read = Callable[[LeafInfo], Sql]  # the value of a leaf
_MOMENT = '"%Y-%m-%dT%H:%M:%S.%f'


def leaves(known: LookUp, names: Names, above: Path = ()) -> Iterator[Leaf]:
    for name in names(above):
        yield from leaves_at(known, names, (*above, name))


def leaves_at(known: LookUp, names: Names, path: Path) -> Iterator[Leaf]:
    """Yields the leaves at a path, and below it."""
    for each in known(path):
        yield each.leaf
        if each.leaf.kind == OBJECT:
            yield from leaves(known, names, path)


def by_column(each: LeafInfo) -> Sql:
    """Returns the leaf's column, for a query over one that has the leaves as columns."""
    return exp.column(each.leaf.column, quoted=True)


class Texts:
    """Texts made of leaves. `read` returns the value of a leaf.

    A text is the same wherever the value is stored, in structs, in lists or in JSON text: names in order at each
    level, no spaces, times with six digits after the second. Only in lists names stay in the order in which they
    were written."""

    def __init__(self, known: LookUp, names: Names, read: Read = by_column) -> None:
        self._known = known
        self._names = names
        self._read = read

    def of_row(self) -> Sql:
        return self._of_object(())

    def of_key(self, path: Path) -> Sql | None:
        """Returns the text of the key, which is NULL in rows that have a scalar there, or nothing. Returns None if all
        rows are of that sort."""
        found = [self._value(each) for each in self._known(path) if each.leaf.kind in COMPOSITE]
        return coalesce(*found) if found else None

    def _of_object(self, path: Path) -> Sql:
        pieces = [
            concat(text(f"{row_text(name)}:"), self._value(each))
            for name in sorted(self._names(path))
            for each in self._known((*path, name))
            if each.leaf.kind not in (DECIMAL, ORIGINAL)  # they are beside another leaf
        ]
        joined = neutral("join_texts", *pieces, options=(",",)) if pieces else text("")
        return concat(text("{"), joined, text("}"))

    def _value(self, each: LeafInfo) -> Sql:
        """Returns the text of a value, which is NULL in rows that have another kind at its path."""
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
        """Returns the text of a time, with all its digits."""
        original = next((each for each in self._known(path) if each.leaf.kind == ORIGINAL), None)
        if original is None:
            return neutral("strftime", value, options=(f'{_MOMENT}Z"',))
        finer = moments.finer(self._read(original))
        return concat(neutral("strftime", value, options=(_MOMENT,)), finer, text('Z"'))
