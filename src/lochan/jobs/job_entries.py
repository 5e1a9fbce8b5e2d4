"""All entries that the tasks of a job wrote, in the order of a tree: those in their messages, and those that they put
to the store as runs. The driver holds paths and counts, and a piece of the entries at a time.

    messages ──▶ entries ───────────────┐
         └─────▶ runs ──▶ read once, ───┴──▶ pieces in path order ──▶ the ranges of a tree
                          checked
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from hashlib import sha256

import pyarrow as pa

from lochan.concurrency import map_ahead
from lochan.errors import Corrupt, Gone, NotFound
from lochan.formats import run
from lochan.formats.entry import Entry
from lochan.formats.run import changes_table, entries_of
from lochan.jobs.entry_spool import EntrySpool
from lochan.jobs.messages import EntryRun, TaskMessage, together
from lochan.pools.commit_objects import lowest_mint
from lochan.pools.facts import unparsed_times
from lochan.store.checked_reads import get_checked
from lochan.store.threads import Threads, for_tables
from lochan.versioning.heads.joins import NewObjects
from lochan.versioning.open_repository import OpenRepository

_AT_ONCE = 8  # runs that are read at the same time


@asynccontextmanager
async def job_entries(repository: OpenRepository, messages: Iterable[TaskMessage]) -> AsyncIterator[JobEntries]:
    entries = JobEntries(repository, together(messages))
    try:
        yield entries
    finally:
        entries.close()


async def all_entries(repository: OpenRepository, messages: Iterable[TaskMessage]) -> list[Entry]:
    """Returns all entries in memory, for callers that need them all at once."""
    async with job_entries(repository, messages) as entries:
        return [entry async for table in entries.changes() for entry in entries_of(table)]


class JobEntries:
    """The entries of a job. `total` is the sum of all messages. The caller that makes it must close it."""

    def __init__(self, repository: OpenRepository, total: TaskMessage) -> None:
        self.total = total
        self._repository = repository
        self._spool: EntrySpool | None = None
        self._threads = for_tables()

    @property
    def objects(self) -> int:
        return self.total.objects

    def new(self, closes: tuple[str, ...] = ()) -> NewObjects | None:
        """Returns the record for an event of the files that no commit has named before, and of the job that held them
        open."""
        mints = [each.mint for each in self.total.runs]
        mints += [lowest_mint(self.total.entries)] if self.total.entries else []
        return NewObjects(min(mints), closes) if mints else None

    @property
    def unparsed_times(self) -> dict[str, int]:
        counts = TaskMessage(unparsed_times=unparsed_times(self.total.entries))
        return together([self.total, counts]).unparsed_times

    async def paths(self) -> pa.StringArray:
        """Returns the paths, in no order."""
        return (await self._read()).paths

    async def changes(self) -> AsyncIterator[pa.Table]:
        """Yields tables of RUN_SCHEMA that follow each other in path order. It may be called again. Raises Corrupt for
        a damaged run, and Gone for one that was collected."""
        pieces = (await self._read()).pieces()
        while (piece := await self._threads.run(next, pieces, None)) is not None:
            yield piece

    def close(self) -> None:
        if self._spool is not None:
            self._spool.close()

    async def _read(self) -> EntrySpool:
        """Reads the entries once, however often a landing is tried."""
        if self._spool is not None:
            return self._spool
        spool = EntrySpool()
        try:
            await self._fill(spool)
        except BaseException:
            spool.close()
            raise
        self._spool = spool
        return spool

    async def _fill(self, spool: EntrySpool) -> None:
        if self.total.entries:
            spool.add(changes_table(self.total.entries))
        async with aclosing(map_ahead(self._run, self.total.runs, _AT_ONCE)) as tables:
            async for table in tables:
                await self._threads.run(spool.add, table)

    async def _run(self, made: EntryRun) -> pa.Table:
        return await read_run(self._repository, made, self._threads)


async def read_run(repository: OpenRepository, made: EntryRun, threads: Threads) -> pa.Table:
    """Returns the entries that a task has put to the store. Raises Corrupt or Gone."""
    store = repository.store
    path = f"{repository.repository.id}/{made.run.file}"
    what = f"run {path} in {store.url}"

    async def decode(data: bytes) -> pa.Table:
        return await threads.run(decoded_run, data, made, what)

    try:
        return await get_checked(store, path, decode)
    except NotFound as error:
        raise Gone(
            f"{what} is gone, and with it what a task of this job wrote",
            hint="garbage was collected while the job ran, or the file was deleted by hand; start the job again",
        ) from error


def decoded_run(data: bytes, made: EntryRun, what: str) -> pa.Table:
    """Returns the entries. Raises Corrupt."""
    if sha256(data).digest() != made.sha256:
        raise Corrupt(
            f"{what} is damaged: its SHA-256 is not the one that a task wrote it with",
            hint="nothing was changed; start the job again",
        )
    return run.decode(data, what)
