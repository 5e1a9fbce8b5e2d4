"""Selects the objects of a snapshot that a plan reads, with the reasons why the others are left out."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from lochan.formats.pool_settings import PoolSettings
from lochan.pools import pruning
from lochan.pools.forms import Form, Forms
from lochan.pools.pruning import Skipped
from lochan.pools.row_tests import ANY_ROW, Test
from lochan.pools.shape import Leaf, Path
from lochan.pools.snapshot import Indices, Snapshot
from lochan.pools.statistics import StatisticsTest
from lochan.pools.tree_pruning import Reach
from lochan.query.sources.key_range import KeyRange


class Why:
    """The reasons why objects were left out. They are computed only when they are needed, because few of a hundred
    thousand objects are kept."""

    def __init__(self) -> None:
        self._steps: list[tuple[Indices, Indices, str]] = []  # the objects before, those that were kept, and the reason

    def keep(self, among: Indices, kept: Indices, reason: str) -> Indices:
        if len(kept) < len(among):
            self._steps.append((among, kept, reason))
        return kept

    def skipped(self, snapshot: Snapshot, read: Indices) -> list[Skipped]:
        """Returns the objects that are not read, by reason. The first reason counts."""
        seen = np.zeros(snapshot.count, np.bool_)
        seen[read] = True
        found: dict[str, Skipped] = {}
        for among, kept, reason in self._steps:
            gone = np.zeros(snapshot.count, np.bool_)
            gone[among] = True
            gone[kept] = False
            gone &= ~seen
            seen |= gone
            before = found.get(reason, Skipped(reason, 0, 0))
            count, size = int(gone.sum()), int(snapshot.sizes[gone].sum())
            found[reason] = Skipped(reason, before.objects + count, before.bytes + size)
        return [each for each in found.values() if each.objects]


def reach_of(range: KeyRange, test: Test, first: int | None, settings: PoolSettings) -> Reach:
    """Returns the part of the selection that the keys alone can decide."""
    found = pruning.within(range.ends(), settings), pruning.key_test(test, settings)
    no_key = range.no_key or pruning.keyless(test, settings)
    return Reach(tuple(each for each in found if each), no_key, first if test is ANY_ROW and range.is_all else None)


class Choice:
    """The selected objects. `kept` are their numbers in the snapshot."""

    def __init__(self, snapshot: Snapshot, range: KeyRange, test: Test, first: int | None) -> None:
        self._snapshot = snapshot
        self._forms = Forms()
        self.why = Why()
        self.kept = self._prune(range, test, first)
        self._never_opened = pruning.BY_KEY if first is None or test is not ANY_ROW else pruning.BY_FIRST

    def skipped(self, read: Indices) -> list[Skipped]:
        skipped = {each.why: each for each in self.why.skipped(self._snapshot, read)}
        more = self._snapshot.left_out
        if more.objects:
            _, objects, size = skipped.get(self._never_opened, Skipped("", 0, 0))
            skipped[self._never_opened] = Skipped(self._never_opened, objects + more.objects, size + more.bytes)
        return list(skipped.values())

    def narrowed(self, test: Test) -> Indices:
        """Returns the kept objects that may have rows which pass this test too."""
        within = pruning.key_test(test, self._snapshot.settings)
        kept = self.why.keep(self.kept, pruning.by_key(self._snapshot, self.kept, within), pruning.BY_KEY)
        return self._by_columns(kept, test)

    def forms(self, snapshot: Snapshot) -> list[Form]:
        """Returns the forms of all objects of a snapshot, which may have more objects than are selected here."""
        found = (self._forms.of(snapshot.facts(int(each[0]))) for each in _group_alike(snapshot, snapshot.all))
        return list(dict.fromkeys(found))

    def by_form(self, indices: Indices) -> dict[Form, list[int]]:
        return by_form(self._snapshot, indices, self._forms)

    def _prune(self, range: KeyRange, test: Test, first: int | None) -> Indices:
        """Applies the cheap tests first: the key spans of all objects at once, then the statistics of each."""
        snapshot, kept, keep = self._snapshot, self._snapshot.all, self.why.keep
        if range.no_key or pruning.keyless(test, snapshot.settings):
            kept = keep(kept, kept[snapshot.keyless[kept] > 0], pruning.BY_KEY)
        for within in (pruning.within(range.ends(), snapshot.settings), pruning.key_test(test, snapshot.settings)):
            kept = keep(kept, pruning.by_key(snapshot, kept, within), pruning.BY_KEY)
        if test is not ANY_ROW:
            return self._by_columns(kept, test)
        if first is not None and range.is_all:
            return keep(kept, pruning.first(snapshot, first), pruning.BY_FIRST)
        return kept

    def _by_columns(self, among: Indices, test: Test) -> Indices:
        kept = [_NONE]
        for form, indices in self.by_form(among).items():
            alike = np.array(indices, dtype=np.int64)
            columns = partial(self._snapshot.column, indices=alike)
            judge = StatisticsTest(form, columns, self._snapshot.rows[alike], self._snapshot.settings.times)
            judged = judge.judge(test)
            kept.append(alike[judged == 0])
            for number, reason in enumerate(judge.reasons[1:], 1):
                gone = alike[judged == number]
                self.why.keep(gone, _NONE, reason)
        return np.sort(np.concatenate(kept))


def by_form(snapshot: Snapshot, indices: Indices, forms: Forms) -> dict[Form, list[int]]:
    """Groups objects by form. It decodes the facts of one object for all objects of its form."""
    found: dict[Form, list[int]] = {}
    for alike in _group_alike(snapshot, indices):
        form = forms.of(snapshot.facts(int(alike[0])))
        found[form] = sorted([*found.get(form, []), *alike.tolist()])
    return found


def _group_alike(snapshot: Snapshot, indices: Indices) -> list[Indices]:
    """Groups the objects by form, in the order of the first object of each form."""
    forms = snapshot.forms(indices)
    order = np.argsort(forms, kind="stable")
    parts = np.split(indices[order], np.flatnonzero(np.diff(forms[order])) + 1) if len(indices) else []
    return sorted(parts, key=lambda part: int(part[0]))


_NONE: Indices = np.array([], dtype=np.int64)


# ── how large the numbers of a field are ─────────────────────────────────────────────────────────────────────────────


class NumberBounds(NamedTuple):
    least: int | float
    greatest: int | float


def number_bounds(snapshot: Snapshot, path: Path, kind: str) -> NumberBounds | None:
    """Returns the bounds of the field's values of that kind, int or float. Both are 0 if it has none. Returns None if
    the bounds are not known."""
    ends: list[int | float] = [0]
    for form, indices in by_form(snapshot, snapshot.all, Forms()).items():
        place = form.place(Leaf(path, kind))
        if place is None:
            continue
        if place.inside is not None:
            return None
        for facts in snapshot.column(place.column, np.array(indices, dtype=np.int64)).tolist():
            if facts is None or facts.kind != kind:
                return None
            if not facts.present:
                continue
            for end in (facts.least, facts.greatest):
                if not isinstance(end, int | float):
                    return None
                ends.append(end)
    return NumberBounds(min(ends), max(ends))
