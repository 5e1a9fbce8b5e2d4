"""A repository's run files: written to the store, read from it, kept open in memory or mapped from the local disk.

An open run reads from Arrow's buffers: a look-up is a binary search that makes no Python value except the result.
"""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lochan.bounded_cache import BoundedCache
from lochan.clock import Clock
from lochan.errors import Corrupt, Invalid
from lochan.formats import bloom, run
from lochan.formats.entry import Change, Tombstone
from lochan.formats.entry_table import EntryRows, as_batch
from lochan.formats.run import RunRef, Summary
from lochan.ids import Ids
from lochan.store.checked_reads import get_checked, is_named, read_checked
from lochan.store.protocol import Store
from lochan.store.threads import INLINE_BYTES_MAX, Threads, for_tables
from lochan.tree.cache import ArrowCache

if TYPE_CHECKING:
    from asyncio import Future

A = TypeVar("A")
B = TypeVar("B")
Tables: TypeAlias = pa.Table | AsyncIterable[pa.Table]  # a single table, or consecutive ones in path order

FOLDER = "runs"
ROWS_MAX = 1_000_000  # the limit for one file; more rows are split into several files
OPEN_BYTES_MAX = 256 << 20
_MAPPED_WEIGHT = 1 << 20  # the weight of a mapped run in the cache: a sixteenth of its paths, and the kernel's tables
_HEADS_MAX = 256
_SMALL_ROWS = 20_000  # a run of so few rows, 6 MB, is held in memory; a larger one is mapped from the disk
_INLINE_ROWS_MAX = 1_000  # so many rows are encoded or decoded in a millisecond


class OpenRun:
    """Rows sorted by path. `live` are the numbers of those that are no tombstones, or None for all."""

    __slots__ = ("_deleted", "batch", "live", "ref", "rows")

    def __init__(self, ref: RunRef, batch: pa.RecordBatch) -> None:
        self.ref = ref
        self.batch = batch
        self.rows = EntryRows(batch)
        self._deleted = batch.column("deleted")
        self.live = live_rows(batch)

    def get(self, path: str) -> Change | None:
        row = self.rows.find(path.encode())
        if row < 0:
            return None
        return Tombstone(path) if self.is_deleted(row) else self.rows.entry(row)

    def is_deleted(self, row: int) -> bool:
        """Returns whether that row is a tombstone."""
        return self.live is not None and bool(self._deleted[row].as_py())


def live_rows(batch: pa.RecordBatch) -> npt.NDArray[np.int64] | None:
    deleted = batch.column("deleted").to_numpy(zero_copy_only=False)
    return np.flatnonzero(~deleted) if deleted.any() else None


class OpenRuns:
    """The open runs of a process, bounded in bytes, and the footers of runs that are not open."""

    def __init__(self, bytes_max: int = OPEN_BYTES_MAX) -> None:
        self._runs: BoundedCache[str, OpenRun] = BoundedCache(bytes_max, keep_newest=True)
        self._heads: BoundedCache[str, Summary] = BoundedCache(_HEADS_MAX)

    @property
    def bytes(self) -> int:
        return self._runs.weight

    def get(self, path: str) -> OpenRun | None:
        return self._runs.get(path)

    def paths(self) -> list[str]:
        return self._runs.keys()

    def items(self) -> list[tuple[str, OpenRun]]:
        """Returns the open runs, the least recently used first."""
        return [(path, opened) for path in self._runs.keys() if (opened := self._runs.get(path)) is not None]  # noqa: SIM118

    def hold(self, path: str, opened: OpenRun, weight: int) -> None:
        self._runs.put(path, opened, weight)

    def drop(self, path: str) -> None:
        self._runs.drop(path)
        self._heads.drop(path)

    def head(self, path: str) -> Summary | None:
        return self._heads.get(path)

    def hold_head(self, path: str, head: Summary) -> None:
        self._heads.put(path, head)


class Runs:
    """The runs of one repository. `prefix` is that of the repository. All repositories of a process share `held` and
    `disk`."""

    def __init__(
        self,
        store: Store,
        prefix: str,
        clock: Clock,
        ids: Ids,
        *,
        threads: Threads | None = None,
        held: OpenRuns | None = None,
        disk: ArrowCache | None = None,
    ) -> None:
        self._store = store
        self._prefix = prefix
        self._clock = clock
        self._ids = ids
        self.threads = threads or for_tables()
        self._held = held or OpenRuns()
        self._disk = disk
        self._waiting: dict[str, list[Future[None]]] = {}  # files being opened, and their waiters
        self.opened = 0  # files read whole
        self.heads = 0  # footers read

    # --- writing ----------------------------------------------------------------------------------------------------
    async def write(self, changes: pa.Table, level: int, mint: int) -> RunRef:
        """Writes one run. REQUIRES what `formats.run.encode` requires: the changes are sorted, unique and not empty.
        Raises Invalid, with nothing written."""
        return await self._put(await self._in_thread(run.encode, changes, len(changes)), level, mint)

    async def write_cut(self, changes: Tables, level: int, mint: int) -> tuple[RunRef, ...]:
        """Writes as many runs as needed, none of them above ROWS_MAX, and none if there are no changes. Of consecutive
        tables only the encoded form is held."""
        refs: list[RunRef] = []
        encoder = run.Encoder()
        async for part in _parts(changes):
            if not encoder.count and refs and part["path"][0].as_py() <= refs[-1].max_path:
                raise Invalid(f"the changes after {refs[-1].max_path!r} do not follow it in path order")
            await self._in_thread(encoder.add, part, len(part))
            if encoder.count == ROWS_MAX:
                refs.append(await self._finished(encoder, level, mint))
                encoder = run.Encoder()
        if encoder.count:
            refs.append(await self._finished(encoder, level, mint))
        return tuple(refs)

    async def adopt(self, tables: Tables, mint: int) -> tuple[RunRef, ...]:
        """Writes changes that a client has prepared: sorted and unique, as one table or as consecutive ones. One event
        that names all these runs stages them together. Raises Invalid; files that were written until then are named by
        no event, and are collected."""
        refs = await self.write_cut(tables, 1, mint)
        if isinstance(tables, pa.Table) and 0 < len(tables) <= _SMALL_ROWS:
            self._hold(refs[0], as_batch(tables))  # because it is about to be read or committed
        return refs

    async def _finished(self, encoder: run.Encoder, level: int, mint: int) -> RunRef:
        return await self._put(await self.threads.run(encoder.finish), level, mint)

    async def _put(self, data: bytes, level: int, mint: int) -> RunRef:
        head = run.head(data, "the run just made").head
        id = self._ids.ksuid(self._clock.wall())
        file = f"{FOLDER}/{id}-{mint}.parquet"
        await self._store.put(self._path(file), data)
        return RunRef(id, file, level, head.count, head.tombstones, len(data), head.min, head.max, mint)

    def _hold(self, ref: RunRef, batch: pa.RecordBatch) -> None:
        size = batch.get_total_buffer_size()
        if size <= 2 * batch.nbytes:  # otherwise it is a slice, and would keep the whole table in memory
            self._held.hold(self._path(ref.file), OpenRun(ref, batch), size)

    # --- reading ----------------------------------------------------------------------------------------------------
    async def get(self, ref: RunRef, path: str) -> Change | None:
        """Returns the change at the path, or None. Opens the run only if its span of paths and its bloom filter may
        contain the path."""
        if not ref.min_path <= path <= ref.max_path:
            return None
        opened = self.at_hand(ref)
        if opened is None:
            if _is_asked_first(ref) and not (await self.head(ref)).may_hold(path, bloom.hash_one(path)):
                return None
            opened = await self.open(ref)
        return opened.get(path)

    def forget(self, refs: Iterable[RunRef]) -> None:
        """Closes runs that only readers of an older state may still need; those can open them again."""
        for ref in refs:
            self._held.drop(self._path(ref.file))

    def at_hand(self, ref: RunRef) -> OpenRun | None:
        """Returns the run if it is open already, else None."""
        return self._held.get(self._path(ref.file))

    async def may_hold(self, ref: RunRef, hashes: list[int]) -> bool:
        """Returns whether the run may hold any path with these hashes. The filter of a small or open run is not
        read."""
        if not _is_asked_first(ref) or self.at_hand(ref) is not None:
            return True
        filter = (await self.head(ref)).bloom
        return any(bloom.may_hold(filter, hashed) for hashed in hashes)

    async def head(self, ref: RunRef) -> Summary:
        path = self._path(ref.file)
        found = self._held.head(path)
        if found is not None:
            return found
        self.heads += 1
        size = min(ref.bytes, run.footer_bytes_likely(ref.count))

        async def read() -> bytes:
            end = await self._store.get_range(path, ref.bytes - size, ref.bytes)
            if run.footer_bytes(end) > size:
                end = await self._store.get_range(path, max(0, ref.bytes - run.footer_bytes(end)), ref.bytes)
            return end

        async def decode(end: bytes) -> Summary:
            head = run.head(end, self._what(ref))
            _check(ref, head, self._what(ref))
            return head

        with is_named(self._what(ref)):
            head = await read_checked(read, decode)
        self._held.hold_head(path, head)
        return head

    async def open(self, ref: RunRef) -> OpenRun:
        """Opens the run. Concurrent callers for the same run share one read."""
        path = self._path(ref.file)
        while (opened := self._held.get(path)) is None:
            if path not in self._waiting:
                return await self._open(ref, path)
            await self._until_open(path)
        return opened

    async def _open(self, ref: RunRef, path: str) -> OpenRun:
        self._waiting[path] = []
        try:
            batch, weight = await self._load(ref, path)
            opened = OpenRun(ref, batch)
            self._held.hold(path, opened, weight)
            return opened
        finally:
            for future in self._waiting.pop(path):
                if not future.done():
                    future.set_result(None)

    async def _until_open(self, path: str) -> None:
        import asyncio  # only if a caller has to wait

        future: Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[path].append(future)
        await future

    async def _load(self, ref: RunRef, path: str) -> tuple[pa.RecordBatch, int]:
        self.opened += 1
        if self._disk is None or ref.count <= _SMALL_ROWS:
            batch = await self._fetch(ref, path)
            return batch, batch.nbytes
        kept = await self.threads.run(self._disk.open, path)
        if kept is None:
            batch = await self._fetch(ref, path)
            await self.threads.run(self._disk.keep, path, batch)
            kept = await self.threads.run(self._disk.open, path)
            if kept is None:
                return batch, batch.nbytes
        return kept, _MAPPED_WEIGHT

    async def scan(self, ref: RunRef) -> AsyncGenerator[pa.RecordBatch, None]:
        """Yields its changes in order, a part at a time, for a reader that passes once: nothing is kept open."""
        held = self.at_hand(ref)
        if held is None and self._disk is not None and ref.count > _SMALL_ROWS:
            kept = await self.threads.run(self._disk.open, self._path(ref.file))
            held = None if kept is None else OpenRun(ref, kept)
        if held is not None:
            yield held.rows.batch
            return
        self.opened += 1
        path, what = self._path(ref.file), self._what(ref)
        with is_named(what):
            data = await get_checked(self._store, path, lambda data: self._whole(ref, data))
        groups = run.decode_groups(data, what)
        while (table := await self._in_thread(lambda each: next(each, None), groups, ref.count)) is not None:
            yield as_batch(table)

    async def _whole(self, ref: RunRef, data: bytes) -> bytes:
        """Returns the file's bytes, after checking that they are those that were staged."""
        what = self._what(ref)
        _check(ref, run.head(data, what), what)
        await self._in_thread(lambda whole: run.check_sums(whole, what), data, ref.count)
        return data

    async def _fetch(self, ref: RunRef, path: str) -> pa.RecordBatch:
        with is_named(self._what(ref)):
            return await get_checked(self._store, path, lambda data: self._decoded(ref, data))

    async def _decoded(self, ref: RunRef, data: bytes) -> pa.RecordBatch:
        what = self._what(ref)
        _check(ref, run.head(data, what), what)
        table = await self._in_thread(lambda whole: run.decode(whole, what), data, ref.count)
        return as_batch(table)

    async def _in_thread(self, work: Callable[[A], B], argument: A, rows: int) -> B:
        return work(argument) if rows <= _INLINE_ROWS_MAX else await self.threads.run(work, argument)

    def _path(self, file: str) -> str:
        return f"{self._prefix}/{file}"

    def _what(self, ref: RunRef) -> str:
        return f"run {self._path(ref.file)} in {self._store.url}"


def _check(ref: RunRef, found: Summary, what: str) -> None:
    head = found.head
    if (head.count, head.tombstones, head.min, head.max) != (ref.count, ref.tombstones, ref.min_path, ref.max_path):
        raise Corrupt(f"{what} is not the run that was staged: another file stands in its place", hint=_RESTORE)


def _is_asked_first(ref: RunRef) -> bool:
    """Returns whether its filter is read before the run is opened. A small file of few rows is read as a whole as
    quickly as its footer; many rows take longer to decode, however few bytes they were packed into."""
    return ref.bytes > INLINE_BYTES_MAX or ref.count > _INLINE_ROWS_MAX


async def _parts(tables: Tables) -> AsyncIterator[pa.Table]:
    """Yields the same rows, split where a run is full. No part is empty."""
    room = ROWS_MAX
    async for table in _each(tables):
        run.check_schema(table)
        while len(table):
            part, table = table.slice(0, room), table.slice(room)
            room = room - len(part) or ROWS_MAX
            yield part


async def _each(tables: Tables) -> AsyncIterator[pa.Table]:
    if isinstance(tables, pa.Table):
        yield tables
        return
    async for table in tables:
        yield table


_RESTORE = "restore this file from a copy of the lake; nothing was changed"
