"""Answers the plain reads of a moment: the journals are looked at once for all of them, and the answers leave together.

    loop turns    read read read ▏look ▏ made made made ▏ sent sent sent ▏ logged ▏ the tasks end
                   └────┴────┴── have arrived before the look was sent (rule A1)

Granian hands each answer to a thread of its own. If that thread sleeps, it takes a system call to wake it up, and it is
asleep again when the next answer is ready. If the answers come right behind each other, only the first one wakes the
thread. Their clients also send their next requests at about the same time, so the next moment is as full.

A read that cannot be answered at once, because something was appended or has to be opened first, is left to its own
task. So is a read that meets an error, so that only its own task fails.
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

SENT_TOGETHER = 64  # with thousands of reads, the first answers should not wait for the last one to be ready


class PlainRead:
    """A request to read whose signature is right. `told` and `data` hold its answer once it is made."""

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
        self.source = source  # the client's address, or the address that a trusted proxy has seen
        self.key = key
        self.path = path
        self.place = place
        self.inside = inside
        self.wants_body = wants_body
        self.wants_checksums = wants_checksums
        self.arrived = arrived
        self.signed = signed  # when its signature was verified
        self.looked = signed  # when the journals had been looked at
        self.body_s = 0.0
        self.told: Headers = []
        self.data = b""
        self.is_answered = False
        self.is_left = False  # whether it is left to its own task


class ReadBatch:
    """Collects the reads of one event loop. `make` fills in the answer to a read from what is known, or returns False
    if that is not enough. `send` sends answers, and never raises."""

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
        """Returns whether the read was answered. If not, it is left to its own task, and nobody else will answer it."""
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
            # Another waiting request was cancelled, and the future with it.
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
        """Looks at the journals of all reads. Returns the time at which the look was over."""
        for journal in {self._lake, *{read.place.repository.journal for read in reads}}:
            with suppress(LochanError):  # the request that asks this journal alone gets the error
                journal.tail.glance()
        return self._now()

    def _is_made(self, read: PlainRead) -> bool:
        lake, journal = self._lake.tail, read.place.repository.journal.tail
        if not (lake.anchor.sent > read.arrived and journal.anchor.sent > read.arrived):  # something has been appended
            return False
        try:
            return self._make(read)
        except Exception:  # its own task meets the same error, and reports it
            return False
