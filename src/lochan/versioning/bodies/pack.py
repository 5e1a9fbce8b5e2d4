"""Small bodies that arrive at the same time share a file, and so one sync.

While one pack is written the next one gathers, as in the journal's group commit: a single body does not wait, and under
load hundreds share one file. Bodies that are to be staged on a branch go on to the journal from here, so that each of
their senders waits only once.
"""

import asyncio
from typing import Any

import msgspec

from lochan.formats.entry import Entry
from lochan.formats.record import Actor
from lochan.formats.repository_events import Staged
from lochan.journal.group import AppendRequest
from lochan.journal.journal import Journal
from lochan.versioning.bodies.body import HashedBody
from lochan.versioning.bodies.write import Bodies

_PACK_BYTES_MAX = 8 << 20


class _Waiting(msgspec.Struct, frozen=True, eq=False):
    ready: HashedBody
    future: asyncio.Future[Any]
    branch: str = ""  # to stage it on
    actor: Actor | None = None  # None: only the entry is needed


class Packing:
    def __init__(self, bodies: Bodies, journal: Journal) -> None:
        self._bodies = bodies
        self._journal = journal
        self._waiting: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None

    async def write(self, ready: HashedBody) -> Entry:
        """The entry, when its bytes are durable."""
        future: asyncio.Future[Entry] = asyncio.get_running_loop().create_future()
        self._add(_Waiting(ready, future))
        return await future

    async def stage(self, ready: HashedBody, branch: str, actor: Actor) -> None:
        """Durable and visible to everybody when it returns. Raises what the journal raises, or what the store raises if
        the bytes could not be written; then the journal does not know them."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._add(_Waiting(ready, future, branch, actor))
        await future

    def _add(self, waiting: _Waiting) -> None:
        self._waiting.append(waiting)
        if self._task is None:
            self._task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        try:
            while self._waiting:
                await self._one_pack(self._taken())
        finally:
            self._task = None

    def _taken(self) -> list[_Waiting]:
        size, count = 0, 0
        for each in self._waiting:
            size += each.ready.entry.size
            count += 1
            if size >= _PACK_BYTES_MAX:
                break
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        return taken

    async def _one_pack(self, taken: list[_Waiting]) -> None:
        mint = self._journal.tail.state.number  # G1: what was folded before the first byte
        try:
            entries = await self._bodies.write_pack([each.ready for each in taken], mint=mint)
        except Exception as error:  # even a bug: nobody may be left waiting
            for each in taken:
                if not each.future.done():
                    each.future.set_exception(error)
            return
        for each, entry in zip(taken, entries, strict=True):
            if each.future.done():  # its sender is gone
                continue
            if each.actor is None:
                each.future.set_result(entry)
            else:
                self._journal.enqueue(_staged(each.branch, entry, each.actor), each.future)


def _staged(branch: str, entry: Entry, actor: Actor) -> AppendRequest:
    events = (Staged(branch, (entry,)),)
    return AppendRequest(actor, lambda state: events)
