"""The data objects of one commit, as columns: a plan over a hundred thousand of them decodes only what it needs."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.collection_events import AliasNames
from lochan.formats.entry import Entry
from lochan.formats.entry_table import EntryRows
from lochan.formats.pool_settings import PoolSettings
from lochan.pools import facts, objects
from lochan.pools.facts import Facts, LazyFacts
from lochan.pools.settings import settings_of
from lochan.pools.shape import Path
from lochan.pools.tree_pruning import EVERYTHING, Reach, open_ranges
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.resolve import ResolvedRef

Indices = npt.NDArray[np.int64]
_KEPT = 8  # snapshots in the cache
_FEW = 8  # if there are this many times more entries than needed, the needed ones are selected first
_UNSEEN = 0  # marks objects that are not decoded yet


class DataObject(NamedTuple):
    """The place of an object's bytes, and its name for messages."""

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
    """The commit that the objects belong to."""

    pool: str
    commit: str


class Amount(NamedTuple):
    objects: int
    bytes: int


NONE = Amount(0, 0)


class Snapshot:
    """The data objects of one commit. They are numbered in the order of their least key. Those without a row that has
    the key come last."""

    def __init__(
        self,
        owners: Sequence[Owner],
        settings: PoolSettings,
        tables: Sequence[pa.Table],
        left_out: Amount = NONE,
        *,
        in_order: bool = True,
    ) -> None:
        """Describes the objects. `tables` has one table of entries for each owner, with blocks where they are now.
        `left_out` are objects that the query does not need. If not `in_order`, the rows are in no order of a key."""
        self.owners = owners
        self.settings = settings
        self.left_out = left_out
        self.in_order = in_order
        self.entries = pa.concat_tables(tables)  # not sorted: sorting all columns would take longer than a plan
        spans = facts.spans(self.entries)
        ours = pc.indices_nonzero(pc.is_valid(spans["rows"]))
        order = ours.take(_order(spans.take(ours)))
        self.spans = spans.take(order)
        self._row: Indices = order.to_numpy().astype(np.int64)  # the row of each object in the entries
        self._owner = np.repeat(np.arange(len(tables)), [table.num_rows for table in tables])[self._row]
        self._facts: dict[int, Facts] = {}
        self._unpacked: npt.NDArray[np.object_] = np.full(self.count, None, np.object_)
        self._numbers_of_forms: dict[Hashable, int] = {}
        self._form = np.full(self.count, -1)
        self._columns: dict[Path, npt.NDArray[np.object_]] = {}

    @property
    def count(self) -> int:
        return int(self.spans.num_rows)

    @property
    def total(self) -> Amount:
        """The amount of all objects of the commit."""
        return Amount(self.count + self.left_out.objects, int(self.sizes.sum()) + self.left_out.bytes)

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
        """Objects in the order of their greatest key, and the cumulative number of their rows with the key."""
        keyed = self.spans.slice(0, len(self.least))
        order: Indices = pc.sort_indices(keyed["max"]).to_numpy().astype(np.int64)
        return order, np.cumsum((self.rows - self.keyless)[order])

    def facts(self, index: int) -> Facts:
        found = self._facts.get(index)
        if found is None:
            metadata = self._entry(index).metadata
            found = self._facts[index] = facts.from_metadata(metadata, self.spans["path"][index].as_py())
        return found

    def forms(self, indices: Indices) -> Indices:
        """Returns a number for each object, equal for objects of one form (see `forms.py`)."""
        new = indices[self._form[indices] < 0]
        numbers = self._numbers_of_forms
        self._form[new] = [numbers.setdefault(each.form(), len(numbers)) for each in self._open(new)]
        found: Indices = self._form[indices]
        return found

    def column(self, path: Path, indices: Indices) -> npt.NDArray[np.object_]:
        """Returns the ColumnFacts of this column for each object, or None if there are none. They are cached for the
        next test."""
        kept = self._columns.get(path)
        if kept is None:
            kept = self._columns[path] = np.full(self.count, _UNSEEN, np.object_)
        new = indices[kept[indices] == _UNSEEN]
        for index, each in zip(new.tolist(), self._open(new), strict=True):
            kept[index] = each.column(path)
        found: npt.NDArray[np.object_] = kept[indices]
        return found

    def are_sorted(self, indices: Indices) -> bool:
        """Returns whether the rows of each object are in the order of the key."""
        return all(each.sorted for each in self._open(indices))

    def _open(self, indices: Indices) -> Iterator[LazyFacts]:
        """Opens the facts of these objects. Only their bytes are cached: decoded facts are three times as large."""
        new = indices[self._unpacked[indices] == None]  # noqa: E711  for each
        if len(new):
            rows = self._row[new]
            few = len(new) * _FEW < self.count
            at = _arrow(rows)
            texts = facts.facts_texts(self.entries.take(at)) if few else facts.facts_texts(self.entries).take(at)
            self._unpacked[new] = [facts.unpack_facts(text) for text in texts.to_pylist()]
        return map(facts.open_facts, self._unpacked[indices])

    def object(self, index: int) -> DataObject:
        [found] = self.objects([index])
        return found

    def objects(self, indices: Sequence[int]) -> list[DataObject]:
        at = np.array(indices, dtype=np.int64)
        rows = self.entries.select(["path", "blocks", "size"]).take(_arrow(self._row[at]))
        blocks = pc.list_flatten(rows["blocks"])  # each list has one block
        columns = (
            map(objects.object_id, rows["path"].to_pylist()),
            pc.struct_field(blocks, "address").to_pylist(),
            rows["size"].to_pylist(),
            pc.struct_field(blocks, "sha256").to_pylist(),
            self.rows[at].tolist(),
        )
        owners = (self.owners[each] for each in self._owner[at].tolist())
        return [DataObject(*of, *owner) for *of, owner in zip(*columns, owners, strict=True)]

    def taken(self, indices: Sequence[int]) -> pa.Table:
        """Returns the entries of these objects."""
        return self.entries.take(_arrow(self._row[list(indices)]))

    def _entry(self, index: int) -> Entry:
        row = int(self._row[index])
        batch = bisect_right(self._starts, row) - 1
        return self._batches[batch].entry(row - self._starts[batch])

    @cached_property
    def _batches(self) -> list[EntryRows]:
        return [EntryRows(batch) for batch in self.entries.to_batches()]

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(rows.count for rows in self._batches)][:-1]

    def _numbers(self, name: str) -> npt.NDArray[np.int64]:
        numbers: npt.NDArray[np.int64] = self.spans[name].to_numpy()
        return numbers


class Snapshots:
    """A cache of the last snapshots, by commit, by the part of it that was opened, and by the place of its bytes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Owner, AliasNames, Reach], Snapshot] = OrderedDict()

    async def at(self, repository: OpenRepository, resolved: ResolvedRef, reach: Reach = EVERYTHING) -> Snapshot:
        """Returns a snapshot of the objects within the reach, and perhaps of more."""
        owner = Owner(repository.repository.name, resolved.commit_id)
        places = repository.places.names
        found = self._kept.get((owner, places, EVERYTHING)) or self._kept.get((owner, places, reach))
        if found is None:
            found = await snapshot(repository, resolved, reach)
        key = owner, places, reach if found.left_out.objects else EVERYTHING
        self._kept[key] = found
        self._kept.move_to_end(key)
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found


async def snapshot(repository: OpenRepository, resolved: ResolvedRef, reach: Reach = EVERYTHING) -> Snapshot:
    tree = await repository.tree(resolved.commit)
    settings = settings_of(repository.repository)
    opened = await open_ranges(tree, settings, reach)
    there = [tree.ranges[number] for number in opened.ranges]
    left_out = Amount(tree.count - sum(each.count for each in there), tree.bytes - sum(each.bytes for each in there))
    owner = Owner(repository.repository.name, resolved.commit_id)
    return Snapshot([owner], settings, [await repository.places.place_table(opened.entries)], left_out)


def merge_snapshots(snapshots: Sequence[Snapshot]) -> Snapshot:
    """Returns a snapshot of all their objects. They are in order only if all have the same key."""
    settings = snapshots[0].settings
    orders = {(each.settings.keys, each.settings.nulls_first) for each in snapshots}
    owners = [owner for each in snapshots for owner in each.owners]
    if len(orders) > 1:
        settings = PoolSettings()
    return Snapshot(owners, settings, [each.entries for each in snapshots], in_order=len(orders) == 1)


def _arrow(indices: Indices) -> pa.Array:
    """Returns an Arrow array that uses the array's memory. `pa.array` would check for a mask, which makes numpy import
    a module for 8 ms."""
    return pa.Array.from_buffers(pa.int64(), len(indices), [None, pa.py_buffer(indices)])


def _order(spans: pa.Table) -> pa.Array:
    keyed = spans.set_column(3, "min", pc.if_else(pc.equal(spans["min"], ""), None, spans["min"]))
    return pc.sort_indices(keyed, sort_keys=[("min", "ascending"), ("path", "ascending")])
