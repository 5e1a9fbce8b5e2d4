"""Which objects of a snapshot a plan reads, and why not the others."""

from __future__ import annotations

import numpy as np

from lochan.query.sources import pruning
from lochan.query.sources.bounds import ANY_ROW, Test
from lochan.query.sources.forms import Form, Forms
from lochan.query.sources.key_range import KeyRange
from lochan.query.sources.pruning import Skipped
from lochan.query.sources.snapshot import Indices, Snapshot


class Why:
    """What spoke against objects. It is worked out when somebody asks: of a hundred thousand few are kept."""

    def __init__(self) -> None:
        self._steps: list[tuple[Indices, Indices, str]] = []  # among which, kept, reason

    def keep(self, among: Indices, kept: Indices, reason: str) -> Indices:
        if len(kept) < len(among):
            self._steps.append((among, kept, reason))
        return kept

    def told(self, snapshot: Snapshot, read: Indices) -> list[Skipped]:
        """By reason, of all but those that are read; the first reason counts."""
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


class Choice:
    """`kept` are their numbers in the snapshot."""

    def __init__(self, snapshot: Snapshot, range: KeyRange, test: Test, first: int | None) -> None:
        self._snapshot = snapshot
        self._forms = Forms()
        self.why = Why()
        self.kept = self._pruned(range, test, first)

    def narrowed(self, test: Test) -> Indices:
        """Of those that were kept, the ones that may have rows which pass this test too."""
        ends = pruning.ends_of(test, self._snapshot.settings)
        kept = self.why.keep(self.kept, pruning.by_key(self._snapshot, self.kept, ends), pruning.BY_KEY)
        return self._by_columns(kept, test)

    def form(self, index: int) -> Form:
        return self._forms.of(self._snapshot.facts(index))

    def by_form(self, indices: Indices) -> dict[Form, list[int]]:
        found: dict[Form, list[int]] = {}
        for index in indices.tolist():
            found.setdefault(self.form(index), []).append(index)
        return found

    def _pruned(self, range: KeyRange, test: Test, first: int | None) -> Indices:
        """By what is cheap to ask first: the keys' spans of all objects at once, then each one's statistics."""
        snapshot, kept, keep = self._snapshot, self._snapshot.all, self.why.keep
        if range.no_key:
            kept = keep(kept, kept[snapshot.keyless[kept] > 0], pruning.BY_KEY)
        for ends in (range.ends(), pruning.ends_of(test, snapshot.settings)):
            kept = keep(kept, pruning.by_key(snapshot, kept, ends), pruning.BY_KEY)
        if test is not ANY_ROW:
            return self._by_columns(kept, test)
        if first is not None and range.is_all:
            return keep(kept, pruning.first(snapshot, first), pruning.BY_FIRST)
        return kept

    def _by_columns(self, among: Indices, test: Test) -> Indices:
        against: dict[str, list[int]] = {}
        for index in among.tolist():
            reason = pruning.why_not(test, self._snapshot.facts(index), self.form(index))
            against.setdefault(reason, []).append(index)
        kept = np.array(against.pop("", []), dtype=np.int64)
        for reason, gone in against.items():
            self.why.keep(np.array(gone, dtype=np.int64), _NONE, reason)
        return kept


_NONE: Indices = np.array([], dtype=np.int64)
