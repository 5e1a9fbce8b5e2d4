"""Which objects can hold rows that pass a test, judged by what their entries know of their columns; and what tells that
the others cannot. Objects of one form are judged together, since a field lies in the same column of all of them.

A judgement is a number for each object: 0, a row of it may pass; else that of the reason why none does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lochan.formats import bloom
from lochan.formats.pool_settings import path_text
from lochan.pools.facts import ColumnFacts
from lochan.pools.shape import FLOAT, INT, STRING
from lochan.query.leaves import Leaf, Path
from lochan.query.sources.bounds import All, Compare, Either, OneOf, Test
from lochan.query.sources.forms import Form

Judged = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Values = npt.NDArray[np.object_]
NUMBERS = (INT, FLOAT)


class Judge:
    """Of `count` objects of one form. `columns` gives what is known of a column of each (ColumnFacts, or None)."""

    def __init__(self, form: Form, columns: Callable[[Path], Values], count: int) -> None:
        self._form = form
        self._columns = columns
        self._may = np.zeros(count, np.int64)
        self.reasons = [""]

    def judge(self, test: Test) -> Judged:
        if self._form.is_open:
            return self._may
        match test:
            case All(tests):
                judged = self._may
                for each in tests:
                    judged = np.where(judged == 0, self.judge(each), judged)
                return judged
            case Either(tests):
                return self._if_all([self.judge(each) for each in tests])
            case OneOf(path, values):
                return self._if_all([self.judge(Compare(path, "==", *value)) for value in values])
            case Compare():
                found = list(self._columns_without(test))
                return self._if_all(found) if found else self._may + self._reason(_no_value(test))
        return self._may

    def _if_all(self, judged: Sequence[Judged]) -> Judged:
        """The first of the reasons where there are only reasons."""
        if not judged:
            return self._may
        against = np.logical_and.reduce([each > 0 for each in judged])
        return np.where(against, judged[0], 0)

    def _reason(self, text: str) -> int:
        if text not in self.reasons:
            self.reasons.append(text)
        return self.reasons.index(text)

    def _columns_without(self, test: Compare) -> Iterator[Judged]:
        """For each column that could hold such a value, why it does not."""
        for kind in NUMBERS if test.kind in NUMBERS else (test.kind,):
            place = self._form.place(Leaf(test.path, kind))
            if place is not None:
                yield self._may if place.inside is not None else self._column_without(test, self._columns(place.column))

    def _column_without(self, test: Compare, columns: Values) -> Judged:
        judged, name = self._may.copy(), path_text(test.path)
        known = np.flatnonzero(columns != None)  # noqa: E711  for each
        told: list[ColumnFacts] = columns[known].tolist()
        empty = np.fromiter((each.present == 0 for each in told), np.bool_, len(told))
        outside = _outside(test, told) & ~empty
        judged[known[empty]] = self._reason(_no_value(test))
        judged[known[outside]] = self._reason(f"least and greatest {name}")
        left = known[judged[known] == 0]
        if test.op == "==" and test.kind in (INT, STRING):
            filtered = _filtered(test, columns[left].tolist())
            judged[left[filtered]] = self._reason(f"the filter of {name}")
        return judged


def _no_value(test: Compare) -> str:
    return f"no such value in {path_text(test.path)}"


def _outside(test: Compare, columns: Sequence[ColumnFacts]) -> Mask:
    """By the least and the greatest value; Python's own comparison, which is exact between ints and floats."""
    outside = np.zeros(len(columns), np.bool_)
    bounded = [at for at, each in enumerate(columns) if each.least is not None and each.greatest is not None]
    if not bounded:
        return outside
    value: Any = test.value
    low, high = (_objects([getattr(columns[at], which) for at in bounded]) for which in ("least", "greatest"))
    cut = np.fromiter((columns[at].cut for at in bounded), np.bool_, len(bounded))
    above = (high < value).astype(np.bool_)
    if cut.any() and test.kind == STRING:  # a greater one may begin with it
        above[cut] &= ~np.fromiter((value.startswith(each) for each in high[cut]), np.bool_, int(cut.sum()))
    match test.op:
        case "==":
            outside[bounded] = (low > value).astype(np.bool_) | above
        case "<":
            outside[bounded] = low >= value
        case "<=":
            outside[bounded] = low > value
        case ">":
            outside[bounded] = above | ((high == value).astype(np.bool_) & ~cut)
        case _:
            outside[bounded] = above
    return outside


def _objects(values: list[Any]) -> Values:
    made = np.empty(len(values), np.object_)
    made[:] = values
    return made


def _filtered(test: Compare, columns: Sequence[ColumnFacts]) -> Mask:
    """By the filter over the texts of a column's values, where it has one."""
    hashed = bloom.hash_one(str(test.value))
    filters = ((each.bloom if each.kind == test.kind else b"") for each in columns)
    return np.fromiter((bool(each) and not bloom.may_hold(each, hashed) for each in filters), np.bool_, len(columns))
