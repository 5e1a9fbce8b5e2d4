"""Copies of what was just written, made for the local disk behind the answer: nobody who waits for a commit to be safe
needs them. Who asks for one that is on its way waits for it."""

from typing import Any

import pyarrow as pa

from lochan.formats.entry_table import as_batch
from lochan.store.threads import Threads
from lochan.tree.ahead import plain, running_loop
from lochan.tree.cache import ArrowCache

_WAITING_BYTES_MAX = 64 << 20  # entries that are held for it; who writes faster than the disk takes them waits


class Copies:
    def __init__(self, cache: ArrowCache) -> None:
        self._cache = cache
        self._threads = Threads(1)  # its own: the work that is waited for goes on beside it
        self._waiting: dict[str, Any] = {}  # file -> the task that makes its copy, in the order in which they came
        self._bytes = 0

    async def add(self, name: str, entries: pa.Table) -> None:
        loop = running_loop()
        if loop is None:
            self._make(name, entries)
            return
        task = self._waiting[name] = loop.create_task(plain(self._threads.run(self._make, name, entries)))
        size = entries.nbytes
        self._bytes += size
        task.add_done_callback(lambda task: self._done(name, size, task))
        while self._bytes > _WAITING_BYTES_MAX and self._waiting:
            await self.made(next(iter(self._waiting)))

    async def made(self, name: str) -> None:
        """Returns when it is there, or will not be: it is only a copy."""
        task = self._waiting.get(name)
        if task is not None:
            import asyncio

            await asyncio.wait([task])

    async def settled(self) -> None:
        for name in list(self._waiting):
            await self.made(name)

    def _make(self, name: str, entries: pa.Table) -> None:
        self._cache.keep(name, as_batch(entries))

    def _done(self, name: str, size: int, task: Any) -> None:
        self._bytes -= size
        if self._waiting.get(name) is task:
            del self._waiting[name]
        if not task.cancelled():
            task.exception()  # looked at: a copy that could not be made is none
