"""Follows a journal: keeps the folded state up to the last record (rules J5, J6, J7).

    checkpoint ─▶ segments ─▶ slots ─▶ first absent slot = the tail

A slot's answer, present or absent, counts only if its group's segment is absent: the slot may have been trimmed, or a
stalled writer's put may have landed in it after that. So the slot is read first and the segment second."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from lochan.clock import Clock
from lochan.errors import Corrupt, FutureFormat, NotFound
from lochan.formats import record as records
from lochan.formats import segment as segments
from lochan.formats.segment import Segment
from lochan.journal.recent_records import RecentRecords
from lochan.journal.rules import RULES, Anchor, JournalRules
from lochan.journal.slots import Slots
from lochan.journal.state import RecordFolder, State
from lochan.store.checked_reads import ReadDoubt, read_checked

if TYPE_CHECKING:
    from asyncio import Future


F = TypeVar("F", bound=RecordFolder)

_WINDOW_MAX = 64  # slots that a reader far behind reads in parallel


class JournalTail(Generic[F]):
    def __init__(self, slots: Slots, state: F, clock: Clock, rules: JournalRules = RULES) -> None:
        self._slots = slots
        self._clock = clock
        self._rules = rules
        self._turns = SharedProbe()
        self._window = 1
        self._damaged, self._doubt = 0, ReadDoubt()
        self._looked_ahead = False
        self.recent = RecentRecords()
        self.state = state
        self.saw: Callable[[str], None] = lambda writer: None  # called with the writer of every folded record
        self.anchor = rules.anchor_of_checkpoint(self.next, self.now())

    @property
    def next(self) -> int:
        """The number after the last folded record."""
        return self.state.number + 1

    def now(self) -> float:
        return self._clock.boot() if self._rules.measures_by_boot_clock() else self._clock.wall() / 1e6

    async def fresh(self) -> F:
        """Returns the state with every write that any process acknowledged before this call: it waits for a probe that
        began after the call. Concurrent callers share one. Callers use the result before the next await."""
        if not self.glance():
            await self._turns.share(self._catch_up)
        return self.state

    def glance(self) -> bool:
        """Returns whether nothing was appended, as far as can be seen without waiting. If so, the state is what `fresh`
        would return. False proves nothing."""
        if not self._looked_ahead or self._turns.running:
            return False
        sent, number = self.now(), self.next
        if not self._slots.ends_at(number):
            return False
        self.renew(self._rules.anchor_of_absent(number, sent=sent, answered=self.now()))
        return True

    def renew(self, anchor: Anchor) -> None:
        """Takes the later one of two confirmed moments (J6)."""
        if anchor.sent > self.anchor.sent:
            self.anchor = anchor

    def expect(self, records: int) -> None:
        """Announces that so many records may have been appended: the next probe reads them and the slot after them at
        once."""
        self._window = max(self._window, records + 1)

    async def _catch_up(self) -> None:
        while not await self.advance():
            pass

    async def advance(self, until: int | None = None) -> bool:
        """Folds some records, at most up to number `until`. Returns True if there is no next one now, or if it is past
        `until`."""
        if until is not None and self.next > until:
            return True
        to_group_end = self._slots.group - self.next % self._slots.group
        count = min(self._window, to_group_end, *(() if until is None else (until - self.next + 1,)))
        sent, first = self.now(), self.next
        answers = await self._slots.read_many(first, count)
        if None in answers:
            self.renew(self._rules.anchor_of_unconfirmed(self.anchor, first, sent))
        segment = await self.segment_unless_trusted(first, sent, self._rules.reader_trust_s)
        if segment is not None:
            self._fold_segment(segment, first, until)
            return False
        for number, data in enumerate(answers, first):
            if data is None:
                self.renew(self._rules.anchor_of_absent(number, sent=sent, answered=self.now()))
                self._window = 1
                await self._check_gap(number)
                return True
            if not self._fold_slot(number, data):
                return False
        self.renew(self._rules.anchor_of_present(self.anchor, self.next, sent))
        self._window = min(self._window * 2, _WINDOW_MAX)
        return False

    async def _check_gap(self, number: int) -> None:
        """Checks once, at a cold start, that the missing record is the tail: a record that somebody deleted looks like
        it, and a writer would continue there. Later this process knows the records it has folded. Raises Corrupt if
        there is a record after the missing one. Reads the missing one again first, because it may have been appended,
        or its group trimmed, just now."""
        if self._looked_ahead:
            return
        self._looked_ahead = True
        later = await self._slots.first_after(number)
        if later is None or self.next != number:
            return
        if (
            await self._slots.read(number) is None
            and await self._slots.read_segment(number // self._slots.group) is None
        ):
            raise Corrupt(
                f"record {number} of {self._slots.name} is missing, and record {later} is there",
                hint="restore it from a copy of the lake; nothing was changed",
            )

    async def segment_unless_trusted(self, number: int, sent: float, trust_s: float) -> Segment | None:
        """Returns the segment that decides about slot `number` and later ones in its group, if there is one (J5). It is
        not read while the slot's answer can be trusted (J6)."""
        trusted = self._rules.may_trust_slot(
            number, aged=self._slots.aged, trust_s=trust_s, anchor=self.anchor, sent=sent, answered=self.now()
        )
        if trusted or not self._rules.consults_segments():
            return None
        return await self.segment(number // self._slots.group)

    async def segment(self, group: int) -> Segment | None:
        return await read_segment(self._slots, group)

    def _fold_slot(self, number: int, data: bytes) -> bool:
        """Folds a record. Returns False if the bytes are damaged, perhaps only on the network. Slot and segment are
        then read again, because the slot may be gone meanwhile. Raises Corrupt if the same bytes come again."""
        if number != self.next:
            return True  # our own append was adopted while we waited
        try:
            sealed = records.decode(data, f"record {number} of {self._slots.name}")
        except (Corrupt, FutureFormat):
            if self._damaged != number:
                self._damaged, self._doubt = number, ReadDoubt()
            if not self._doubt.again(data):
                raise
            return False
        self.state.fold(sealed)
        self.recent.add(number, data)
        self.saw(sealed.record.writer)
        return True

    def _fold_segment(self, segment: Segment, number_asked: int, until: int | None) -> None:
        if number_asked >= segment.first + len(segment.records):
            raise ends_early(segment, number_asked, self._slots.name)
        for number, data in enumerate(segment.records, segment.first):
            if number == self.next and (until is None or number <= until):
                sealed = records.decode(data, f"record {number} of {self._slots.name}")
                self.state.fold(sealed)
                self.saw(sealed.record.writer)


async def read_segment(slots: Slots, group: int) -> Segment | None:
    """Returns the segment, or None if there is none. Raises Corrupt after a second reading, and FutureFormat."""
    what = f"segment {group} of {slots.name}"
    is_there = False

    async def read() -> bytes:
        nonlocal is_there
        data = await slots.read_segment(group)
        if data is None and not is_there:
            raise NotFound(what)
        is_there = True  # for ever: nobody deletes a segment, so a store that reports none later is wrong
        return data or b""

    async def decode(data: bytes) -> Segment:
        segment = segments.decode(data, what)
        if segment.group != group:
            raise Corrupt(f"{what} says it is segment {segment.group}", hint="restore it from a copy of the lake")
        return segment

    try:
        return await read_checked(read, decode)
    except NotFound:
        return None


async def holds(slots: Slots, state: State) -> bool:
    """Returns whether the journal has the last record that was folded into this state. If not, the journal is another
    one, such as an older copy, or it is damaged."""
    if not state.number:
        return False
    try:
        data = await slots.read(state.number)
        if data is None:
            segment = await read_segment(slots, state.number // slots.group)
            at = -1 if segment is None else state.number - segment.first
            data = segment.records[at] if segment is not None and 0 <= at < len(segment.records) else None
        return data is not None and records.decode(data, slots.name).digest == state.digest
    except (Corrupt, FutureFormat):
        return False


def ends_early(segment: Segment, number: int, name: str) -> Corrupt:
    return Corrupt(f"segment {segment.group} of {name} ends before record {number}", hint="report this")


class SharedProbe:
    """A probe that all waiting callers share: each caller gets one that began after its call.

    One runs at a time. A caller that finds one under way cannot use it, because it began too early. It waits for the
    next, which serves all callers that came meanwhile. asyncio is imported only if a caller has to wait, so a command
    that reads a local lake never loads it."""

    def __init__(self) -> None:
        self._begun = 0
        self._ended = 0
        self.running = False
        self._waiting: list[Future[None]] = []

    async def share(self, work: Callable[[], Awaitable[None]]) -> None:
        arrived = self._begun
        while self.running:
            await self._until_free()
            if self._ended > arrived:
                return
        self.running = True
        self._begun += 1
        mine = self._begun
        try:
            await work()
            self._ended = mine  # only now: a failed probe has served nobody
        finally:
            self.running = False
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    async def _until_free(self) -> None:
        import asyncio

        future: Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future
