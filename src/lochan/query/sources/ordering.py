"""The order of a pool's key, in SQL: by kind first, as `pools/keys.py` has it, then by value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.pools.shape import BOOL, FLOAT, INT, JSON, STRING, TIME
from lochan.query.compile.sql import Sql, any_of, case, cast, coalesce, is_set, number
from lochan.query.leaves import Known, Leaf, Path

_CLASSES = ((BOOL,), (INT, FLOAT), (TIME,), (STRING,), (JSON,))

LookUp = Callable[[Path], Sequence[Known]]


def key_leaves(settings: PoolSettings, known: LookUp) -> list[Leaf]:
    """What the order is made of. None for a key that is the whole record: its rows lie in order in each object."""
    kinds = {kind for each in _CLASSES for kind in each}
    return [each.leaf for key in settings.keys if key.path for each in known(key.path) if each.leaf.kind in kinds]


def order(settings: PoolSettings, known: LookUp) -> list[exp.Ordered]:
    return [term for key in settings.keys if key.path for term in _terms(key, settings, known)]


def _terms(key: PoolKey, settings: PoolSettings, known: LookUp) -> Iterator[exp.Ordered]:
    kinds = [each.leaf.kind for each in known(key.path)]
    nulls_first = settings.nulls_first != key.descending  # null counts as the greatest value, or as the least
    classes = [[kind for kind in each if kind in kinds] for each in _CLASSES]
    present = [each for each in classes if each]
    if len(present) > 1:
        yield _ordered(_rank(key.path, present, settings.nulls_first), key.descending, nulls_first)
    for each in present:
        for value in _values(key.path, each):
            yield _ordered(value, key.descending, nulls_first)


def _rank(path: Path, classes: list[list[str]], nulls_first: bool) -> Sql:
    there = [any_of([is_set(_column(path, kind)) for kind in kinds]) for kinds in classes]
    arms = [(test, number(rank)) for rank, test in enumerate(there, 1)]
    return case(*arms, other=number(0 if nulls_first else len(classes) + 1))


def _values(path: Path, kinds: list[str]) -> Iterator[Sql]:
    if kinds != [INT, FLOAT]:
        yield from (_column(path, kind) for kind in kinds)
        return
    whole, broken = _column(path, INT), _column(path, FLOAT)
    yield coalesce(broken, cast(whole, FLOAT))
    yield whole  # two ints that are one double


def _column(path: Path, kind: str) -> Sql:
    return exp.column(Leaf(path, kind).column, quoted=True)


def _ordered(value: Sql, descending: bool, nulls_first: bool) -> exp.Ordered:
    return exp.Ordered(this=value, desc=descending, nulls_first=nulls_first)
