"""Selects the objects that can hold rows that pass a test, by the statistics of their columns, with the reason why
others cannot. Objects of one form are judged together, because a field is in the same column of all of them.

A judgement is a number for each object: 0 if a row may pass, else the number of the reason why none does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from lochan.formats import bloom
from lochan.formats.pool_settings import path_text
from lochan.pools.facts import ColumnFacts
from lochan.pools.forms import Form
from lochan.pools.kinds import DECIMAL, FLOAT, INT, NULL, SCALARS, STRING, TIME
from lochan.pools.row_tests import All, Compare, Either, Has, IsNull, Missing, OneOf, Test, Unlike, Valued
from lochan.pools.shape import Leaf, Path, kind_of

Judged = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Values = npt.NDArray[np.object_]
NUMBERS = (INT, FLOAT, DECIMAL)


class StatisticsTest:
    """Judges objects of one form. `rows` are their numbers of rows. `columns` returns the ColumnFacts of a column for
    each object, or None."""

    def __init__(
        self,
        form: Form,
        columns: Callable[[Path], Values],
        rows: npt.NDArray[np.int64],
        times: Collection[Path] = (),
    ) -> None:
        """Judges no test yet. `times` are paths whose strings may be times."""
        self._times = times
        self._form = form
        self._columns = columns
        self._rows = rows
        self._may = np.zeros(len(rows), np.int64)
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
                return self._if_all(found) if found else self._may + self._reason(_no_value(test.path))
            case Unlike(compare):
                return self._against(self._all_pass(compare), _by_ends(compare.path))
            case Has(path) | Valued(path) | IsNull(path) | Missing(path):
                return self._judge_presence(test, path)
        return self._may

    def _judge_presence(self, test: Has | Valued | IsNull | Missing, path: Path) -> Judged:
        types, name = self._form.types(path), path_text(path)
        match test:
            case Has():
                return self._may if types else self._may + self._reason(f"no {name}")
            case Valued():
                return self._against(self._count_present(path) == 0, _no_value(path))
            case IsNull() if NULL not in types:
                return self._may + self._reason(f"no null in {name}")
            case Missing() if self._form.has_always(path):
                return self._may + self._reason(f"every row has {name}")
        return self._against(self._count_present(path) == self._rows, f"every row has a value in {name}")

    def _count_present(self, path: Path) -> npt.NDArray[np.int64]:
        """Returns how many rows of each object have a value there that is not null, or -1 if that is unknown."""
        kinds = {kind_of(each) for each in self._form.types(path)} - {NULL}
        places = [self._form.place(Leaf(path, kind)) for kind in kinds]
        if not kinds <= set(SCALARS) or any(place is None or place.inside is not None for place in places):
            return self._may - 1
        found, unknown = self._may.copy(), np.zeros(len(self._may), np.bool_)
        for place in places:
            assert place is not None
            facts = [-1 if each is None else each.present for each in self._columns(place.column).tolist()]
            found += np.array(facts, np.int64)
            unknown |= np.array(facts) < 0
        return np.where(unknown, -1, found)

    def _all_pass(self, test: Compare) -> Mask:
        """Returns the objects in which every row passes. This is certain only for columns with known bounds."""
        kinds = [kind for kind in _comparable_kinds(test.kind) if self._form.place(Leaf(test.path, kind)) is not None]
        others = {kind_of(each) for each in self._form.types(test.path)} - {NULL, *kinds}
        passing = np.full(len(self._may), not others and bool(kinds))
        if not passing.any():
            return passing
        passing &= self._count_present(test.path) == self._rows
        for kind in kinds:
            place = self._form.place(Leaf(test.path, kind))
            assert place is not None
            if place.inside is None:
                facts = self._columns(place.column).tolist()
                fine = kind == TIME and self._form.has_originals(test.path)
                passing &= np.fromiter((each is not None and _all_within(test, each, fine) for each in facts), np.bool_)
        return passing

    def _against(self, excluded: Mask, reason: str) -> Judged:
        return np.where(excluded, self._reason(reason), 0) if excluded.any() else self._may

    def _if_all(self, judged: Sequence[Judged]) -> Judged:
        """Returns the first reason, for objects that all judgements exclude."""
        if not judged:
            return self._may
        against = np.logical_and.reduce([each > 0 for each in judged])
        return np.where(against, judged[0], 0)

    def _reason(self, text: str) -> int:
        if text not in self.reasons:
            self.reasons.append(text)
        return self.reasons.index(text)

    def _columns_without(self, test: Compare) -> Iterator[Judged]:
        """Yields, for each column that could hold such a value, the reason why it does not."""
        if test.kind == TIME and test.path in self._times and self._form.may_say_times(test.path):
            yield self._may  # a string may be a time
        if test.kind == TIME and test.op == ">" and self._form.has_originals(test.path):
            test = test._replace(op=">=")  # a time may be later within the microsecond
        if test.kind in NUMBERS and self._form.decimals(test.path) is None:
            yield self._may  # a text may be a number of many digits
        for kind in _comparable_kinds(test.kind):
            place = self._form.place(Leaf(test.path, kind))
            if place is not None:
                yield self._may if place.inside is not None else self._column_without(test, self._columns(place.column))

    def _column_without(self, test: Compare, columns: Values) -> Judged:
        judged = self._may.copy()
        with_facts = np.flatnonzero(columns != None)  # noqa: E711  for each
        facts: list[ColumnFacts] = columns[with_facts].tolist()
        empty = np.fromiter((each.present == 0 for each in facts), np.bool_, len(facts))
        outside = _excluded_by_bounds(test, facts) & ~empty
        judged[with_facts[empty]] = self._reason(_no_value(test.path))
        judged[with_facts[outside]] = self._reason(_by_ends(test.path))
        left = with_facts[judged[with_facts] == 0]
        if test.op == "==" and test.kind in (INT, STRING):
            filtered = _check_filters(test, columns[left].tolist())
            judged[left[filtered]] = self._reason(f"the filter of {path_text(test.path)}")
        return judged


def _no_value(path: Path) -> str:
    return f"no such value in {path_text(path)}"


def _by_ends(path: Path) -> str:
    return f"least and greatest {path_text(path)}"


def _comparable_kinds(kind: str) -> tuple[str, ...]:
    """Returns the kinds whose values compare with each other."""
    return NUMBERS if kind in NUMBERS else (kind,)


def _all_within(test: Compare, column: ColumnFacts, fine: bool) -> bool:
    """Returns whether all values of a column pass. The greatest may be cut; the least is a lower bound. Times that are
    `fine` may be later than stored, by less than a microsecond."""
    if column.present == 0:
        return True
    if column.least is None or column.greatest is None or (column.cut and test.op in ("==", "<", "<=")):
        return False
    low, high, value = (
        _comparable(each, test.kind, column.kind) for each in (column.least, column.greatest, test.value)
    )
    match test.op:
        case "==":
            return bool(low == high == value) and not fine
        case "<":
            return bool(high < value)
        case "<=":
            return bool(high < value if fine else high <= value)
        case ">":
            return bool(low > value)
    return bool(low > value if getattr(value, "finer", "") else low >= value)


def _comparable(value: Any, *kinds: str) -> Any:
    """Returns a value for comparisons. Beside decimals, a float counts as its shortest text. The bounds of decimals are
    texts."""
    if DECIMAL not in kinds or isinstance(value, int) or value in (inf, -inf) or value != value:
        return value
    return Decimal(repr(value) if isinstance(value, float) else value)


def _excluded_by_bounds(test: Compare, columns: Sequence[ColumnFacts]) -> Mask:
    """Returns the objects whose bounds exclude the test. Python compares ints and floats exactly."""
    outside = np.zeros(len(columns), np.bool_)
    bounded = [at for at, each in enumerate(columns) if each.least is not None and each.greatest is not None]
    if not bounded:
        return outside
    kinds = test.kind, columns[bounded[0]].kind  # all bounds are of one column, and so of one kind
    value: Any = _comparable(test.value, *kinds)
    low, high = (
        _objects([_comparable(getattr(columns[at], which), *kinds) for at in bounded])
        for which in ("least", "greatest")
    )
    cut = np.fromiter((columns[at].cut for at in bounded), np.bool_, len(bounded))
    above = (high < value).astype(np.bool_)
    if cut.any() and test.kind == STRING:  # greater values may begin with the greatest one
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


def _check_filters(test: Compare, columns: Sequence[ColumnFacts]) -> Mask:
    """Checks the bloom filter of a column, if it has one."""
    hashed = bloom.hash_one(str(test.value))
    filters = ((each.bloom if each.kind == test.kind else b"") for each in columns)
    return np.fromiter((bool(each) and not bloom.may_hold(each, hashed) for each in filters), np.bool_, len(columns))
