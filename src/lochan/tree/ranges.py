"""A repository's range files: written to the store, read from it, kept opened and on the local disk.

What comes back from `load` is what was written, or an error: a range is checked against its name when it is fetched,
fetched a second time if that fails, and Corrupt if it fails again.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from lochan.errors import Corrupt
from lochan.formats import range as ranges
from lochan.formats.entry_table import Rows
from lochan.formats.range import RangeRef
from lochan.store.protocol import Store
from lochan.store.threads import Threads
from lochan.tree.ahead import beside, running_loop
from lochan.tree.cache import ArrowCache

Seen = Callable[[str, RangeRef], None]

_HEAP_BYTES_MAX = 128 << 20  # opened ranges that are not mapped
_MAPPED_MAX = 512  # opened ranges that are; each costs us a sixteenth of its paths, 0.3 MB


class Ranges:
    """`seen` hears of every range that is opened ("open", also if it was at hand) and written ("write")."""

    def __init__(
        self, store: Store, prefix: str, cache: ArrowCache | None, threads: Threads, seen: Seen | None = None
    ) -> None:
        self._store = store
        self._prefix = prefix
        self._cache = cache
        self._threads = threads
        self._seen = seen
        self._mapped = _Held(_MAPPED_MAX)
        self._heap = _Held(_HEAP_BYTES_MAX)
        self._loading: dict[str, Any] = {}

    async def load(self, ref: RangeRef) -> Rows:
        if self._seen is not None:
            self._seen("open", ref)
        found = self._mapped.get(ref.file) or self._heap.get(ref.file)
        if found is not None:
            return found
        loop = running_loop()
        if loop is None:
            return await self._fetch(ref)
        import asyncio

        task = self._loading.get(ref.file)
        if task is None:  # those who ask while it is under way wait for the same
            task = self._loading[ref.file] = loop.create_task(self._fetch(ref))
            task.add_done_callback(lambda task: self._loaded(ref.file, task))
        return await asyncio.shield(task)

    async def write(self, batch: pa.RecordBatch, mint: int, known: Mapping[str, RangeRef]) -> RangeRef:
        """The range of `known` with this content, or else a new file, whatever other files exist. REQUIRES: at least
        one entry; paths ascend; the names in each map ascend."""
        id = await self._threads.run(ranges.content_id, batch)
        if id in known:
            return known[id]
        ref: RangeRef = await self._threads.run(ranges.refer, batch, mint, id)
        if self._seen is not None:
            self._seen("write", ref)
        if self._cache is not None:  # who made it is likely to change it next
            await beside(self._put(ref, batch), self._threads.run(self._cache.keep, ref.file, batch))
        else:
            await self._put(ref, batch)
        return ref

    async def _put(self, ref: RangeRef, batch: pa.RecordBatch) -> None:
        await self._store.put(self._path(ref.file), await self._threads.run(ranges.encode, batch, ref))

    def _loaded(self, file: str, task: Any) -> None:
        del self._loading[file]
        if not task.cancelled():
            task.exception()  # looked at, also if everybody who waited for it went away

    async def _fetch(self, ref: RangeRef) -> Rows:
        cache = self._cache
        batch = None if cache is None else await self._threads.run(cache.open, ref.file)
        if batch is None:
            batch = await self._from_store(ref)
            mapped = await self._threads.run(_kept, cache, ref.file, batch) if cache is not None else None
            if mapped is None:
                return self._heap.hold(ref.file, Rows(batch), batch.nbytes)
            batch = mapped  # the memory is the kernel's
        return self._mapped.hold(ref.file, Rows(batch), 1)

    async def _from_store(self, ref: RangeRef) -> pa.RecordBatch:
        path = self._path(ref.file)
        what = f"range {path} in {self._store.url}"
        try:
            return await self._threads.run(ranges.decode, await self._store.get(path), ref, what)
        except Corrupt:  # the damage may have come on the way
            return await self._threads.run(ranges.decode, await self._store.get(path), ref, what)

    def _path(self, file: str) -> str:
        return f"{self._prefix}/{file}"


class _Held:
    """What was used last, up to a weight."""

    def __init__(self, weight_max: int) -> None:
        self._items: OrderedDict[str, tuple[Rows, int]] = OrderedDict()
        self._weight = 0
        self._weight_max = weight_max

    def get(self, file: str) -> Rows | None:
        found = self._items.get(file)
        if found is None:
            return None
        self._items.move_to_end(file)
        return found[0]

    def hold(self, file: str, rows: Rows, weight: int) -> Rows:
        self._weight += weight - self._items.pop(file, (rows, 0))[1]
        self._items[file] = rows, weight
        while self._weight > self._weight_max:
            _, (_, gone) = self._items.popitem(last=False)
            self._weight -= gone
        return rows


def _kept(cache: ArrowCache, name: str, batch: pa.RecordBatch) -> pa.RecordBatch | None:
    cache.keep(name, batch)
    return cache.open(name)
