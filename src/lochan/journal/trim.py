"""Trimming: full groups of records are packed into segments, and then their slots may be deleted (rules J4, J6).

    slots 256…511 ──pack──▶ seg/1 (put-if-absent, never deleted) ──a day later──▶ slots 256…511 deleted

A segment is final, so it is packed from records that are checked link by link up to the tail. Old checkpoints are
deleted too. Garbage collection, not the trimmer, deletes files that events name (runs, ranges, data).
"""

import asyncio
from collections.abc import Awaitable
from typing import Final, NamedTuple

from lochan.clock import Clock
from lochan.errors import AlreadyExists, Corrupt, LochanError, Retry
from lochan.failpoints import fp
from lochan.formats import record as records
from lochan.formats import segment as segments
from lochan.formats.record import GENESIS
from lochan.formats.segment import Segment
from lochan.ids import Ids
from lochan.journal.rules import RULES, JournalRules
from lochan.journal.slots import Checkpoints, FoundCheckpoint, Slots
from lochan.journal.state import Chain, State
from lochan.journal.tail import JournalTail
from lochan.store.protocol import Store

_CHECKPOINTS_KEPT = 4
_HOUR_S = 3_600.0
_KEPT_HOURLY_S = 48 * _HOUR_S
_LITTER_S = 24 * _HOUR_S


class TrimResult(NamedTuple):
    packed: int  # segments made
    deleted: int  # slots deleted


NOTHING: Final = TrimResult(0, 0)


class JournalTrim(NamedTuple):
    """The result for one of several journals."""

    name: str  # the repository's name, or that of the lake's own journal
    trimmed: TrimResult = NOTHING
    error: LochanError | None = None

    @classmethod
    async def of(cls, name: str, trim: Awaitable[TrimResult]) -> "JournalTrim":
        try:
            return cls(name, await trim)
        except LochanError as error:
            return cls(name, error=error)


class Trimmer:
    def __init__(
        self,
        slots: Slots,
        tail: JournalTail[State],
        checkpoints: Checkpoints,
        store: Store,
        prefix: str,
        clock: Clock,
        ids: Ids,
        rules: JournalRules = RULES,
    ) -> None:
        self._slots = slots
        self._tail = tail
        self._checkpoints = checkpoints
        self._store = store
        self._prefix = prefix
        self._clock = clock
        self._ids = ids
        self._rules = rules
        self._durable: set[int] = set()  # groups whose segment this trimmer has just written

    async def trim(self) -> TrimResult:
        """Trims the journal. It is idempotent, and safe beside writers, readers and other trimmers."""
        await self._tail.fresh()
        first, full = await self._unpacked()
        await self._pack_all(first, full)
        now = await self._store_time() if self._slots.aged else 0.0
        deleted = await self._delete_slots(max(first, full) * self._slots.group, now)
        await self.delete_checkpoints()
        return TrimResult(max(0, full - first), deleted)

    async def delete_checkpoints(self) -> None:
        """Deletes all checkpoints that nobody needs. Their age is relative to the newest one, so it is by the store's
        own clock; if a listing misses the newest, fewer are deleted."""
        found = await self._checkpoints.found()
        now = max((each.modified for each in found), default=0.0)
        for number in superfluous(found, now if self._slots.aged else None):
            await self._checkpoints.delete(number)
            fp("checkpoint.deleted_old")

    # --- packing -----------------------------------------------------------------------------------------------------
    async def _unpacked(self) -> tuple[int, int]:
        """Returns the first group without a segment, and the first that is not full. Segments are made in order, so it
        bisects."""
        full = 0
        while self._rules.may_pack((full + 1) * self._slots.group - 1, self._tail.next):
            full += 1
        low, high = 0, full
        while low < high:
            middle = (low + high) // 2
            if await self._slots.has_segment(middle):
                low = middle + 1
            else:
                high = middle
        return low, full

    async def _pack_all(self, first: int, full: int) -> None:
        folded = self._folded_groups(first, full)
        await self._pack_slots(first, full - len(folded))
        for segment in folded:
            await self._put_segment(segment)
        self._tail.recent.forget_below(full * self._slots.group)

    def _folded_groups(self, first: int, full: int) -> list[Segment]:
        """Returns the last of these groups, if this process still has the records that its state was folded from
        (J4)."""
        found: list[Segment] = []
        for group in reversed(range(first, full)):
            start = self._start(group)
            records = self._tail.recent.span(start, (group + 1) * self._slots.group - 1)
            if records is None:
                break
            found.append(Segment(group, start, tuple(records)))
        return found[::-1]

    async def _pack_slots(self, first: int, full: int) -> None:
        """Packs these groups from their slots, and checks the records up to the tail."""
        if first >= full:
            return
        ends = await self._checked_ends(first)
        digest = await self._end_before(first)
        for group in range(first, full):
            segment = await self._read_group(group, digest)
            digest = records.decode(segment.records[-1], f"the last record of group {group}").digest
            if digest != ends[group]:
                raise Corrupt(f"group {group} of {self._slots.name} reads differently the second time")
            await self._put_segment(segment)

    async def _checked_ends(self, first: int) -> dict[int, bytes]:
        """Returns the digest at the end of each group, from a walk that begins at `first` and must lead to the state
        that this process has folded."""
        state = self._tail.state
        until, goal = state.number, state.digest
        chain = Chain(state.journal, self._start(first) - 1, await self._end_before(first))
        tail = JournalTail(self._slots, chain, self._clock, self._rules)
        ends: dict[int, bytes] = {}
        done = False
        while not done:
            done = await tail.advance(until)
            for sealed in chain.take():
                ends[sealed.record.number // self._slots.group] = sealed.digest
            await asyncio.sleep(0)  # a disk answers at once, and other requests need their turn
        if chain.digest != goal:
            raise Corrupt(f"the records of {self._slots.name} do not lead to the state that was folded from them")
        return ends

    async def _read_group(self, group: int, digest: bytes | None) -> Segment:
        first = self._start(group)
        chain = Chain(self._tail.state.journal, first - 1, digest)
        tail = JournalTail(self._slots, chain, self._clock, self._rules)
        last = (group + 1) * self._slots.group - 1
        while not await tail.advance(last):  # noqa: ASYNC110 - it does not poll, but gives others their turn
            await asyncio.sleep(0)
        return Segment(group, first, tuple(sealed.data for sealed in chain.take()))

    async def _end_before(self, group: int) -> bytes:
        if group == 0:
            return GENESIS
        segment = await self._tail.segment(group - 1)
        if segment is None:
            raise Corrupt(
                f"segment {group - 1} of {self._slots.name} is gone", hint="restore it from a copy of the lake"
            )
        return records.decode(segment.records[-1], f"the last record of segment {group - 1}").digest

    async def _put_segment(self, segment: Segment) -> None:
        """Creates the segment. Another trimmer may write the same segment, with the same bytes. In doubt, the next run
        looks again."""
        data = segments.encode(segment)
        fp("trim.before_segment")
        try:
            await self._slots.create_segment(segment.group, data)
            self._durable.add(segment.group)
        except (AlreadyExists, Retry):
            if await self._slots.read_segment(segment.group) != data:
                raise
        fp("trim.after_segment")

    def _start(self, group: int) -> int:
        return max(1, group * self._slots.group)  # numbers begin at 1

    # --- deleting ----------------------------------------------------------------------------------------------------
    async def _delete_slots(self, below: int, now: float) -> int:
        """Deletes slots whose segment is durable. If the fast path of J6 is in use, they are deleted only a day later.
        Returns how many."""
        checkpoints = await self._checkpoints.found()
        deletable: dict[int, list[int]] = {}  # the numbers of slots, by group
        segment_modified: dict[int, float | None] = {}
        async for slot in self._slots.listed(below):
            group = slot.number // self._slots.group
            if group not in segment_modified:
                segment_modified[group] = await self._slots.segment_modified(group)
            if self._rules.may_delete(
                aged=self._slots.aged,
                now=now,
                slot=slot.modified,
                segment=segment_modified[group],
                checkpoint=_oldest_past(checkpoints, (group + 1) * self._slots.group - 1),
            ):
                deletable.setdefault(group, []).append(slot.number)
        for group, numbers in deletable.items():
            await self._make_durable(group)
            await self._slots.delete_many(numbers)
        return sum(map(len, deletable.values()))

    async def _make_durable(self, group: int) -> None:
        """Makes a group's segment durable (J4). On a disk a segment is visible before its trimmer has synced its name,
        and that trimmer may have been killed just then. Deleting the slots and losing the name would lose records.
        Creating the segment again finds the name taken and syncs its folder before it reports that. Its bytes were
        synced before it had a name."""
        if self._slots.aged or group in self._durable or not self._rules.segments_are_synced():
            return
        data = await self._slots.read_segment(group)
        if data is None:
            raise Corrupt(f"segment {group} of {self._slots.name} is gone", hint="restore it from a copy of the lake")
        try:
            await self._slots.create_segment(group, data)
        except AlreadyExists:
            fp("trim.segment_durable")

    async def _store_time(self) -> float:
        """Returns the time by the store's own clock, from an object just written. The trimmer's wall clock may be days
        off."""
        if not self._rules.trims_by_store_clock():
            return self._clock.wall() / 1e6
        folder = f"{self._prefix}/journal/trim/"
        path = f"{folder}{self._ids.ksuid(self._clock.wall())}"
        await self._store.put(path, b"")
        modified = (await self._store.head(path)).modified
        await self._store.delete(path)
        async for left in self._store.list(folder):  # files that killed trimmers left
            if modified - left.modified > _LITTER_S:
                await self._store.delete(left.path)
        return modified


async def has_work(slots: Slots) -> bool:
    """Returns whether there are slots of a full group. It takes two listings and no fold."""
    first = await slots.first_after(0)
    if first is None:
        return False
    return await slots.first_after((first // slots.group + 1) * slots.group - 1) is not None


def superfluous(found: list[FoundCheckpoint], now: float | None) -> list[int]:
    """Returns the checkpoints that nobody needs: all but the newest few. If slots wait a day (`now` is given), one per
    hour stays for two days; otherwise there would never be one that is old enough for a slot to be deleted."""
    candidates = found[:-_CHECKPOINTS_KEPT]
    if now is None:
        return [old.number for old in candidates]
    kept_at, drop = float("-inf"), []
    for old in candidates:
        if now - old.modified > _KEPT_HOURLY_S or old.modified - kept_at < _HOUR_S:
            drop.append(old.number)
        else:
            kept_at = old.modified
    return drop


def _oldest_past(checkpoints: list[FoundCheckpoint], number: int) -> float | None:
    """Returns the time of the oldest known checkpoint past `number`, or None."""
    return min((found.modified for found in checkpoints if found.number >= number), default=None)
