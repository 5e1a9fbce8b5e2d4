"""Checks the files of one journal: records, segments and checkpoints. The state that is folded from the records is
compared with the stored checkpoints."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial

from lochan.errors import Corrupt, FutureFormat, NotFound
from lochan.formats import record as records
from lochan.formats import segment as segments
from lochan.journal.slots import GROUP
from lochan.journal.state import StatePart
from lochan.recovery.findings import Finding
from lochan.recovery.journal_walk import JournalFiles, JournalWalk, list_journal, segment_path, slot_path
from lochan.recovery.rebuild import DIFFERS, LOST, FoldedJournal, RebuiltFile, fold_journal
from lochan.store.checked_reads import get_decoded
from lochan.store.protocol import Store

_LAKE = "_lake"  # its journal is empty in a lake without repositories


class JournalCheck:
    """Checks a journal. `name` is that of the repository in findings. With `is_mirror`, the journal itself is in a
    database, and its copy in the store may be behind."""

    def __init__(
        self, store: Store, journal: str, name: str, parts: tuple[type[StatePart], ...], *, is_mirror: bool
    ) -> None:
        self._store = store
        self._journal = journal
        self._name = name
        self._parts = parts
        self._is_mirror = is_mirror

    async def fold(self) -> tuple[FoldedJournal | None, list[Finding]]:
        """Returns the folded journal and the findings. The journal is None if a newer Lochan has written it."""
        files = await list_journal(self._store, self._journal)
        try:
            folded = await fold_journal(self._store, self._journal, self._parts, files)
        except FutureFormat as error:
            return None, [self._finding("format-newer", f"{self._journal}/journal", error.message)]
        found = [each async for each in self._of(folded, files)]
        return folded, found

    async def _of(self, folded: FoldedJournal, files: JournalFiles) -> AsyncIterator[Finding]:
        damage = folded.damage
        if damage is not None:
            yield self._finding(damage.what, damage.path, damage.message)
            async for each in self._check_after(damage.number, damage.path, files):
                yield each
        elif folded.state.number == 0 and self._journal != _LAKE and not self._is_mirror:
            detail = "its journal is empty, though the lake names it: all of its files are gone"
            yield self._finding("record-missing", slot_path(self._journal, 1), detail)
        for invalid in folded.invalid:
            path = slot_path(self._journal, invalid.number)
            yield self._finding("event-invalid", path, f"record {invalid.number}: {invalid.message}")
        async for each in self._check_superseded(files):
            yield each
        for checkpoint in folded.checkpoints:
            kept = self._checkpoint(checkpoint, folded)
            if kept is not None:
                yield kept

    def _checkpoint(self, found: RebuiltFile, folded: FoldedJournal) -> Finding | None:
        if found.outcome == LOST and folded.damage is None and not self._is_mirror:
            number = folded.state.number + 1
            detail = f"{found.reason}, and a checkpoint of a later one is there"
            return self._finding("record-missing", slot_path(self._journal, number), detail)
        if found.outcome != DIFFERS:
            return None
        unreadable = "another" not in found.reason
        return self._finding("checkpoint-damaged" if unreadable else "checkpoint-differs", found.path, found.reason)

    async def _check_after(self, number: int, path: str, files: JournalFiles) -> AsyncIterator[Finding]:
        """Checks whether each file after the place where the chain breaks is intact in itself."""
        for group in files.segments:
            own = segment_path(self._journal, group)
            if group * GROUP >= number and own != path:
                error = await self._find_damage(own, partial(segments.decode, what=own))
                if error:
                    yield self._finding("segment-damaged", own, error)
        for slot in files.slots:
            own = slot_path(self._journal, slot)
            if slot > number and slot // GROUP not in files.segments and own != path:
                error = await self._find_damage(own, partial(records.decode, what=own))
                if error:
                    yield self._finding("record-damaged", own, error)

    async def _find_damage(self, path: str, decode: Callable[[bytes], object]) -> str:
        try:
            await get_decoded(self._store, path, decode)
        except (Corrupt, FutureFormat) as error:
            return error.message
        except NotFound:
            return ""
        return ""

    async def _check_superseded(self, files: JournalFiles) -> AsyncIterator[Finding]:
        """Checks the slots of groups that are packed: a trimmer deletes them, and a late write in one is not a record
        (J4, J5)."""
        by_group: dict[int, list[int]] = {}
        for slot in files.slots:
            if slot // GROUP in files.segments:
                by_group.setdefault(slot // GROUP, []).append(slot)
        for group, slots in by_group.items():
            walk = JournalWalk(self._store, self._journal, files)
            try:
                segment = await walk.segment(group)
            except Corrupt:
                continue
            for slot in slots:
                if segment is not None and await self._differs(slot, segment.records[slot - segment.first]):
                    yield self._finding("slot-differs", slot_path(self._journal, slot), f"record {slot}")

    async def _differs(self, slot: int, data: bytes) -> bool:
        try:
            return await self._store.get(slot_path(self._journal, slot)) != data
        except NotFound:
            return False

    def _finding(self, kind: str, path: str, detail: str = "") -> Finding:
        return Finding(kind=kind, path=path, repository=self._name, detail=detail)
