"""The records of a journal, read from its files in order, each checked against the one before it.

    seg/0 ─▶ seg/1 ─▶ slot 512 ─▶ slot 513 ─▶ absent: the end, unless there is a later record

A segment alone decides about its group (J5). The walk ends at the first record that is damaged, missing or does not
continue the one before: later records cannot be known."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from functools import partial
from typing import NamedTuple

from lochan.errors import Corrupt, FutureFormat, NotFound
from lochan.formats import record as records
from lochan.formats import segment as segments
from lochan.formats.record import GENESIS, SealedRecord
from lochan.formats.segment import Segment
from lochan.journal.slots import GROUP
from lochan.journal.state import check_link
from lochan.store.checked_reads import get_decoded
from lochan.store.protocol import Store

_DIGITS = 20
_AT_ONCE = 32  # slots that are read in parallel


class JournalDamage(Corrupt):
    """The journal breaks off at record `number`. The records before it are intact."""

    def __init__(self, what: str, path: str, number: int, message: str, hint: str = "") -> None:
        super().__init__(message, hint=hint or "restore it from a copy of the lake; nothing was changed")
        self.what = what  # a kind of finding
        self.path = path
        self.number = number


class JournalFiles(NamedTuple):
    """The names of a journal's files, from a listing."""

    slots: list[int]
    segments: list[int]
    batches: list[tuple[int, int]]  # the batches of a mirror: first and last number

    @property
    def last(self) -> int:
        """The last number for which a record can have a file."""
        ends = [last for _, last in self.batches]
        return max([0, *self.slots[-1:], *ends, *((group + 1) * GROUP - 1 for group in self.segments[-1:])])

    @classmethod
    def of(cls, journal: str, paths: Iterable[str]) -> JournalFiles:
        found = cls([], [], [])
        for path in paths:
            folder, _, name = path.removeprefix(f"{journal}/journal/").rpartition("/")
            first, _, last = name.partition("-")
            if folder == "" and _is_number(name):
                found.slots.append(int(name))
            elif folder == "seg" and _is_number(name):
                found.segments.append(int(name))
            elif folder == "mirror" and _is_number(first) and _is_number(last):
                found.batches.append((int(first), int(last)))
        for each in found:
            each.sort()
        return found


async def list_journal(store: Store, journal: str) -> JournalFiles:
    return JournalFiles.of(journal, [stat.path async for stat in store.list(f"{journal}/journal/")])


class JournalWalk:
    """A walk through the records. `files` may be stale: it only distinguishes a gap from the end."""

    def __init__(self, store: Store, journal: str, files: JournalFiles) -> None:
        self._store = store
        self._journal = journal
        self._files = files
        self.number = 0  # the number of the last record
        self.digest = GENESIS

    async def raw(self) -> AsyncIterator[list[bytes]]:
        """Yields the next records as they are stored, unchecked: those of a segment, or of some slots. The caller must
        set `number` and `digest` to those of the last record. Raises JournalDamage."""
        while found := await self._next():
            yield found

    async def records(self) -> AsyncIterator[SealedRecord]:
        """Yields the checked records. Raises JournalDamage or FutureFormat."""
        async for found in self.raw():
            for data in found:
                sealed = self.checked(data)
                self.number, self.digest = sealed.record.number, sealed.digest
                yield sealed

    def checked(self, data: bytes) -> SealedRecord:
        """Returns the record after `number`. Raises JournalDamage if it is damaged or does not continue the chain."""
        number = self.number + 1
        path = self.path_of(number)
        try:
            sealed = records.decode(data, f"record {number} of {self._journal}")
            check_link(sealed, self._journal, self.number, self.digest)
        except Corrupt as error:
            raise JournalDamage(_kind(error), path, number, error.message, error.hint) from error
        return sealed

    def path_of(self, number: int) -> str:
        """Returns the path of the file that the record is in."""
        if number // GROUP in self._files.segments:
            return segment_path(self._journal, number // GROUP)
        for first, last in self._files.batches:
            if first <= number <= last and number not in self._files.slots:
                return f"{self._journal}/journal/mirror/{first:0{_DIGITS}d}-{last:0{_DIGITS}d}"
        return slot_path(self._journal, number)

    async def _next(self) -> list[bytes]:
        number = self.number + 1
        segment = await self.segment(number // GROUP)
        if segment is None:
            found = await self._slots(number) or await self._batch(number)
            # The group may have been packed, and its slots deleted, since we looked for the segment (J5).
            segment = await self.segment(number // GROUP)
            if segment is None:
                return found or self._end(number)
        at = number - segment.first
        if not 0 <= at < len(segment.records):
            path = segment_path(self._journal, number // GROUP)
            raise JournalDamage("segment-damaged", path, number, f"record {number} is not in {path}")
        return list(segment.records[at:])

    async def segment(self, group: int) -> Segment | None:
        """Returns the segment, or None if there is none. Raises JournalDamage."""
        path = segment_path(self._journal, group)
        try:
            found = await get_decoded(self._store, path, lambda data: segments.decode(data, path))
        except NotFound:
            return None
        except Corrupt as error:
            raise JournalDamage("segment-damaged", path, self.number + 1, error.message, error.hint) from error
        if found.group != group or found.first != max(1, group * GROUP):
            message = f"{path} holds group {found.group}: another file is in its place"
            raise JournalDamage("segment-damaged", path, self.number + 1, message)
        return found

    async def _slots(self, first: int) -> list[bytes]:
        """Returns the records of the slots that exist in sequence, up to the end of the group."""
        stop = min((first // GROUP + 1) * GROUP, first + _AT_ONCE)
        found = await asyncio.gather(*(self._slot(number) for number in range(first, stop)))
        return [data for at, data in enumerate(found) if data is not None and None not in found[:at]]

    async def _slot(self, number: int) -> bytes | None:
        path = slot_path(self._journal, number)

        def decode(data: bytes) -> bytes:
            records.decode(data, path)
            return data

        try:
            return await get_decoded(self._store, path, decode)
        except NotFound:
            return None
        except Corrupt:
            return await self._store.get(path)  # its position shows which record it should be
        except FutureFormat:
            raise

    async def _batch(self, number: int) -> list[bytes]:
        """Returns the longest batch of a mirror that holds the record."""
        holding = [each for each in self._files.batches if each[0] <= number <= each[1]]
        damage: JournalDamage | None = None
        for first, last in sorted(holding, key=lambda each: -each[1]):
            path = f"{self._journal}/journal/mirror/{first:0{_DIGITS}d}-{last:0{_DIGITS}d}"
            try:
                found = await get_decoded(self._store, path, partial(segments.decode, what=path))
                return list(found.records[number - found.first :])
            except NotFound:
                continue
            except Corrupt as error:
                damage = JournalDamage("mirror-damaged", path, number, error.message, error.hint)
        if damage is not None:
            raise damage
        return []

    def _end(self, number: int) -> list[bytes]:
        later = [each for each in self._files.slots if each > number]
        later += [each * GROUP for each in self._files.segments if each > number // GROUP]
        later += [first for first, _ in self._files.batches if first > number]
        if later:
            path = slot_path(self._journal, number)
            message = f"record {number} of {self._journal} is missing, and record {max(1, min(later))} is there"
            raise JournalDamage("record-missing", path, number, message)
        return []


def slot_path(journal: str, number: int) -> str:
    return f"{journal}/journal/{number:0{_DIGITS}d}"


def segment_path(journal: str, group: int) -> str:
    return f"{journal}/journal/seg/{group:0{_DIGITS}d}"


def _kind(error: Corrupt) -> str:
    if "belongs to" in error.message:
        return "record-foreign"
    if "says it is" in error.message:
        return "record-misplaced"
    return "chain-broken" if "does not continue" in error.message else "record-damaged"


def _is_number(name: str) -> bool:
    return len(name) == _DIGITS and name.isdigit()
