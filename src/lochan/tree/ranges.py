"""A repository's range files: written to the store, read from it, kept open, and copied to the local disk.

`load` returns exactly the written rows, or raises. A fetched range is checked against its name. If that fails it is
fetched again, and it is Corrupt if the same bytes come back (`store/checked_reads.py`).

The local copy of a range that was just written is made of the rows in memory, in the background, because a commit does
not wait for it. A caller that needs a copy that is being made waits for it.

    written ──> waiting ──> being made ──> on the disk       one at a time, and none while a tree is put together,
                   └──────────^  a caller needs it           unless more of them wait than may be held"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

import pyarrow as pa

from lochan.bounded_cache import BoundedCache
from lochan.concurrency import both, plain
from lochan.formats import patch as patch_files
from lochan.formats import range as ranges
from lochan.formats.entry_table import EntryRows, as_batch
from lochan.formats.range import RangeRef
from lochan.runtime import running_loop
from lochan.store.checked_reads import get_checked, is_named
from lochan.store.protocol import Store
from lochan.store.threads import Threads
from lochan.tree.cache import ArrowCache
from lochan.tree.patches import PatchedRange, RangeParts, whole

T = TypeVar("T")
Seen = Callable[[str, RangeRef], None]
_HEAP_BYTES_MAX = 128 << 20  # bytes of open ranges that are not mapped
_PATCH_BYTES_MAX = 32 << 20  # bytes of open patches
_MAPPED_MAX = 512  # open ranges that are mapped; each costs a sixteenth of its paths, 0.3 MB
# No thread is worth its while for such a range. A range of a pool is kept in memory instead of copied, because the next
# small load changes it again.
_SMALL_BYTES_MAX = 256 << 10
# The bytes of entries that are held for copies. A caller that writes more than that at once waits for the copies.
# Holding the files instead, which are a quarter as large, and reading them back took half as long again as writing
# them.
_HELD_BYTES_MAX = 64 << 20


class Ranges:
    """Reads and writes the ranges of a repository. `seen` is called for every range that is opened ("open", even from
    memory) or written ("write"). `held` and `held_patches` have those in memory, by their paths in the store; others
    may have opened them."""

    def __init__(
        self,
        store: Store,
        prefix: str,
        cache: ArrowCache | None,
        threads: Threads,
        seen: Seen | None = None,
        held: BoundedCache[str, EntryRows] | None = None,
        held_patches: BoundedCache[str, pa.RecordBatch] | None = None,
    ) -> None:
        self._store = store
        self._prefix = prefix
        self._cache = cache
        self._copies = None if cache is None else Copies(cache)
        self._threads = threads
        self._seen = seen
        self._mapped: BoundedCache[str, EntryRows] = BoundedCache(_MAPPED_MAX)
        self._heap: BoundedCache[str, EntryRows] = BoundedCache(_HEAP_BYTES_MAX) if held is None else held
        self._patches = BoundedCache(_PATCH_BYTES_MAX) if held_patches is None else held_patches
        self._loading: dict[str, Any] = {}

    async def load(self, ref: RangeRef) -> EntryRows:
        """Loads a range to read a few rows: it stays open."""
        self._tell("open", ref)
        held = self._mapped.get(ref.file)
        if held is not None:
            return held
        rows = await self._rows(ref)
        return rows if self._heap.get(self._path(ref.file)) is rows else self._mapped.put(ref.file, rows, 1)

    def at_hand(self, ref: RangeRef) -> EntryRows | None:
        """Returns the range if it is open already, otherwise None."""
        held = self._mapped.get(ref.file) or self._heap.get(self._path(ref.file))
        if held is not None:
            self._tell("open", ref)
        return held

    async def load_all(self, ref: RangeRef) -> EntryRows:
        """Loads a range to read all rows once. It is not kept open; otherwise everything that was ever compared would
        stay mapped."""
        self._tell("open", ref)
        return self._mapped.get(ref.file) or await self._rows(ref)

    async def parts(self, ref: RangeRef) -> RangeParts:
        """Returns the range as it is stored: the rows of a patch are not put together with those of its base."""
        self._tell("open", ref)
        if ref.base is None:
            return RangeParts(ref, self._mapped.get(ref.file) or await self._rows(ref), None)
        return await self._parts(ref, ref.base)

    async def _parts(self, ref: RangeRef, base: RangeRef) -> RangeParts:
        held = self._mapped.get(base.file)
        if held is not None:
            return RangeParts(base, held, await self._patch(ref))
        rows, patch = await both(self._rows(base), self._patch(ref))
        return RangeParts(base, rows, patch)

    async def name(self, entries: pa.Table, mint: int, known: Mapping[str, RangeRef]) -> RangeRef:
        """Returns the range of `known` with this content, or a new one, whatever other files exist. REQUIRES: at least
        one entry; paths ascend; the names in each map ascend."""
        if entries.nbytes <= _SMALL_BYTES_MAX:
            return _refer(entries, mint, known)
        return await self._threads.run(_refer, entries, mint, known)

    async def write(self, entries: pa.Table, named: Awaitable[RangeRef], known: Mapping[str, RangeRef]) -> None:
        """Writes the range that `name` returns. Encoding takes longer than naming, and need not wait for the name."""
        if entries.nbytes <= _SMALL_BYTES_MAX:
            ref = await named
            if ref.id not in known:
                await self.write_named(entries, ref)
            return
        begun, ref = await both(self._threads.run(ranges.begin, entries), named)
        if ref.id in known:  # rare: it was encoded in vain, but in parallel with the naming
            return
        await self._put(entries, ref, await self._threads.run(ranges.finish, begun, ref.id))

    async def write_named(self, entries: pa.Table, ref: RangeRef) -> None:
        """Writes a small range."""
        await self._put(entries, ref, ranges.encode(entries, ref.id))

    async def _put(self, entries: pa.Table, ref: RangeRef, data: bytes) -> None:
        self._tell("write", ref)
        await self._store.put(self._path(ref.file), data)
        if ref.keys is not None and entries.nbytes <= _SMALL_BYTES_MAX:
            rows = as_batch(entries)
            self._heap.put(self._path(ref.file), EntryRows(rows), rows.nbytes)
        elif self._copies is not None:  # its writer is likely to change it next
            await self._copies.add(ref.file, entries)

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        return await self._threads.run(work, *arguments)

    async def write_patch(self, made: PatchedRange) -> None:
        data = await self._threads.run(patch_files.encode, made.changes, made.ref)
        self._tell("write", made.ref)
        await self._store.put(self._path(made.ref.file), data)
        self._patches.put(self._path(made.ref.file), made.changes, made.changes.nbytes)

    def alone(self) -> AbstractContextManager[None]:
        """Returns a context in which copies are made only if a caller waits for them."""
        return nullcontext() if self._copies is None else self._copies.held_back()

    async def settled(self) -> None:
        """Waits for the copies that are still being made."""
        if self._copies is not None:
            await self._copies.settled()

    async def _rows(self, ref: RangeRef) -> EntryRows:
        """Returns the rows of a range. Concurrent callers share one fetch."""
        held = self._heap.get(self._path(ref.file))
        loop = running_loop()
        if held is not None or loop is None:
            return held or await self._fetch(ref)
        import asyncio

        task = self._loading.get(ref.file)
        if task is None:
            task = self._loading[ref.file] = loop.create_task(self._fetch(ref))
            task.add_done_callback(lambda task: self._end_load(ref.file, task))
        return await asyncio.shield(task)

    def _end_load(self, file: str, task: Any) -> None:
        del self._loading[file]
        if not task.cancelled():
            task.exception()  # retrieved, even if all waiting callers were cancelled

    async def _fetch(self, ref: RangeRef) -> EntryRows:
        """Returns the rows mapped, so that the kernel manages the memory; or in our memory, if there is no room on the
        disk."""
        cache = self._cache
        if self._copies is not None:
            await self._copies.made(ref.file)
        mapped = await self._threads.run(cache.open, ref.file) if cache else None
        if mapped is None:
            batch = await (self._from_store(ref) if ref.base is None else self._from_patch(ref, ref.base))
            mapped = await self._threads.run(_keep, cache, ref.file, batch) if cache else None
            if mapped is None:
                return self._heap.put(self._path(ref.file), EntryRows(batch), batch.nbytes)
        return EntryRows(mapped)

    async def _from_patch(self, ref: RangeRef, base: RangeRef) -> pa.RecordBatch:
        parts = await self._parts(ref, base)
        return await self._threads.run(whole, parts, ref, f"range {self._path(ref.file)} in {self._store.url}")

    async def _patch(self, ref: RangeRef) -> pa.RecordBatch:
        path = self._path(ref.file)
        held = self._patches.get(path)
        if held is not None:
            return held
        what = f"range {path} in {self._store.url}"

        async def decode(data: bytes) -> pa.RecordBatch:
            return await self._threads.run(patch_files.decode, data, ref, what)

        with is_named(what):
            batch = await get_checked(self._store, path, decode)
        return self._patches.put(path, batch, batch.nbytes)

    async def _from_store(self, ref: RangeRef) -> pa.RecordBatch:
        path = self._path(ref.file)
        what = f"range {path} in {self._store.url}"

        async def decode(data: bytes) -> pa.RecordBatch:
            return await self._threads.run(ranges.decode, data, ref, what)

        with is_named(what):
            return await get_checked(self._store, path, decode)

    def _tell(self, what: str, ref: RangeRef) -> None:
        if self._seen is not None:
            self._seen(what, ref)

    def _path(self, file: str) -> str:
        return f"{self._prefix}/{file}"


def _refer(entries: pa.Table, mint: int, known: Mapping[str, RangeRef]) -> RangeRef:
    id = ranges.content_id(entries)
    return known[id] if id in known else ranges.refer(entries, mint, id)


def _keep(cache: ArrowCache, name: str, batch: pa.RecordBatch) -> pa.RecordBatch | None:
    cache.keep(name, batch)
    return cache.open(name)


class Copies:
    def __init__(self, cache: ArrowCache) -> None:
        self._cache = cache
        self._threads = Threads(1)  # separate, so that urgent work continues beside it
        self._waiting: dict[str, pa.Table] = {}  # tables by file, in order of arrival
        self._making: dict[str, Any] = {}  # the tasks that make copies, by file
        self._held_back = 0
        self._held_bytes = 0

    async def add(self, name: str, entries: pa.Table) -> None:
        if running_loop() is None:
            self._cache.keep(name, as_batch(entries))
            return
        self._waiting[name] = entries
        self._held_bytes += entries.nbytes
        self._go_on()
        while self._held_bytes > _HELD_BYTES_MAX and (self._waiting or self._making):
            await self.made(next(iter(self._making or self._waiting)))

    async def made(self, name: str) -> None:
        """Returns when the copy exists or has failed. A failure is no error, because it is only a copy."""
        if name in self._waiting:
            self._make(name)
        task = self._making.get(name)
        if task is not None:
            import asyncio

            await asyncio.wait([task])

    async def settled(self) -> None:
        while self._waiting or self._making:
            await self.made(next(iter(self._making or self._waiting)))

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Leaves the processors to other work within the context."""
        self._held_back += 1
        try:
            yield
        finally:
            self._held_back -= 1
            self._go_on()

    def _go_on(self) -> None:
        if self._waiting and not self._making and not self._held_back:
            self._make(next(iter(self._waiting)))

    def _make(self, name: str) -> None:
        loop = running_loop()
        if loop is None or loop.is_closed():
            return
        entries = self._waiting.pop(name)
        task = loop.create_task(plain(self._threads.run(self._keep, name, entries)))
        self._making[name] = task
        task.add_done_callback(lambda task: self._end_copy(name, entries.nbytes, task))

    def _keep(self, name: str, entries: pa.Table) -> None:
        self._cache.keep(name, as_batch(entries))

    def _end_copy(self, name: str, size: int, task: Any) -> None:
        self._held_bytes -= size
        if self._making.get(name) is task:
            del self._making[name]
        if not task.cancelled():
            task.exception()  # retrieved here: a copy that could not be made is no error
            self._go_on()
