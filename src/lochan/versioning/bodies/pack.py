"""Small bodies that arrive at the same time share a file, and so one sync.

While one pack is written the next one gathers, as in the journal's group commit: a single body does not wait, and under
load hundreds share one file. Bodies that are to be staged on a branch go on to the journal from here, so that each of
their senders waits only once.

    pack ─▶ record ─▶ answers ─▶ pause ▏ pack ─▶ record …
       └── gathers meanwhile ─────┴───┘

The next pack is written when the record of the last one has landed, not beside it. Otherwise the senders would fall
into three groups, one that waits for its pack, one for its record, one that is answered, and each file would have a
third of them. The pause is for those who were just answered and write again. It ends as soon as the expected number of
senders waits. If fewer come, by chance or from a busy machine, waiting for them is lost time: the next packs are
written beside the records again, until another try.
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
_PAUSE_SHARE, _PAUSE_S_MAX = 0.5, 0.005  # as a share of the time that the last pack and its record took, and at most
_CAME_SHARE = 0.75  # the share of the expected senders; if fewer come, the pause was in vain
_BESIDE = 32  # the number of packs until a pause is tried again


class _Waiting(msgspec.Struct, frozen=True, eq=False):
    ready: HashedBody
    future: asyncio.Future[Any]
    branch: str = ""  # the branch to stage the body on
    actor: Actor | None = None  # None if only the entry is needed


class Packing:
    def __init__(self, bodies: Bodies, journal: Journal) -> None:
        self._bodies = bodies
        self._journal = journal
        self._waiting: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None
        self._enough = 0  # the number of waiting senders that ends the pause before a pack
        self._awaited: asyncio.Future[None] | None = None  # the pause that is under way
        self._beside = 0  # the number of packs that are still to be written beside records

    async def write(self, ready: HashedBody) -> Entry:
        """Returns the entry when its bytes are durable."""
        future: asyncio.Future[Entry] = asyncio.get_running_loop().create_future()
        self._add(_Waiting(ready, future))
        return await future

    async def stage(self, ready: HashedBody, branch: str, actor: Actor) -> None:
        """Stages the body on the branch. It is durable and visible to everybody when this returns. Raises what the
        journal raises, or what the store raises if the bytes could not be written; then the journal does not know
        them."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._add(_Waiting(ready, future, branch, actor))
        await future

    def _add(self, waiting: _Waiting) -> None:
        self._waiting.append(waiting)
        if self._task is None:
            self._task = asyncio.create_task(self._work())
        elif self._awaited is not None and len(self._waiting) >= self._enough and not self._awaited.done():
            self._awaited.set_result(None)

    async def _work(self) -> None:
        try:
            while self._waiting:
                begun, taken = self._journal.tail.now(), self._taken()
                await self._one_pack(taken)
                if self._size() >= _PACK_BYTES_MAX:  # the disk takes the time then, and not the number of files
                    continue
                if self._beside:
                    self._beside -= 1
                    continue
                landing = next((each.future for each in reversed(taken) if not each.future.done()), None)
                if landing is not None:
                    await asyncio.wait((landing,))
                    took_s = self._journal.tail.now() - begun
                    expected = len(taken) + len(self._waiting)
                    await self._pause(expected, min(took_s * _PAUSE_SHARE, _PAUSE_S_MAX))
                    if self._waiting and len(self._waiting) < expected * _CAME_SHARE:
                        self._beside = _BESIDE
        finally:
            self._task = None

    async def _pause(self, enough: int, pause_s: float) -> None:
        """Returns when `enough` senders wait, or when the time is over."""
        if len(self._waiting) >= enough:
            return
        loop = asyncio.get_running_loop()
        self._enough, self._awaited = enough, loop.create_future()
        timer = loop.call_later(pause_s, _end, self._awaited)
        try:
            await self._awaited
        finally:
            timer.cancel()
            self._awaited = None

    def _size(self) -> int:
        return sum([each.ready.entry.size for each in self._waiting])

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
        mint = self._journal.tail.state.number  # the number that was folded before the first byte (G1)
        try:
            entries = await self._bodies.write_pack([each.ready for each in taken], mint=mint)
        except Exception as error:  # even for a bug: nobody may be left waiting
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
                self._journal.enqueue(_staged_request(each.branch, entry, each.actor), each.future)


def _end(pause: asyncio.Future[None]) -> None:
    if not pause.done():
        pause.set_result(None)


def _staged_request(branch: str, entry: Entry, actor: Actor) -> AppendRequest:
    event = Staged(branch, (entry,))
    return AppendRequest(actor, lambda state: (event,), event=event)
