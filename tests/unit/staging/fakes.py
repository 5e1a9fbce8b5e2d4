"""Entries, bases and runs for the tests of staging."""

from collections.abc import AsyncIterator, Iterable
from itertools import count

import pyarrow as pa

from lochan.formats.entry import Block, Change, Entry, Tombstone
from lochan.formats.entry_table import as_batch, table_of
from lochan.formats.run import RunRef, changes_table
from lochan.ids import Ids
from lochan.staging.runs import OpenRuns, Runs
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.memory import MemoryStore


class FixedClock:
    def wall(self) -> int:
        return 1_700_000_000_000_000

    def boot(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nobody sleeps here")


class MemoryBase:
    """A tree of entries in batches of a few, that counts what is read of it."""

    def __init__(self, paths: Iterable[str] = (), tag: int = 0, batch_rows: int = 3) -> None:
        self.entries = {path: entry(path, tag) for path in paths}
        self._batch_rows = batch_rows
        self.batches = 0
        self.scans = 0

    async def get(self, path: str) -> Entry | None:
        return self.entries.get(path)

    async def scan(self, prefix: str = "", after: str = "") -> AsyncIterator[pa.RecordBatch]:
        self.scans += 1
        paths = sorted(path for path in self.entries if path.startswith(prefix) and path > after)
        for start in range(0, len(paths), self._batch_rows):
            self.batches += 1
            yield as_batch(table_of(self.entries[path] for path in paths[start : start + self._batch_rows]))


def entry(path: str, tag: int = 1) -> Entry:
    """`tag` tells two entries at one path apart."""
    return Entry(path, (Block(f"data/{tag}/{path}", 0, tag, b"s" * 32),), tag, "m" * 32, "m" * 32, tag)


def gone(path: str) -> Tombstone:
    return Tombstone(path)


def table(*changes: Change) -> pa.Table:
    return changes_table(changes)


def new_runs(open_bytes_max: int = 1 << 30) -> tuple[Runs, RequestCounts]:
    counts, numbers = RequestCounts(), count(1)
    ids = Ids(lambda size: next(numbers).to_bytes(size, "big"))
    store = CountingStore(MemoryStore(), counts)
    return Runs(store, "repo", FixedClock(), ids, held=OpenRuns(open_bytes_max)), counts


def ref(id: str, level: int = 1, size: int = 1) -> RunRef:
    """Names a run that does not exist, for tests of layers alone."""
    return RunRef(id, f"runs/{id}-1.parquet", level, size, 0, size, "a", "z", 1)
