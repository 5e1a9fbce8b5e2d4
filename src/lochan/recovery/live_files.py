"""Reads and checks the metadata files that a repository's state names, and all files that these name in turn.

A range that several trees share is read once. The entries of ranges and runs are passed on batch by batch, so that
memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import NamedTuple, TypeVar

import pyarrow as pa

from lochan.bounded_cache import BoundedCache
from lochan.concurrency import map_ahead
from lochan.errors import Corrupt, FutureFormat, NotFound
from lochan.formats import metarange, patch, range, run
from lochan.formats.entry_table import EntryRows, as_batch
from lochan.formats.metarange import TreeRef, with_bases
from lochan.formats.range import RangeRef
from lochan.formats.run import RunRef
from lochan.store.checked_reads import get_checked
from lochan.store.protocol import Store
from lochan.store.threads import Threads
from lochan.tree.patches import RangeParts, whole
from lochan.versioning.state.refs import Refs

T = TypeVar("T")
R = TypeVar("R")

_Rows = tuple[str, pa.RecordBatch | None]  # a path and the rows of the file

MISSING = "missing"
_WIDTH = 4
_BASE_BYTES_MAX = 128 << 20  # bytes of the bases that are open

Entries = Callable[[str, pa.RecordBatch], None]  # gets the file below the repository, and its entries


class FileDamage(NamedTuple):
    file: str  # the path below the repository
    kind: str  # metarange, range, run
    what: str  # MISSING, or a description of the damage

    @property
    def is_missing(self) -> bool:
        return self.what == MISSING


class LiveCheck:
    def __init__(self, store: Store, repository: str, threads: Threads, entries: Entries = lambda file, rows: None):
        self._store = store
        self._prefix = repository
        self._threads = threads
        self._entries = entries
        self.damaged: dict[str, FileDamage] = {}
        self.files: set[str] = set()  # files that were read
        self._passed_on: set[str] = set()  # ranges whose entries were passed on; those of a base are not
        self._bases: BoundedCache[str, EntryRows] = BoundedCache(_BASE_BYTES_MAX)
        self.trees: dict[str, tuple[RangeRef, ...]] = {}  # ranges by the file of their tree, if that can be read
        self.refs: dict[str, TreeRef] = {}

    async def check(self, trees: Iterable[TreeRef], runs: Iterable[RunRef]) -> None:
        new_trees = {each.file: each for each in trees if each.file and each.file not in self.files}
        self.refs |= new_trees
        ranges: list[RangeRef] = []
        async with aclosing(map_ahead(self._check_tree, new_trees.values(), _WIDTH)) as found:
            async for ref, named in found:
                self.files.add(ref.file)
                self.trees[ref.file] = tuple(with_bases(named))
                ranges += named
        await self.check_ranges(ranges)
        await self._each(self._check_run, {each.file: each for each in runs if each.file not in self.files})

    async def check_inputs(self, refs: Refs) -> None:
        """Checks the runs that commits were made from, and can be made again from. The files that they name need not
        exist any more, and they need not exist themselves, because an older version may have collected them."""
        runs = {run.file: run for _, runs in refs.input_table.items() for run in runs if run.file not in self.files}
        async with aclosing(map_ahead(self._check_run, runs.values(), _WIDTH)) as found:
            async for file, batch in found:
                if batch is None and self.damaged[file].is_missing:
                    del self.damaged[file]
                else:
                    self.files.add(file)

    async def check_ranges(self, ranges: Iterable[RangeRef]) -> None:
        """Checks ranges, and the bases of those that are patches. Which entries of a base are needed depends on its
        patches."""
        own = {each.file: each for each in sorted(ranges, key=_by_base) if each.file not in self._passed_on}
        self._passed_on |= own.keys()
        await self._each(self._check_range, own)
        bases = {each.file: each for each in with_bases(own.values()) if each.file not in self.files}
        self.files |= bases.keys()
        async with aclosing(map_ahead(self._check_range, bases.values(), _WIDTH)) as found:
            async for _ in found:
                pass

    async def _each(
        self, check: Callable[[R], Awaitable[tuple[str, pa.RecordBatch | None]]], refs: dict[str, R]
    ) -> None:
        self.files |= refs.keys()
        async with aclosing(map_ahead(check, refs.values(), _WIDTH)) as found:
            async for file, batch in found:
                if batch is not None:
                    self._entries(file, batch)

    async def _check_tree(self, ref: TreeRef) -> tuple[TreeRef, tuple[RangeRef, ...]]:
        what = f"metarange {self._prefix}/{ref.file}"
        found = await self._read(ref.file, "metarange", lambda data: metarange.decode(data, ref, what))
        return ref, () if found is None else found

    async def _check_range(self, ref: RangeRef) -> tuple[str, pa.RecordBatch | None]:
        what = f"range {self._prefix}/{ref.file}"
        if ref.base is not None:
            return ref.file, await self._check_patch(ref, ref.base, what)
        return ref.file, await self._read(ref.file, "range", lambda data: range.decode(data, ref, what))

    async def _check_patch(self, ref: RangeRef, base: RangeRef, what: str) -> pa.RecordBatch | None:
        """Returns all rows of the range, or None if something is damaged. Damage of the base is reported for the base
        itself."""
        changes = await self._read(ref.file, "range", lambda data: patch.decode(data, ref, what))
        rows = None if changes is None else await self._base_rows(base)
        if rows is None or changes is None:
            return None
        try:
            return await self._threads.run(whole, RangeParts(base, rows, changes), ref, what)
        except Corrupt as error:
            self.damaged[ref.file] = FileDamage(ref.file, "range", error.message)
        return None

    async def _base_rows(self, base: RangeRef) -> EntryRows | None:
        """Returns the rows of the base, or None if they cannot be read. It reports no damage, because the file is also
        checked by itself, perhaps at this moment."""
        found = self._bases.get(base.file)
        if found is not None:
            return found

        async def decoded(data: bytes) -> pa.RecordBatch:
            return await self._threads.run(range.decode, data, base, f"range {self._prefix}/{base.file}")

        try:
            rows = await get_checked(self._store, f"{self._prefix}/{base.file}", decoded)
        except (NotFound, Corrupt, FutureFormat):
            return None
        return self._bases.put(base.file, EntryRows(rows), rows.nbytes)

    async def _check_run(self, ref: RunRef) -> tuple[str, pa.RecordBatch | None]:
        return ref.file, await self._read(ref.file, "run", lambda data: decode_run(ref, data, self._prefix))

    async def _read(self, file: str, kind: str, decode: Callable[[bytes], T]) -> T | None:
        async def decoded(data: bytes) -> T:
            return await self._threads.run(decode, data)

        try:
            return await get_checked(self._store, f"{self._prefix}/{file}", decoded)
        except NotFound:
            self.damaged[file] = FileDamage(file, kind, MISSING)
        except (Corrupt, FutureFormat) as error:
            self.damaged[file] = FileDamage(file, kind, error.message)
        return None


def _by_base(ref: RangeRef) -> str:
    """Returns a sort key that puts patches of one base next to each other, so that it is read once for them."""
    return (ref.base or ref).file


def decode_run(ref: RunRef, data: bytes, prefix: str) -> pa.RecordBatch:
    """Returns the rows of the run. Raises Corrupt if it is not the run that this reference names."""
    what = f"run {prefix}/{ref.file}"
    head = run.head(data, what).head
    if (head.count, head.tombstones, head.min, head.max) != (ref.count, ref.tombstones, ref.min_path, ref.max_path):
        raise Corrupt(f"{what} is not the run that was staged: another file stands in its place")
    return as_batch(run.decode(data, what))
