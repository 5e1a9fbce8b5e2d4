"""Copies of what was just written, made for the local disk behind the answer: nobody who waits for a commit to be safe
needs them. Who asks for one that is on its way waits for it.

    written ──> waiting ──> being made ──> on the disk       one at a time, and none while a tree is put together,
                   └──────────^  somebody asks for it        unless more wait than may be held
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pyarrow as pa

from lochan.concurrency import plain
from lochan.formats import range as ranges
from lochan.formats.entry_table import as_batch
from lochan.runtime import running_loop
from lochan.store.threads import Threads
from lochan.tree.cache import ArrowCache

# Entries that are held for it, and beyond these the files that hold them, a quarter as large: who writes faster than
# the disk takes them waits.
_TABLES_BYTES_MAX = 32 << 20
_FILES_BYTES_MAX = 64 << 20


class Copies:
    def __init__(self, cache: ArrowCache) -> None:
        self._cache = cache
        self._threads = Threads(1)  # its own: the work that is waited for goes on beside it
        self._waiting: dict[str, _Waiting] = {}  # by file, in the order in which they came
        self._making: dict[str, Any] = {}  # file -> the task that makes its copy
        self._held_back = 0
        self._tables_bytes = self._files_bytes = 0

    async def add(self, name: str, entries: pa.Table, data: bytes) -> None:
        """`data` is the file of these entries."""
        if running_loop() is None:
            self._cache.keep(name, as_batch(entries))
            return
        self._waiting[name] = self._held(entries, data)
        self._go_on()
        while self._files_bytes > _FILES_BYTES_MAX and (self._waiting or self._making):
            await self.made(next(iter(self._making or self._waiting)))

    async def made(self, name: str) -> None:
        """Returns when it is there, or will not be: it is only a copy."""
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
        """What goes on meanwhile has the processors to itself."""
        self._held_back += 1
        try:
            yield
        finally:
            self._held_back -= 1
            self._go_on()

    def _held(self, entries: pa.Table, data: bytes) -> "_Waiting":
        size = entries.nbytes
        if self._tables_bytes + size <= _TABLES_BYTES_MAX:
            self._tables_bytes += size
            return _Waiting(lambda: as_batch(entries), size, 0)
        self._files_bytes += len(data)
        return _Waiting(lambda: ranges.read_back(data), 0, len(data))

    def _go_on(self) -> None:
        if self._waiting and not self._making and not self._held_back:
            self._make(next(iter(self._waiting)))

    def _make(self, name: str) -> None:
        loop = running_loop()
        if loop is None or loop.is_closed():
            return
        waiting = self._waiting.pop(name)
        task = loop.create_task(plain(self._threads.run(self._keep, name, waiting)))
        self._making[name] = task
        task.add_done_callback(lambda task: self._made(name, waiting, task))

    def _keep(self, name: str, waiting: "_Waiting") -> None:
        self._cache.keep(name, waiting.batch())

    def _made(self, name: str, waiting: "_Waiting", task: Any) -> None:
        self._tables_bytes -= waiting.table_bytes
        self._files_bytes -= waiting.file_bytes
        if self._making.get(name) is task:
            del self._making[name]
        if not task.cancelled():
            task.exception()  # looked at: a copy that could not be made is none
            self._go_on()


class _Waiting(NamedTuple):
    batch: Callable[[], pa.RecordBatch]
    table_bytes: int  # what is held for it
    file_bytes: int
