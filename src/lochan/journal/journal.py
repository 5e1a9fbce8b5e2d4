"""A journal, the only mutable thing in a lake. It combines append, follow, checkpoint and trim, without logic of its
own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lochan.clock import Clock
from lochan.errors import Corrupt, LochanError
from lochan.formats.record import SealedRecord
from lochan.ids import Ids
from lochan.journal.rules import RULES, JournalRules
from lochan.journal.slots import Checkpoints, Slots
from lochan.journal.state import Chain, Schema, State
from lochan.journal.tail import JournalTail, holds
from lochan.store.protocol import Store

if TYPE_CHECKING:
    import asyncio

    from lochan.journal.group import AppendRequest, GroupCommit
    from lochan.journal.trim import Trimmer, TrimResult


CHECKPOINT_EVERY = 256
# A checkpoint is also written after this many requests of this process, if many share a record. A cold start folds that
# many in 50 ms, and the checkpoints of a server that is busy with PUTs take two hundredths of its time.
CHECKPOINT_REQUESTS = 4_096
_FOLLOW_PAUSE_S = 0.25
# The least time between two trims of a process behind its own appends. In a bucket nothing is deleted before it is a
# day old, and the slots of a day have to be listed.
_TRIM_S, _TRIM_AGED_S = 2.0, 600.0
_OTHERS_TRIM = 4


@dataclass(frozen=True, slots=True)
class Settings:
    writer: str = "lochan"
    hold_s: float = 0.0  # how long a batch waits for more requests
    patience_s: float = 30.0  # how long an append is tried before its outcome counts as unknown
    checkpoint_every: int = CHECKPOINT_EVERY
    trims: bool = True  # whether it trims after its own appends
    mirror_every: int = 64  # records between two calls of the mirror, if the journal is mirrored to the bucket
    mirror_s: float = 5.0  # or seconds after the first record that is not mirrored, whichever is sooner


class JournalBehind(Protocol):
    """Work that runs after the writer: the mirror, if the journal is not in the bucket itself."""

    def appended(self, number: int) -> None: ...

    async def close(self) -> None: ...


class Journal:
    def __init__(
        self,
        journal: str,
        schema: Schema,
        slots: Slots,
        store: Store,
        clock: Clock,
        ids: Ids,
        settings: Settings,
        state: State,
        rules: JournalRules = RULES,
        behind: JournalBehind | None = None,
    ) -> None:
        self.journal = journal
        self.schema = schema
        self.slots = slots
        self.tail: JournalTail[State] = JournalTail(slots, state, clock, rules)
        self.checkpoints = Checkpoints(store, journal)
        self._store = store
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._rules = rules
        self._behind = behind
        self._group: GroupCommit | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._requests = 0  # the number of requests since the last checkpoint
        self._trimmed_at = float("-inf")  # in boot time
        self._trimming = False

    @classmethod
    async def open(
        cls,
        journal: str,
        schema: Schema,
        slots: Slots,
        store: Store,
        clock: Clock,
        ids: Ids,
        settings: Settings | None = None,
        rules: JournalRules = RULES,
        behind: JournalBehind | None = None,
        known: State | None = None,
    ) -> Journal:
        """Opens a journal by a cold start: with the newest readable checkpoint, or with a `known` state of the same
        journal, if the journal has the last record of that state. The first read or write brings it up to date."""
        if known is not None and await holds(slots, known):
            state = known.under(schema)
        else:
            state = await Checkpoints(store, journal).newest_state(schema, journal)
        return cls(journal, schema, slots, store, clock, ids, settings or Settings(), state, rules, behind)

    @property
    def writer(self) -> str:
        """The name of this process in its records."""
        return self._settings.writer

    async def fresh(self) -> State:
        """Returns the state with every write that any process acknowledged before this call. Callers use it before the
        next await."""
        return await self.tail.fresh()

    async def submit(self, request: AppendRequest) -> Any:
        """Submits a request, which is durable when this returns; see GroupCommit.submit."""
        return await self._writer().submit(request)

    def enqueue(self, request: AppendRequest, future: asyncio.Future[Any]) -> None:
        """Submits a request like `submit`, for a caller that already waits for `future`."""
        self._writer().enqueue(request, future)

    async def records(self, after: int = 0, *, follow: bool = False) -> AsyncIterator[SealedRecord]:
        """Yields every record with a number above `after`, in order; with `follow`, future records too."""
        chain = Chain(self.journal, after, None)
        tail = JournalTail(self.slots, chain, self._clock, self._rules)
        while True:
            at_tail = await tail.advance()
            for sealed in chain.take():
                yield sealed
            if at_tail:
                if not follow:
                    return
                await self._clock.sleep(_FOLLOW_PAUSE_S)

    async def checkpoint(self) -> int:
        """Writes the current state. Returns its number."""
        checkpoint = self.tail.state.checkpoint()
        if not self.slots.aged:
            # On a disk a record can be read before its writer has synced its name. A synced file in the same folder
            # makes the names before it durable: no checkpoint may outlive the records it was folded from.
            await self._store.put(f"{self.journal}/journal/sync", b"")
        await self.checkpoints.write(checkpoint)
        return checkpoint.number

    async def trim(self) -> TrimResult:
        """Packs full groups into segments, and deletes their slots and old checkpoints. It is safe beside other
        processes."""
        return await self._trimmer().trim()

    def _trimmer(self) -> Trimmer:
        from lochan.journal.trim import Trimmer

        return Trimmer(
            self.slots, self.tail, self.checkpoints, self._store, self.journal, self._clock, self._ids, self._rules
        )

    async def close(self) -> None:
        if self._group is not None:
            await self._group.close()
        for task in list(self._background):
            await task
        if self._behind is not None:
            await self._behind.close()

    def _writer(self) -> GroupCommit:
        if self._group is None:
            from lochan.journal.append import Appender
            from lochan.journal.group import GroupCommit

            if self._settings.trims:
                self.tail.recent.begin()
            appender = Appender(self.slots, self.tail, self._clock, self._ids, self._rules)
            self._group = GroupCommit(
                self.tail,
                appender,
                self._clock,
                self._ids,
                writer=self._settings.writer,
                hold_s=self._settings.hold_s,
                patience_s=self._settings.patience_s,
                rules=self._rules,
                appended=self._appended,
                aged=self.slots.aged,
            )
        return self._group

    def _appended(self, sealed: SealedRecord) -> None:
        number = sealed.record.number
        if self._behind is not None:
            self._behind.appended(number)
        self._requests += len(sealed.record.entries)
        if number % self._settings.checkpoint_every and self._requests < CHECKPOINT_REQUESTS:
            return
        self._requests = 0
        import asyncio

        task = asyncio.create_task(self._keep_small())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _keep_small(self) -> None:
        """Trims and writes checkpoints. It runs in every process that writes, server or command, so that the journal
        stays small without other help."""
        try:
            await self.checkpoint()
        except LochanError as error:  # a checkpoint is only a shortcut, and the next one may succeed
            self.schema.alarm(f"no checkpoint of {self.journal} at {self.tail.state.number}: {error}")
            return
        try:
            if self._settings.trims and self._is_trim_due():
                await self._trim_behind()
            else:
                await self._trimmer().delete_checkpoints()
        except Corrupt as error:
            self.schema.alarm(f"{self.journal} is damaged, and nothing of it is trimmed: {error}")
        except LochanError as error:  # no request has failed, and the next trim makes up for it
            self.schema.alarm(f"{self.journal} was not trimmed this time: {error}")

    def _is_trim_due(self) -> bool:
        pause_s = _TRIM_AGED_S if self.slots.aged else _TRIM_S
        if self._group is not None and not self._group.leads:
            # Another one trims, and would do the same beside us. In case it does not, we do so some time later.
            pause_s *= _OTHERS_TRIM
        return not self._trimming and self._clock.boot() - self._trimmed_at >= pause_s

    async def _trim_behind(self) -> None:
        self._trimming = True
        try:
            await self.trim()
        finally:
            self._trimming, self._trimmed_at = False, self._clock.boot()


class ProbeBatch:
    """One probe of the journals for all requests of an event loop that have arrived by the time it is sent (rule A1).

        loop turns    request request request ▏look▏answer answer answer ▏request …
                         └───────┴───────┴── have arrived before the look was sent

    A look is a few system calls, at each of which the interpreter changes threads. One look for each request would take
    as long as all the rest."""

    def __init__(self) -> None:
        self._next: asyncio.Future[None] | None = None
        self._journals: set[Journal] = set()

    async def wait(self, *journals: Journal) -> None:
        """Returns when these journals have been probed. Their tails show whether that was enough: `anchor.sent` is
        later than the time on the caller's clock before."""
        import asyncio  # a command that reads a local lake has no event loop

        if self._next is None:
            loop = asyncio.get_running_loop()
            self._next = loop.create_future()
            loop.call_soon(self._look)
        self._journals.update(journals)
        try:
            await self._next
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Another waiter was cancelled, and its probe with it. The tails show that.

    def _look(self) -> None:
        looked, self._next = self._next, None
        journals, self._journals = self._journals, set()
        for journal in journals:
            with suppress(LochanError):  # the next caller that waits for the answer gets the error
                journal.tail.glance()
        if looked is not None and not looked.done():
            looked.set_result(None)
