"""The data objects of one commit, as columns: a plan over a hundred thousand of them decodes only what it keeps."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.entry import Entry
from lochan.formats.entry_table import Rows
from lochan.formats.pool_settings import PoolSettings
from lochan.pools import facts, objects
from lochan.pools.facts import Facts
from lochan.pools.settings import settings_of
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.resolve import Resolved

Indices = npt.NDArray[np.int64]
_KEPT = 8  # snapshots that one process remembers


class DataObject(NamedTuple):
    """Where its bytes are, and enough to say its name in a message."""

    id: str
    address: str
    size: int
    sha256: bytes
    rows: int
    pool: str
    commit: str

    def __str__(self) -> str:
        return f"data object {self.id} of {self.pool}@{self.commit[:12]}"


class Owner(NamedTuple):
    """Whose objects these are."""

    pool: str
    commit: str


class Snapshot:
    """Objects are numbered in the order of their least key; those without a row that has the key come last."""

    def __init__(self, owners: Sequence[Owner], settings: PoolSettings, tables: Sequence[pa.Table]) -> None:
        """One table of entries for each owner."""
        self.owners = owners
        self.settings = settings
        self.entries = pa.concat_tables(tables)  # as they came: sorting all that is in them takes longer than a plan
        spans = facts.spans(self.entries)
        ours = pc.indices_nonzero(pc.is_valid(spans["rows"]))
        order = ours.take(_order(spans.take(ours)))
        self.spans = spans.take(order)
        self._row: Indices = order.to_numpy().astype(np.int64)  # of each object, in the entries
        self._owner = np.repeat(np.arange(len(tables)), [table.num_rows for table in tables])[self._row]
        self._facts: dict[int, Facts] = {}

    @property
    def count(self) -> int:
        return int(self.spans.num_rows)

    @cached_property
    def all(self) -> Indices:
        return np.arange(self.count, dtype=np.int64)

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        return self._numbers("size")

    @cached_property
    def rows(self) -> npt.NDArray[np.int64]:
        return self._numbers("rows")

    @cached_property
    def keyless(self) -> npt.NDArray[np.int64]:
        return self._numbers("keyless")

    @cached_property
    def least(self) -> list[str]:
        """The least keys, in order, of the objects that have one."""
        found: list[str] = pc.filter(self.spans["min"], pc.not_equal(self.spans["min"], "")).to_pylist()
        return found

    @cached_property
    def by_greatest(self) -> tuple[Indices, npt.NDArray[np.int64]]:
        """Objects in the order of their greatest key, and how many rows with the key lie in them up to each."""
        keyed = self.spans.slice(0, len(self.least))
        order: Indices = pc.sort_indices(keyed["max"]).to_numpy().astype(np.int64)
        return order, np.cumsum((self.rows - self.keyless)[order])

    def facts(self, index: int) -> Facts:
        found = self._facts.get(index)
        if found is None:
            metadata = self._entry(index).metadata
            found = self._facts[index] = facts.from_metadata(metadata, self.spans["path"][index].as_py())
        return found

    def object(self, index: int) -> DataObject:
        entry = self._entry(index)
        [block] = entry.blocks
        of = objects.object_id(entry.path), block.address, entry.size, block.sha256, int(self.rows[index])
        return DataObject(*of, *self.owners[self._owner[index]])

    def taken(self, indices: Sequence[int]) -> pa.Table:
        """The entries of these objects."""
        return self.entries.take(self._row[list(indices)])

    def _entry(self, index: int) -> Entry:
        row = int(self._row[index])
        batch = bisect_right(self._starts, row) - 1
        return self._batches[batch].entry(row - self._starts[batch])

    @cached_property
    def _batches(self) -> list[Rows]:
        return [Rows(batch) for batch in self.entries.to_batches()]

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(rows.count for rows in self._batches)][:-1]

    def _numbers(self, name: str) -> npt.NDArray[np.int64]:
        numbers: npt.NDArray[np.int64] = self.spans[name].to_numpy()
        return numbers


class Snapshots:
    """The last few, by commit: whoever asks again has them at once."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Owner, Snapshot] = OrderedDict()

    async def at(self, repository: OpenRepository, resolved: Resolved) -> Snapshot:
        key = Owner(repository.repository.name, resolved.commit_id)
        found = self._kept.get(key) or await snapshot(repository, resolved)
        self._kept[key] = found
        self._kept.move_to_end(key)
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found


async def snapshot(repository: OpenRepository, resolved: Resolved) -> Snapshot:
    entries = await objects.entries(await repository.tree(resolved.commit))
    settings = settings_of(repository.repository)
    return Snapshot([Owner(repository.repository.name, resolved.commit_id)], settings, [entries])


def merged(snapshots: Sequence[Snapshot]) -> Snapshot:
    """All of their objects. There is one order only where all have the same key."""
    settings = snapshots[0].settings
    orders = {(each.settings.keys, each.settings.nulls_first) for each in snapshots}
    owners = [owner for each in snapshots for owner in each.owners]
    return Snapshot(owners, settings if len(orders) == 1 else PoolSettings(), [each.entries for each in snapshots])


def _order(spans: pa.Table) -> pa.Array:
    keyed = spans.set_column(3, "min", pc.if_else(pc.equal(spans["min"], ""), None, spans["min"]))
    return pc.sort_indices(keyed, sort_keys=[("min", "ascending"), ("path", "ascending")])
