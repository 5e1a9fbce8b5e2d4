"""The plain reads of a moment: one look at the journals for all of them, and answers that leave together.

    loop turns    read read read ▏look ▏ made made made ▏ sent sent sent ▏ logged ▏ the tasks end
                   └────┴────┴── have arrived before the look was sent (rule A1)

Granian hands an answer to a thread of its own. If that thread sleeps, a system call wakes it up, and it is asleep again
when the next answer has been worked out. Of answers that come one right behind the other, only the first wakes it; and
their clients ask again at about the same time, so that the next moment is as full.

A read that cannot be answered at once, because something was appended or has to be opened first, is left to its own
task. So is one that meets an error: only its own task may fail by it.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from lochan.access.state import AccessKey
from lochan.errors import LochanError
from lochan.server.connections import Client
from lochan.server.gateway.fastpath.engine import Journal
from lochan.server.gateway.fastpath.places import ReadPlace
from lochan.server.gateway.request import Headers

SENT_TOGETHER = 64  # of thousands, the first are not to wait for the last to be worked out


class PlainRead:
    """A request to read, whose signature is right. `told` and `data` are its answer, once it is made."""

    __slots__ = (
        *("arrived", "body_s", "client", "data", "inside", "is_answered", "is_left", "key", "looked", "path", "place"),
        *("protocol", "signed", "source", "told", "wants_body", "wants_checksums"),
    )

    def __init__(
        self,
        protocol: Any,
        client: Client,
        source: str,
        key: AccessKey,
        path: str,
        place: ReadPlace,
        inside: str,
        wants_body: bool,
        wants_checksums: bool,
        arrived: float,
        signed: float,
    ) -> None:
        self.protocol = protocol
        self.client = client
        self.source = source  # the client's address, or whom a trusted proxy has seen
        self.key = key
        self.path = path
        self.place = place
        self.inside = inside
        self.wants_body = wants_body
        self.wants_checksums = wants_checksums
        self.arrived = arrived
        self.signed = signed  # when its signature was verified
        self.looked = signed  # and when the journals had been looked at
        self.body_s = 0.0
        self.told: Headers = []
        self.data = b""
        self.is_answered = False
        self.is_left = False  # to its own task


class ReadBatch:
    """Of one event loop. `make` fills in the answer of a read, from what is known, or says that there is none to be had
    so; `send` lets answers leave, and never raises."""

    def __init__(
        self,
        lake: Journal,
        now: Callable[[], float],
        make: Callable[[PlainRead], bool],
        send: Callable[[Sequence[PlainRead]], None],
    ) -> None:
        self._lake = lake
        self._now = now
        self._make = make
        self._send = send
        self._waiting: list[PlainRead] = []
        self._done: asyncio.Future[None] | None = None

    async def answered(self, read: PlainRead) -> bool:
        """False: it is left to its task, and nobody else answers it any more."""
        done = self._done
        if done is None:
            loop = asyncio.get_running_loop()
            done = self._done = loop.create_future()
            loop.call_soon(self._answer)
        self._waiting.append(read)
        try:
            await done
        except asyncio.CancelledError:
            read.is_left = True
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Another that waited was cancelled, and the future with it.
        return read.is_answered

    def _answer(self) -> None:
        done, self._done = self._done, None
        reads, self._waiting = self._waiting, []
        try:
            looked = self._look(reads)
            for first in range(0, len(reads), SENT_TOGETHER):
                made = []
                for read in reads[first : first + SENT_TOGETHER]:
                    read.looked = looked
                    if not read.is_left and self._is_made(read):
                        read.is_answered = True
                        made.append(read)
                self._send(made)
        finally:
            if done is not None and not done.done():
                done.set_result(None)

    def _look(self, reads: Sequence[PlainRead]) -> float:
        """When it was over."""
        for journal in {self._lake, *{read.place.repository.journal for read in reads}}:
            with suppress(LochanError):  # who asks it alone gets the error
                journal.tail.glance()
        return self._now()

    def _is_made(self, read: PlainRead) -> bool:
        lake, journal = self._lake.tail, read.place.repository.journal.tail
        if not (lake.anchor.sent > read.arrived and journal.anchor.sent > read.arrived):  # something has been appended
            return False
        try:
            return self._make(read)
        except Exception:  # its own task meets the same, and tells it
            return False
