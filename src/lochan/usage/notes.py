"""What the command line, Python and Spark note when they read.

A command writes a note of what it is about to read before it reads: one small file, so nothing is missing if it is
killed. A process that reads again and again keeps a log as a server does (`log.py`), from its first read on. A note
that cannot be written never prevents a read. A process that may only read the store cannot write one, and reports that
in its own log alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lochan.clock import Clock
from lochan.errors import LochanError
from lochan.formats import usage
from lochan.formats.usage import Gap, Note, UsageRow
from lochan.ids import Ids
from lochan.store.protocol import Store

if TYPE_CHECKING:
    from lochan.usage.log import UsageLog

_OK = 200


class NoteSettings(NamedTuple):
    kind: str  # cli, python, spark, shell
    user: str
    enabled: bool = True
    flush_s: float = 60.0
    lasting: bool = True  # False: one command, which ends at once
    source: str = ""  # the machine


class ReadNotes:
    """Notes what this process reads. It writes nothing before the first read."""

    def __init__(self, store: Store, clock: Clock, ids: Ids, settings: NoteSettings) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._process = ids.put_id().hex()[:12]
        self._usage: UsageLog | None = None
        self._warned = False
        self._said: set[tuple[str, str, str, str]] = set()  # by one command; the same twice is one read

    async def note(self, operation: str, repository: str, ref: str, path: str) -> None:
        """Notes a read. Call it before the bytes are read."""
        if self._settings.lasting:
            log = self._usage or await self._open()
            log.add(self._row(operation, repository, ref, path))
            return
        what = operation, repository, ref, path
        if what not in self._said:
            self._said.add(what)
            await self._put(self._row(*what))

    async def flush(self) -> None:
        if self._usage is not None:
            await self._usage.flush()

    async def close(self) -> None:
        if self._usage is not None:
            log, self._usage = self._usage, None
            await log.close()

    def _row(self, operation: str, repository: str, ref: str, path: str) -> UsageRow:
        who = self._settings
        row = self._clock.wall(), who.user, operation, repository, ref, path, 0, _OK, who.kind, who.source
        return UsageRow(*row)

    async def _open(self) -> UsageLog:
        from lochan.usage.log import UsageLog

        chosen = self._settings
        made = UsageLog(
            self._store, self._clock, self._process, kind=chosen.kind, flush_s=chosen.flush_s, noted=chosen.enabled
        )
        self._usage = made
        await made.open()
        made.start()
        return made

    async def _put(self, row: UsageRow) -> None:
        try:
            if self._settings.enabled:
                note = Note(usage.ROWS_VERSION, self._process, self._settings.kind, (row,))
                name = usage.file_name(row.time, f"{self._process}-{len(self._said)}", usage.NOTE)
                await self._store.put(name, usage.encode_json(note))
            else:
                why = "reads were not noted: usage.enabled is off"
                gap = Gap(usage.VERSION, self._process, row.time, row.time, why)
                await self._store.put(f"{usage.GAPS}/{self._process}-{row.time}{usage.NOTE}", usage.encode_json(gap))
        except (LochanError, OSError) as error:
            if not self._warned:
                import logging  # few commands need it

                logging.getLogger("lochan.usage").info("what is read cannot be noted in the usage log: %s", error)
            self._warned = True
