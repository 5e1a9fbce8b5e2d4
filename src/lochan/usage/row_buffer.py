"""Writes rows in the background, so that no request waits for them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from lochan.errors import LochanError

Row = TypeVar("Row")

_LAST_S = 10.0  # how long the last rows may take, when the process has to stop
_log = logging.getLogger("lochan.server")


async def _nothing() -> None:
    pass


class RowBuffer(Generic[Row]):
    """Rows that are written in the background: a request appends to a list, and never waits. `write` gets the waiting
    rows every so many seconds, or as soon as there are `full`. Rows that it could not write wait for the next time; of
    more than `waiting_max` rows the newest are dropped, and `dropped` is called with their number. `then` is called
    each time when no row is left to write."""

    def __init__(
        self,
        write: Callable[[list[Row]], Awaitable[None]],
        *,
        every_s: float,
        full: int,
        waiting_max: int,
        dropped: Callable[[int], None] = lambda count: None,
        then: Callable[[], Awaitable[None]] = _nothing,
    ) -> None:
        self._write = write
        self._every_s = every_s
        self._full = full
        self._waiting_max = waiting_max
        self._dropped = dropped
        self._then = then
        self._rows: list[Row] = []
        self._wake = asyncio.Event()
        self._stopping = False
        self._task: asyncio.Task[None] | None = None

    def add(self, row: Row) -> None:
        count = len(self._rows)
        if count >= self._waiting_max:
            self._dropped(1)
            return
        self._rows.append(row)
        if count + 1 == self._full:
            self._wake.set()

    def add_all(self, rows: Sequence[Row]) -> None:
        count, came = len(self._rows), len(rows)
        room = self._waiting_max - count
        if came > room:
            self._dropped(came - room)
            rows = rows[:room]
        self._rows += rows
        if count < self._full <= len(self._rows):
            self._wake.set()

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._work())

    async def close(self) -> None:
        """Writes the rows that are left, and drops those that cannot be written in time."""
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            await self._task
        try:
            await asyncio.wait_for(self.flush(), _LAST_S)
        except TimeoutError:
            _log.warning("the last rows could not be written in time")
        self._dropped(len(self._rows))
        self._rows = []

    async def _work(self) -> None:
        while not self._stopping:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), self._every_s)
            self._wake.clear()
            if not self._stopping:
                await self.flush()

    async def flush(self) -> None:
        """Writes the waiting rows, or keeps them for the next time."""
        taken, self._rows = self._rows, []
        try:
            if taken:
                await self._write(taken)
        except (LochanError, OSError) as error:
            _log.warning("%d rows could not be written yet: %s", len(taken), error)
            rows = taken + self._rows
            self._rows = rows[: self._waiting_max]
            self._dropped(len(rows) - len(self._rows))
        except asyncio.CancelledError:
            self._rows = taken + self._rows
            raise
        except Exception:  # rows that can never be written must not stop those that come
            _log.exception("%d rows were dropped: they cannot be written", len(taken))
            self._dropped(len(taken))
        else:
            await self._after()

    async def _after(self) -> None:
        try:
            await self._then()
        except (LochanError, OSError) as error:
            _log.warning("the state of the log could not be written yet: %s", error)
