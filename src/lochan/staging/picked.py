"""Rows that a listing has found, by where they lie: made into values for those who want values, or kept as columns for
those who only pass a few of them on."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lochan.formats.entry import ENTRY_SCHEMA, Entry
from lochan.formats.entry_table import NO_ENTRIES
from lochan.staging.sources import RowNumbers, Source


class Picked(NamedTuple):
    """Live rows in path order."""

    sources: Sequence[Source]
    owners: npt.NDArray[np.int64]  # which of the sources each is of; of one source the rows ascend
    rows: RowNumbers

    def first(self, count: int) -> "Picked":
        return Picked(self.sources, self.owners[:count], self.rows[:count])

    @property
    def last_path(self) -> str:
        """REQUIRES: at least one row."""
        return self.sources[int(self.owners[-1])].key(int(self.rows[-1])).decode()

    def entries(self) -> list[Entry]:
        if len(self.sources) == 1:
            return self.sources[0].entries(self.rows)
        each = [iter(source.entries(self.rows[self.owners == owner])) for owner, source in enumerate(self.sources)]
        return [next(each[owner]) for owner in self.owners.tolist()]

    def table(self) -> pa.Table:
        """Of ENTRY_SCHEMA."""
        if not len(self.rows):
            return _NO_ROWS
        if len(self.sources) == 1:
            return pa.Table.from_batches([self.sources[0].batch(self.rows)], ENTRY_SCHEMA)
        of = [np.flatnonzero(self.owners == owner) for owner in range(len(self.sources))]
        parts = [source.batch(self.rows[at]) for source, at in zip(self.sources, of, strict=True) if len(at)]
        table = pa.Table.from_batches(parts, ENTRY_SCHEMA)
        places = np.concatenate(of) if of else np.zeros(0, np.int64)
        in_order = len(places) < 2 or bool((np.diff(places) > 0).all())
        return table if in_order else table.combine_chunks().take(pa.array(np.argsort(places)))


NOTHING = Picked((), np.zeros(0, np.int64), np.zeros(0, np.int64))
_NO_ROWS = pa.Table.from_batches([NO_ENTRIES])


def joined(parts: Sequence[Picked]) -> Picked:
    """One after the other."""
    if len(parts) == 1:
        return parts[0]
    sources: list[Source] = []
    known: dict[int, int] = {}
    owners = [np.zeros(0, np.int64)]
    for part in parts:
        for source in part.sources:
            if id(source) not in known:
                known[id(source)] = len(sources)
                sources.append(source)
        places = np.array([known[id(source)] for source in part.sources], np.int64)
        owners.append(places[part.owners] if len(part.owners) else part.owners)
    return Picked(sources, np.concatenate(owners), np.concatenate([owners[0], *(part.rows for part in parts)]))
