"""Small bodies that come at the same time share a file, and so one sync.

While one pack is being written the next one gathers, as in the journal's group commit: alone a body waits for nobody,
and under load hundreds pay for one file.
"""

import asyncio

from lochan.errors import LochanError
from lochan.formats.entry import Entry
from lochan.journal.journal import Journal
from lochan.versioning.bodies.body import Ready
from lochan.versioning.bodies.write import Bodies

_PACK_BYTES_MAX = 8 << 20


class Packing:
    def __init__(self, bodies: Bodies, journal: Journal) -> None:
        self._bodies = bodies
        self._journal = journal
        self._waiting: list[tuple[Ready, asyncio.Future[Entry]]] = []
        self._task: asyncio.Task[None] | None = None

    async def write(self, ready: Ready) -> Entry:
        """The entry, when its bytes are durable."""
        future: asyncio.Future[Entry] = asyncio.get_running_loop().create_future()
        self._waiting.append((ready, future))
        if self._task is None:
            self._task = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        try:
            while self._waiting:
                await self._one_pack(self._taken())
        finally:
            self._task = None

    def _taken(self) -> list[tuple[Ready, asyncio.Future[Entry]]]:
        size, count = 0, 0
        for ready, _ in self._waiting:
            size += len(ready.data)
            count += 1
            if size >= _PACK_BYTES_MAX:
                break
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        return taken

    async def _one_pack(self, taken: list[tuple[Ready, "asyncio.Future[Entry]"]]) -> None:
        mint = self._journal.tail.state.number  # G1: what was folded before the first byte
        try:
            entries = await self._bodies.write_pack([ready for ready, _ in taken], mint=mint)
        except (LochanError, OSError) as error:
            for _, future in taken:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), entry in zip(taken, entries, strict=True):
            if not future.done():
                future.set_result(entry)
