"""The mirror: a copy in the bucket of a journal in PostgreSQL, so that a rebuild needs no database.

    records 256…511, a full group ──▶ <journal>/journal/seg/<20 digits>       the very bytes a trimmer packs; for ever
    records 512…530, the tail     ──▶ <journal>/journal/mirror/<first>-<last>  segment format; until its group is full

Records are checked link by link before they are mirrored, as before trimming. All files are created by put-if-absent,
and their names say what they hold, so several mirrors of one journal at worst repeat each other's work.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import NamedTuple

from lochan.clock import Clock
from lochan.errors import AlreadyExists, Corrupt, LochanError, NotFound
from lochan.failpoints import fp
from lochan.formats import frame
from lochan.formats import record as records
from lochan.formats import segment as segments
from lochan.formats.record import GENESIS, SealedRecord
from lochan.formats.segment import Segment
from lochan.journal.slots import GROUP, ObjectSlots, Slots
from lochan.journal.state import Alarm, Chain
from lochan.journal.tail import JournalTail, read_segment
from lochan.store.checked_reads import get_decoded
from lochan.store.protocol import Store

_DIGITS = 20
_RESTORE = "restore its file from a copy of the lake"
_TWO_DATABASES = "the database was restored from an old copy, or two databases were used for one lake"


class MirrorResult(NamedTuple):
    segments: int  # segments that this call created
    records: int  # records that this call mirrored
    upto: int  # the number of the last record in the bucket


class _Held(NamedTuple):
    """The content of the bucket: all groups before `group` as segments, and the records of that group up to `upto`."""

    group: int
    before: bytes  # the digest of the record before the group's first
    upto: int
    digest: bytes  # the digest of record `upto`


class Mirror:
    def __init__(self, slots: Slots, store: Store, journal: str, clock: Clock) -> None:
        self._slots = slots
        self._clock = clock
        self._journal = journal
        self._files = _Files(store, journal, slots.group)
        self._turn = asyncio.Lock()
        self._held: _Held | None = None  # known after the first call

    @property
    def name(self) -> str:
        return self._slots.name

    async def mirror(self) -> MirrorResult:
        """Brings the bucket up to the journal's tail. Idempotent, and safe beside writers, trimmers and other mirrors.
        Raises Corrupt if the bucket has records that the database does not have, because an old copy of it was
        restored."""
        async with self._turn:
            began = held = self._held or await self._find()
            await check_holds(self._slots, held.upto, held.digest, f"its mirror {self._files.name}")
            chain = Chain(self._journal, self._start(held.group) - 1, held.before)
            tail = JournalTail(self._slots, chain, self._clock)
            full = True
            while full:
                last = (held.group + 1) * self._slots.group - 1
                while not await tail.advance(last):
                    pass
                read = chain.take()
                full = chain.number == last
                held = await (self._keep_group(held, read) if full else self._keep_tail(held, read))
                self._held = held
            return MirrorResult(held.group - began.group, held.upto - began.upto, held.upto)

    async def _keep_group(self, held: _Held, read: list[SealedRecord]) -> _Held:
        segment = _pack(held.group, read)
        fp("mirror.before_segment")
        await self._files.put(self._files.segment_path(held.group), segment)
        fp("mirror.after_segment")
        for batch in await self._files.batches():
            if batch.last < segment.first + len(segment.records):
                await self._files.delete(batch)
        last = read[-1]
        return _Held(held.group + 1, last.digest, last.record.number, last.digest)

    async def _keep_tail(self, held: _Held, read: list[SealedRecord]) -> _Held:
        new = [sealed for sealed in read if sealed.record.number > held.upto]
        if not new:
            return held
        last = new[-1]
        fp("mirror.before_batch")
        await self._files.put(
            self._files.batch_path(_Batch(new[0].record.number, last.record.number)), _pack(held.group, new)
        )
        fp("mirror.after_batch")
        return held._replace(upto=last.record.number, digest=last.digest)

    # --- finding out what the bucket has ----------------------------------------------------------------------------
    async def _find(self) -> _Held:
        group = await self._first_unpacked()
        before = await self._end_before(group)
        return await self._find_tail(_Held(group, before, self._start(group) - 1, before))

    async def _find_tail(self, held: _Held) -> _Held:
        upto, tail = held.upto, []
        for batch in await self._files.batches():
            if batch.last < self._start(held.group):
                await self._files.delete(
                    batch
                )  # its group is packed, but that mirror ended before it deleted the batch
            elif batch.first <= upto + 1 and batch.last > upto:
                upto = batch.last
                tail.append(batch)
        for batch in reversed(tail):
            with suppress(NotFound, Corrupt):  # gone since, or damaged: its records are mirrored again
                last = (await self._files.read(batch)).records[-1]
                return held._replace(upto=batch.last, digest=frame.digest(last))
        return held

    async def _first_unpacked(self) -> int:
        """Returns the first group that is not packed. Segments are made in order, so this gallops, then bisects."""
        high = 1
        while await self._files.has_segment(high - 1):
            high *= 2
        low, high = high // 2, high - 1  # `low` groups are packed, group `high` is not
        while low < high:
            middle = (low + high) // 2
            if await self._files.has_segment(middle):
                low = middle + 1
            else:
                high = middle
        return low

    async def _end_before(self, group: int) -> bytes:
        if group == 0:
            return GENESIS
        segment = await self._files.segment(group - 1)
        if segment is None:
            raise Corrupt(f"segment {group - 1} of {self._files.name} is gone", hint=_RESTORE)
        return frame.digest(segment.records[-1])

    def _start(self, group: int) -> int:
        return max(1, group * self._slots.group)  # numbers begin at 1


class Mirroring:
    """Mirrors behind a writer: after a number of records or seconds, and at the end. A failure raises an alarm and
    never fails a request; the next attempt makes up for it."""

    def __init__(self, mirror: Mirror, alarm: Alarm, *, every_records: int, every_s: float) -> None:
        self._mirror = mirror
        self._alarm = alarm
        self._every_records = every_records
        self._every_s = every_s
        self._unmirrored = 0
        self._due = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    def appended(self, number: int) -> None:
        self._unmirrored += 1
        if self._unmirrored >= self._every_records:
            self._due.set()
        if self._task is None and not self._closing:
            self._task = asyncio.create_task(self._keep_up())

    async def close(self) -> None:
        self._closing = True
        self._due.set()
        if self._task is not None:
            await self._task
        if self._unmirrored:
            await self._mirror_once()

    async def _keep_up(self) -> None:
        while self._unmirrored and not self._closing:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._every_s):
                    await self._due.wait()
            if not self._closing:
                await self._mirror_once()
        self._task = None

    async def _mirror_once(self) -> None:
        self._due.clear()
        pending, self._unmirrored = self._unmirrored, 0
        try:
            await self._mirror.mirror()
        except LochanError as error:
            self._unmirrored += pending
            self._alarm(f"{self._mirror.name} is behind in the bucket, and nothing else has failed: {error}")


async def read_mirror(store: Store, journal: str, *, group: int = GROUP) -> AsyncIterator[SealedRecord]:
    """Yields the journal from the bucket alone, link by link, as far as it was mirrored. Raises Corrupt."""
    files = _Files(store, journal, group)
    chain = Chain(journal, 0, GENESIS)
    while True:
        found = await _next_file(files, chain.number + 1, group)
        if found is None:
            return
        for sealed in _unpack(found, chain.number, files.name):
            chain.fold(sealed)
        for sealed in chain.take():
            yield sealed


async def _next_file(files: _Files, number: int, group: int) -> Segment | None:
    """Returns the file with this record, or None if neither it nor any later record is mirrored."""
    segment = await files.segment(number // group)
    if segment is None:
        batches = await files.batches()
        # Another mirror may have just packed the group and removed its batches, so the segment is read again.
        segment = await files.batch_with(number, batches) or await files.segment(number // group)
        if segment is None and any(batch.first > number for batch in batches):
            raise Corrupt(f"record {number} is missing from {files.name}, and later ones are there", hint=_RESTORE)
    if segment is not None and not segment.first <= number < segment.first + len(segment.records):
        raise Corrupt(f"record {number} is not in the segment of its group in {files.name}", hint=_RESTORE)
    return segment


async def check_holds(slots: Slots, number: int, digest: bytes, who: str) -> None:
    """Raises Corrupt unless the journal has this very record, or has packed it. The database must have every record
    that the bucket has. If not, the database is an old copy, and continuing would assign numbers twice."""
    data = await slots.read(number) if number else None
    if number == 0 or await slots.has_segment(number // slots.group):
        return
    if data is None or frame.digest(data) != digest:
        raise Corrupt(f"{slots.name} has forgotten record {number}, which {who} knows", hint=_TWO_DATABASES)


class _Batch(NamedTuple):
    first: int
    last: int


class _Files:
    """The mirror's files, by name."""

    def __init__(self, store: Store, journal: str, group: int) -> None:
        self._store = store
        self._slots = ObjectSlots(store, journal, aged=False, group=group)
        self._folder = f"{journal}/journal/mirror/"

    @property
    def name(self) -> str:
        return self._slots.name

    def segment_path(self, group: int) -> str:
        return self._slots.segment_path(group)

    def batch_path(self, batch: _Batch) -> str:
        return f"{self._folder}{batch.first:0{_DIGITS}d}-{batch.last:0{_DIGITS}d}"

    async def put(self, path: str, segment: Segment) -> None:
        """Puts a file. The name determines the content, so another process that created the file wrote the same."""
        data = segments.encode(segment)
        try:
            await self._store.put_if_absent(path, data)
        except AlreadyExists:

            def check(found: bytes) -> None:
                if found != data:
                    raise Corrupt(
                        f"{path} in {self._store.url} holds other records than the journal", hint=_TWO_DATABASES
                    )

            with suppress(NotFound):  # the batch was replaced meanwhile
                await get_decoded(self._store, path, check)

    async def has_segment(self, group: int) -> bool:
        return await self._slots.has_segment(group)

    async def segment(self, group: int) -> Segment | None:
        return await read_segment(self._slots, group)

    async def batches(self) -> list[_Batch]:
        found = []
        async for stat in self._store.list(self._folder):
            first, dash, last = stat.path.removeprefix(self._folder).partition("-")
            if dash and first.isdigit() and last.isdigit():
                found.append(_Batch(int(first), int(last)))
        return found

    async def batch_with(self, number: int, batches: list[_Batch]) -> Segment | None:
        """Returns the longest readable batch with this record, or None. Raises Corrupt if there are some and all are
        damaged."""
        damaged: Corrupt | None = None
        holding = [batch for batch in batches if batch.first <= number <= batch.last]
        for batch in sorted(holding, key=lambda b: b.last, reverse=True):
            try:
                return await self.read(batch)
            except NotFound:  # it was replaced meanwhile
                continue
            except Corrupt as error:
                damaged = error
        if damaged is not None:
            raise damaged
        return None

    async def read(self, batch: _Batch) -> Segment:
        path = self.batch_path(batch)

        def decode(data: bytes) -> Segment:
            segment = segments.decode(data, f"{path} in {self._store.url}")
            if segment.first != batch.first or len(segment.records) != batch.last - batch.first + 1:
                raise Corrupt(f"{path} in {self._store.url} does not hold what its name says", hint="report this")
            return segment

        return await get_decoded(self._store, path, decode)

    async def delete(self, batch: _Batch) -> None:
        await self._store.delete(self.batch_path(batch))
        fp("mirror.deleted_batch")


def _pack(group: int, read: list[SealedRecord]) -> Segment:
    return Segment(group, read[0].record.number, tuple(sealed.data for sealed in read))


def _unpack(segment: Segment, after: int, name: str) -> Iterator[SealedRecord]:
    for number, data in enumerate(segment.records, segment.first):
        if number > after:
            yield records.decode(data, f"record {number} of {name}")
