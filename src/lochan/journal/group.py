"""Group commit: while one append is under way, the next batch gathers, and one record carries it (rules J1, J3, J8).

Each request is checked against the state including the earlier requests of its batch, and is answered only when the
append is decided. That is true for a refusal too: its reason may be another request of the batch, or out of date.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from lochan.clock import Clock
from lochan.errors import Invalid, LochanError, Retry, Transient, Unknown
from lochan.failpoints import fp
from lochan.formats import events
from lochan.formats import record as records
from lochan.formats.events import Event
from lochan.formats.record import Actor, Record, RecordChange, RecordEntry, SealedRecord
from lochan.ids import Ids
from lochan.journal.append import Appender
from lochan.journal.keys import CarriedOut, KeyedActor, KeyedResult, without_key
from lochan.journal.rivals import Rivals
from lochan.journal.rules import NEVER, RULES, Anchor, JournalRules
from lochan.journal.state import State
from lochan.journal.tail import JournalTail

if TYPE_CHECKING:
    import asyncio  # a command that only reads a local lake never waits, and saves 20 ms without the event loop

RECORD_BYTES_TARGET = 256 * 1024  # a record is closed when it reaches this; larger changes are runs that an event names
ENTRY_BYTES_MAX = 4 * 1024 * 1024
_GIVE_WAY_S = 1.0  # the longest that a batch waits for the turns of others


class AppendRequest(msgspec.Struct, frozen=True, eq=False):
    """A request to append events."""

    actor: Actor
    decide: Callable[[State], Sequence[Event]]
    """Returns the events, given the state they would be added to; raises a LochanError to refuse. May be called several
    times, because the state has changed after a lost race."""
    key: str = ""
    fingerprint: bytes = b""
    pending: bool = False
    event: Event | None = None  # the only event that `decide` returns, in every state; then `decide` need not be called

    @property
    def is_fixed(self) -> bool:
        """Whether the request is the same in every state, and has no key that may be known."""
        return self.event is not None and not self.key and type(self.actor) is Actor


class _Waiting(msgspec.Struct, eq=False):
    request: AppendRequest
    future: asyncio.Future[Any]
    failure: Exception | None = None  # set by a check; raised when the append is decided
    result: Any = None

    @property
    def was_refused(self) -> bool:
        """Whether the request was refused. It is False for one that was carried out before, or earlier in the batch."""
        return self.failure is not None and not isinstance(self.failure, CarriedOut)

    def settle(self) -> None:
        if self.future.done():
            return
        if self.failure is not None:
            self.future.set_exception(self.failure)
        else:
            self.future.set_result(self.result)

    def fail(self, error: LochanError) -> None:
        self.failure = error
        self.settle()


class _Checked(NamedTuple):
    accepted: list[_Waiting]
    refused: list[_Waiting]  # also requests that were carried out before: they need no record
    entries: list[RecordEntry]  # the entries of the accepted requests

    def refuse(self, one: _Waiting, error: Exception) -> None:
        one.failure = error
        self.refused.append(one)


class GroupCommit:
    def __init__(
        self,
        tail: JournalTail[State],
        appender: Appender,
        clock: Clock,
        ids: Ids,
        *,
        writer: str,
        hold_s: float = 0.0,
        patience_s: float = 30.0,
        rules: JournalRules = RULES,
        appended: Callable[[SealedRecord], None] = lambda sealed: None,
        aged: bool = False,
    ) -> None:
        """`aged` is that of the slots."""
        self._tail = tail
        self._appender = appender
        self._clock = clock
        self._ids = ids
        self._writer = writer
        self._hold_s = hold_s
        self._patience_s = patience_s
        self._rules = rules
        self._appended = appended
        self._aged = aged
        self._rivals = Rivals(writer, clock, aged=aged)
        tail.saw = self._rivals.saw
        self._queue: deque[_Waiting] = deque()
        self._draining: asyncio.Task[None] | None = None
        self._doubt: SealedRecord | None = None  # a record whose outcome is not known

    @property
    def leads(self) -> bool:
        """Whether this is the first by name of the writers that append to the journal now."""
        return self._rivals.leads

    async def submit(self, request: AppendRequest) -> Any:
        """Submits a request, which is durable when this returns. Raises what `decide` raised, Unknown, or Transient if
        nothing was sent."""
        import asyncio

        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.enqueue(request, future)
        return await future

    def enqueue(self, request: AppendRequest, future: asyncio.Future[Any]) -> None:
        """Submits a request like `submit`. The future gets what `submit` would return or raise."""
        self._queue.append(_Waiting(request, future))
        if self._draining is None:
            import asyncio

            self._draining = asyncio.create_task(self._drain())

    async def close(self) -> None:
        if self._draining is not None:
            await self._draining

    async def _drain(self) -> None:
        batch: list[_Waiting] = []
        try:
            while self._queue:
                if self._hold_s:
                    await self._clock.sleep(self._hold_s)
                await self._give_way()
                batch = list(self._queue)
                self._queue.clear()
                await self._land(batch)
        except BaseException as error:
            # This is a bug, or the end of the process. Nobody may be left waiting, or be told more than is known.
            waiting, self._queue = [*batch, *self._queue], deque()
            for one in waiting:
                one.fail(Unknown(f"the journal's writer stopped: {error!r}"))
            if not isinstance(error, Exception):
                raise
        finally:
            self._draining = None

    async def _give_way(self) -> None:
        """Lets the writers of other processes append if it is their turn. The next batch gathers meanwhile."""
        until = self._clock.boot() + _GIVE_WAY_S
        with suppress(LochanError):  # the append will meet the error too, and answers
            while self._clock.boot() < until and (ahead := self._rivals.ahead()):
                if not await self._has_grown(self._rivals.looks(len(ahead))):
                    self._rivals.forget(ahead[0])

    async def _has_grown(self, looks: Sequence[float]) -> bool:
        """Returns whether somebody appends meanwhile. It returns as soon as that is seen."""
        number = self._tail.state.number
        for pause_s in looks:
            await self._clock.sleep(pause_s)
            self._tail.expect(1)
            await self._tail.fresh()
            if self._tail.state.number != number:
                return True
        return False

    async def _land(self, batch: list[_Waiting]) -> None:
        """Answers every request of the batch, with as many records as that takes."""
        deadline = self._clock.boot() + self._patience_s
        try:
            await self._settle_doubt(deadline)
            # A checkpoint is no evidence of the tail (J7). On a disk a look costs less than a lost race.
            if self._tail.anchor == NEVER or (not self._aged and self._rivals.are_near):
                await self._tail.fresh()
        except LochanError as error:
            for one in batch:
                one.fail(_not_sent(error))
            return
        while batch:
            batch = await self._one_record(batch, deadline)

    async def _settle_doubt(self, deadline: float) -> None:
        """Sends a record in doubt again, with the same number and bytes, before anything else may take a number
        (J1)."""
        if self._doubt is None:
            return
        if self._tail.next <= self._doubt.record.number:
            await self._appender.append(self._doubt, deadline, in_doubt=True)
            await self._tail.fresh()
        self._doubt = None

    async def _one_record(self, batch: list[_Waiting], deadline: float) -> list[_Waiting]:
        """Appends one record. Returns the requests that are not answered yet."""
        state = self._tail.state
        draft = state.fork()
        time = self._clock.wall()
        accepted, refused, rest, entries = self._check(batch, draft, time)
        if not accepted:
            return await self._answer_refused(refused, rest, state.number)
        sealed = self._seal(entries, time)
        fp("append.composed")
        sent = self._tail.now()
        try:
            won = await self._append(sealed, deadline)
        except LochanError as error:
            for one in accepted + refused:  # a repeated key was not refused: it shares the fate of the first
                one.fail(_not_sent(error) if one.was_refused else error)
            for one in rest:
                one.fail(_not_sent(error))
            return []
        if won:
            fp("append.decided")
            self._adopt(sealed, draft)
            self._rivals.appended(self._tail.now() - sent)
            # J6: a confirmed append of n, by the sending of its first try, shows that n+1 was free then.
            self._tail.renew(Anchor(sealed.record.number + 1, sent))
            _settle_all(accepted + refused)
            self._appended(sealed)
            return rest
        return await self._after_lost_race(accepted + refused, rest)

    def _adopt(self, sealed: SealedRecord, draft: State) -> None:
        """Adopts our own append, which is decided, unless a reader of this process has folded it meanwhile."""
        if self._tail.next == sealed.record.number:
            draft.join()
            self._tail.state.number, self._tail.state.digest = sealed.record.number, sealed.digest
            self._tail.recent.add(sealed.record.number, sealed.data)

    async def _append(self, sealed: SealedRecord, deadline: float) -> bool:
        try:
            return await self._appender.append(sealed, deadline)
        except Unknown as error:
            self._doubt = sealed
            if not self._rules.undecided_is_unknown():
                raise Transient(f"not written: {error}") from error
            raise

    async def _after_lost_race(self, undecided: list[_Waiting], rest: list[_Waiting]) -> list[_Waiting]:
        """Folds the record of the rival that has the number, so that every request is checked again."""
        fp("append.lost")
        try:
            await self._tail.fresh()
        except LochanError as error:
            for one in undecided + rest:
                one.fail(_not_sent(error))
            return []
        await self._give_way()
        return undecided + rest

    async def _answer_refused(self, refused: list[_Waiting], rest: list[_Waiting], number: int) -> list[_Waiting]:
        """Answers the refused requests. No append has shown that the state was up to date, so a probe must show that
        before any of them is refused."""
        try:
            state = await self._tail.fresh()
        except LochanError as error:
            for one in refused:
                if not one.was_refused:  # it was carried out before, which is decided: no probe is needed
                    one.settle()
                else:
                    one.fail(_not_sent(error))
            for one in rest:
                one.fail(_not_sent(error))
            return []
        if state.number != number:
            return refused + rest
        _settle_all(refused)
        return rest

    def _check(
        self, batch: list[_Waiting], draft: State, time: int
    ) -> tuple[list[_Waiting], list[_Waiting], list[_Waiting], list[RecordEntry]]:
        """Checks the requests in order, each against the state with the earlier ones, and again after every lost race
        (J3)."""
        checked = _Checked([], [], [])
        size, position = 0, 0
        while position < len(batch) and size < RECORD_BYTES_TARGET:
            fixed = self._fixed_entries(batch, position, RECORD_BYTES_TARGET - size)
            if fixed:
                self._apply_fixed(batch[position : position + len(fixed)], fixed, draft, time, checked)
                size += sum([len(entry.changes[0].payload) for entry in fixed])
                position += len(fixed)
                continue
            one = batch[position]
            position += 1
            try:
                entry = self._entry(one.request, draft, time)
            except Exception as error:  # even for a bug in its check: it fails alone, and the batch continues
                checked.refuse(one, error)
                continue
            if isinstance(entry, KeyedResult):
                one.failure, one.result = None, entry.result
                checked.refused.append(one)
            elif self._apply(one, entry, draft, time, checked):
                size += _size(entry.changes)
        return checked.accepted, checked.refused, batch[position:], checked.entries

    def _fixed_entries(self, batch: list[_Waiting], start: int, bytes_max: int) -> list[RecordEntry]:
        """Returns the entries of the requests from `start` on whose events nobody has to decide. The last one may
        exceed `bytes_max`."""
        entries: list[RecordEntry] = []
        size = 0
        for at in range(start, len(batch)):
            request = batch[at].request
            event = request.event
            if event is None or not request.is_fixed or size >= bytes_max:
                break
            change = events.change(event)
            size += len(change.payload)
            if len(change.payload) > ENTRY_BYTES_MAX:
                break
            entries.append(RecordEntry(request.actor, "", b"", (change,)))
        return entries

    def _apply_fixed(
        self, requests: list[_Waiting], entries: list[RecordEntry], draft: State, time: int, checked: _Checked
    ) -> None:
        at, number = 0, self._tail.next
        while at < len(entries):
            length, results = draft.apply_run(entries, at, number, time)
            if results is None:
                for one, entry in zip(requests[at : at + length], entries[at : at + length], strict=True):
                    self._apply(one, entry, draft, time, checked)
            else:
                for one, result in zip(requests[at : at + length], results, strict=True):
                    one.failure, one.result = None, result
                checked.accepted.extend(requests[at : at + length])
                checked.entries.extend(entries[at : at + length])
            at += length

    def _apply(self, one: _Waiting, entry: RecordEntry, draft: State, time: int, checked: _Checked) -> bool:
        """Applies the entry to the draft. Returns False if it is refused."""
        try:
            one.result = draft.apply(entry, self._tail.next, time)
        except Exception as error:
            checked.refuse(one, error)
            return False
        one.failure = None
        checked.accepted.append(one)
        checked.entries.append(entry)
        return True

    def _entry(self, request: AppendRequest, draft: State, time: int) -> RecordEntry | KeyedResult:
        """Returns the entry of the request, or the result of an earlier request with its key. The key comes first (J8):
        a repeated request must not be checked against the state that it made itself."""
        actor, key, fingerprint, carried = request.actor, request.key, request.fingerprint, False
        is_new = isinstance(actor, KeyedActor) and actor.is_new
        if isinstance(actor, KeyedActor):
            if not key:
                key, fingerprint, carried = actor.key, actor.fingerprint, True
            actor = without_key(actor)
        if key and self._rules.checks_keys_at_append():
            try:
                done = draft.keys.look_up(RecordEntry(actor, key, fingerprint, (), request.pending), time)
            except Unknown:
                if not carried or not is_new:
                    raise
                # The key was just made, by a clock that is behind those of others. Nobody has used it, and nobody can
                # be answered by it later.
                key, fingerprint, done = "", b"", None
            if done is not None:
                if carried and not request.pending:  # the verb would do more than this append, and must not
                    raise CarriedOut(key, done.result)
                return done
        others = request.actor.others if carried and isinstance(request.actor, KeyedActor) else ()
        for other in others:
            done = draft.keys.look_up_key(actor.user, other.key, other.fingerprint, time)
            if done is not None:
                raise CarriedOut(other.key, done.result)
        decided = request.decide(draft)
        if carried and not request.pending and all(event.prepares for event in decided):
            key, fingerprint, others = "", b"", ()
        changes = tuple([events.change(event) for event in decided])
        if _size(changes) > ENTRY_BYTES_MAX:
            raise Invalid("this request is too large for one journal record", hint="write it as a run or in parts")
        return RecordEntry(actor, key, fingerprint, changes, request.pending, others)

    def _seal(self, entries: list[RecordEntry], time: int) -> SealedRecord:
        state = self._tail.state
        return records.encode(
            Record(
                number=self._tail.next,
                put_id=self._ids.put_id(),
                writer=self._writer,
                time=time,
                journal=state.journal,
                previous=state.digest,
                entries=tuple(entries),
            )
        )


def _size(changes: tuple[RecordChange, ...]) -> int:
    """Returns the size of the changes in bytes."""
    if len(changes) == 1:  # as nearly always
        return len(changes[0].payload)
    return sum([len(change.payload) for change in changes])


def _settle_all(requests: list[_Waiting]) -> None:
    for one in requests:
        one.settle()
        fp("append.answered_one")


def _not_sent(error: LochanError) -> LochanError:
    """Returns the error for a request that was never put into a record: it certainly did not happen."""
    if isinstance(error, Retry):
        return Transient(f"nothing was written: {error}", hint="try again")
    return error
