"""What a process that runs for long writes to the usage log: rows every so often, and a mark while it is open.

Rows are written after the requests are answered. So a process that is killed loses its last rows, and rows are dropped
while the store cannot be reached. Both must be visible afterwards:

    opened ──▶ mark ──▶ rows, mark renewed ──▶ … ──▶ last rows, mark deleted     nothing is missing
                  │
                  └──▶ killed: the mark stays, and grows old                      a gap from its last renewal on
    rows dropped ──▶ the next file, or a gap file, records it                     a gap for that span
    `usage.enabled` is off ──▶ a mark that records it, then a gap file            a gap for the whole time
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from lochan.clock import Clock
from lochan.errors import LochanError
from lochan.failpoints import fp
from lochan.formats import usage
from lochan.formats.usage import QUERY as QUERY
from lochan.formats.usage import Cover, Gap, Mark, UsageHead
from lochan.formats.usage import UsageRow as UsageRow
from lochan.store.protocol import Store
from lochan.usage.row_buffer import RowBuffer

FILE_ROWS: Final = 20_000
WAITING_ROWS_MAX: Final = 200_000  # some 60 MB at the worst paths
STRANGERS_MAX: Final = 1_000  # rows of each file about requests that were not let in
OFF = "reads were not noted: usage.enabled is off"
LOST = "rows were dropped"
_LATE_US = 1_000_000  # a door hands its rows on within a tenth of a second
_log = logging.getLogger("lochan.usage")


class UsageLog:
    """The usage log of one process. With `noted` false, the process does not note what is read, and only the gap is
    recorded."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        process: str,
        *,
        kind: str = usage.SERVER,
        flush_s: float,
        dropped: Callable[[int], None] = lambda count: None,
        noted: bool = True,
    ) -> None:
        self._store = store
        self._clock = clock
        self._process = process
        self._kind = kind
        self._flush_s = flush_s
        self._report = dropped
        self._noted = noted
        self._lost = 0
        self._strangers = 0  # since the last file
        self._began = self._since = clock.wall()
        self._rows = RowBuffer(
            self._write,
            every_s=flush_s,
            full=FILE_ROWS,
            waiting_max=WAITING_ROWS_MAX,
            dropped=self._dropped,
            then=self._renew,
        )
        self.start = self._rows.start

    def add(self, row: UsageRow) -> None:
        if self._noted:
            self._rows.add(row)

    def add_all(self, rows: Sequence[UsageRow]) -> None:
        if self._noted:
            self._rows.add_all(rows)

    def add_stranger(self, row: UsageRow) -> None:
        """Adds a row about a request that was not let in. Such rows do not count as use, and a few in each file are
        enough: clients from outside cannot make the log grow at will."""
        self._strangers += 1
        if self._strangers <= STRANGERS_MAX:
            self.add(row)

    async def open(self) -> None:
        """Writes the mark. Call it before anything is read. If the mark cannot be written, the process reads all the
        same."""
        try:
            await self._mark(self._since)
        except (LochanError, OSError) as error:
            _log.warning("what is read cannot be noted in the usage log: %s", error)

    async def flush(self) -> None:
        """Writes the rows that are waiting."""
        await self._rows.flush()

    async def close(self) -> None:
        """Writes the rows that are left. The mark is deleted last: without a mark the log counts as complete."""
        await self._rows.close()
        with suppress(LochanError, OSError):  # the mark stays, and shows that something is missing
            now = self._clock.wall()
            if not self._noted:
                await self._gap(self._began, now, OFF)
            elif self._lost:
                await self._gap(self._since, now, LOST)
            elif self._kind == usage.SERVER:
                await self._put_rows((), now)
            await self._store.delete(self._mark_path)

    # --- what is written ---------------------------------------------------------------------------------------------
    @property
    def _mark_path(self) -> str:
        return f"{usage.OPEN}/{self._process}{usage.NOTE}"

    def _dropped(self, count: int) -> None:
        self._lost += count
        if count:
            self._report(count)

    async def _write(self, rows: Sequence[UsageRow]) -> None:
        await self._put_rows(rows, self._clock.wall() - _LATE_US)

    async def _put_rows(self, rows: Sequence[UsageRow], until: int) -> None:
        lost, self._strangers = self._lost, 0
        cover = Cover(self._process, self._kind, self._since, max(until, self._since), lost)
        data = await asyncio.to_thread(usage.encode_rows, rows, UsageHead(covers=(cover,)))
        await self._store.put(usage.file_name(self._clock.wall(), self._process, usage.ROWS), data)
        fp("usage.written")
        self._since = cover.until
        self._lost -= lost

    async def _renew(self) -> None:
        """Renews the mark. It is called when no row waits: every use up to now is in a file."""
        until = self._clock.wall() - _LATE_US
        if self._lost:
            lost, since = self._lost, self._since
            await self._gap(since, until, LOST)
            self._since, self._lost = max(until, since), self._lost - lost
        await self._mark(max(until, self._since))

    async def _mark(self, until: int) -> None:
        mark = Mark(usage.VERSION, self._process, self._kind, self._since, until, self._flush_s, self._noted)
        await self._store.put(self._mark_path, usage.encode_json(mark))

    async def _gap(self, since: int, until: int, why: str) -> None:
        await put_gap(self._store, Gap(usage.VERSION, self._process, since, max(since, until), why))


async def put_gap(store: Store, gap: Gap) -> None:
    await store.put(f"{usage.GAPS}/{gap.process}-{gap.since}{usage.NOTE}", usage.encode_json(gap))
