"""Which objects of a snapshot a plan reads, and why not the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from lochan.query.sources import pruning
from lochan.query.sources.bounds import ANY_ROW, Test
from lochan.query.sources.forms import Form, Forms
from lochan.query.sources.key_range import KeyRange
from lochan.query.sources.pruning import Skipped
from lochan.query.sources.snapshot import Indices, Snapshot


class Choice:
    """`kept` are their numbers in the snapshot; `why` tells for each of the others what spoke against it."""

    def __init__(self, snapshot: Snapshot, range: KeyRange, test: Test, first: int | None) -> None:
        self._snapshot = snapshot
        self._forms = Forms()
        self.why: dict[int, str] = {}
        self.kept = self._pruned(range, test, first)

    def narrowed(self, test: Test) -> tuple[Indices, dict[int, str]]:
        """Of those that were kept, the ones that may have rows which pass this test too; and why not the others."""
        kept, why = self.kept, dict[int, str]()
        ends = pruning.ends_of(test, self._snapshot.settings)
        kept = _keep(kept, pruning.by_key(self._snapshot, kept, ends), pruning.BY_KEY, why)
        return self._by_columns(kept, test, why), why

    def told(self, why: Mapping[int, str]) -> list[Skipped]:
        """Together, by reason."""
        objects = Counter(why.values())
        sizes = Counter[str]()
        for index, reason in why.items():
            sizes[reason] += int(self._snapshot.sizes[index])
        return [Skipped(reason, count, sizes[reason]) for reason, count in objects.items()]

    def form(self, index: int) -> Form:
        return self._forms.of(self._snapshot.facts(index))

    def by_form(self, indices: Indices) -> dict[Form, list[int]]:
        found: dict[Form, list[int]] = {}
        for index in indices.tolist():
            found.setdefault(self.form(index), []).append(index)
        return found

    def _pruned(self, range: KeyRange, test: Test, first: int | None) -> Indices:
        """By what is cheap to ask first: the keys' spans of all objects at once, then each one's statistics."""
        snapshot, kept = self._snapshot, self._snapshot.all
        if range.no_key:
            kept = _keep(kept, kept[snapshot.keyless[kept] > 0], pruning.BY_KEY, self.why)
        for ends in (range.ends(), pruning.ends_of(test, snapshot.settings)):
            kept = _keep(kept, pruning.by_key(snapshot, kept, ends), pruning.BY_KEY, self.why)
        if test is not ANY_ROW:
            return self._by_columns(kept, test, self.why)
        if first is not None and range.is_all:
            return _keep(kept, pruning.first(snapshot, kept, first), pruning.BY_FIRST, self.why)
        return kept

    def _by_columns(self, among: Indices, test: Test, why: dict[int, str]) -> Indices:
        kept = []
        for index in among.tolist():
            reason = pruning.why_not(test, self._snapshot.facts(index), self.form(index))
            if reason:
                why[index] = reason
            else:
                kept.append(index)
        return np.array(kept, dtype=np.int64)


def _keep(among: Indices, kept: Indices, reason: str, why: dict[int, str]) -> Indices:
    if len(kept) < len(among):
        why.update(dict.fromkeys(np.setdiff1d(among, kept, assume_unique=True).tolist(), reason))
    return kept
