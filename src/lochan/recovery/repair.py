"""Replaces damaged derived files, made from primary ones. It never invents data, and deletes nothing: a file that is
replaced is first copied to `_lake/quarantine/`."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from lochan.clock import Clock
from lochan.errors import Corrupt, NotFound
from lochan.formats import record as records
from lochan.formats import segment as segments
from lochan.formats.segment import Segment
from lochan.journal.slots import GROUP
from lochan.journal.state import Chain
from lochan.recovery.check_repository import RepositoryCheck
from lochan.recovery.findings import Finding
from lochan.recovery.journal_walk import JournalDamage, segment_path, slot_path
from lochan.recovery.lake_files import QUARANTINE
from lochan.recovery.rebuild import LOST, MADE, FoldedJournal, Rebuild, RebuiltFile
from lochan.store.protocol import PATH_BYTES_MAX, Store

_ASIDE = ("report-damaged",)


class Repair:
    """Repairs a lake. `scratch` is a store that is used for nothing else."""

    def __init__(self, store: Store, scratch: Store, clock: Clock) -> None:
        self._store = store
        self._scratch = scratch
        self._clock = clock
        self._folder = f"{QUARANTINE}{clock.wall() // 1_000_000}"

    async def repaired(
        self, check: RepositoryCheck | None, folded: FoldedJournal, findings: list[Finding]
    ) -> AsyncIterator[Finding]:
        """Yields the same findings, each with what was repaired. `check` is that of a repository."""
        made = await self._derive_files(check, folded, findings)
        for found in findings:
            how = ""
            if found.kind == "segment-damaged" and folded.damage is not None:
                how = await self._pack_again(folded, folded.damage, found)
            elif found.kind.startswith("checkpoint-"):
                how = await self._checkpoint(folded, found)
            elif found.kind in _ASIDE:
                how = f"moved to {await self.set_aside(found.path)}"
            elif found.path in made:
                how, found = await self._replace(made[found.path], found)
            yield msgspec.structs.replace(found, repaired=how)

    async def _derive_files(
        self, check: RepositoryCheck | None, folded: FoldedJournal, findings: list[Finding]
    ) -> dict[str, RebuiltFile]:
        if check is None or check.live is None or folded.damage is not None or not check.live.damaged:
            return {}
        repository = check.repository
        self._rebuild = Rebuild(self._store, repository.id, repository.kind, self._scratch, self._clock)
        results = await self._rebuild.make(folded, check.live, everything=False)
        return {each.path: each for each in results}

    async def _replace(self, made: RebuiltFile, found: Finding) -> tuple[str, Finding]:
        if made.outcome == LOST:
            return "", msgspec.structs.replace(found, detail=f"{found.detail}; it cannot be made again: {made.reason}")
        if made.outcome != MADE:
            return "", found
        aside = f"; the old file is {await self.set_aside(made.path)}" if made.was_damaged else ""
        await self._store.put(made.path, await self._rebuild.bytes_of(made.path))
        return f"made again{aside}", found

    async def _checkpoint(self, folded: FoldedJournal, found: Finding) -> str:
        data = folded.right_checkpoints.get(int(found.path.rpartition("/")[2]))
        if data is None:
            return ""
        aside = await self.set_aside(found.path)
        await self._store.put(found.path, data)
        return f"made again; the old file is {aside}"

    async def _pack_again(self, folded: FoldedJournal, damage: JournalDamage, found: Finding) -> str:
        """Makes a damaged segment from its slots, if all of them exist, follow each other, and are followed by the next
        record."""
        state = folded.state
        group = int(found.path.rpartition("/")[2])
        first = max(1, group * GROUP)
        if found.path != damage.path or damage.number != first:
            return ""
        chain = Chain(state.journal, state.number, state.digest)
        try:
            for number in range(first, (group + 1) * GROUP):
                path = slot_path(state.journal, number)
                chain.fold(records.decode(await self._store.get(path), path))
            packed = Segment(group, first, tuple(sealed.data for sealed in chain.take()))
            chain.fold(await self._read_following(state.journal, group))
        except (Corrupt, NotFound):
            return ""
        aside = await self.set_aside(found.path)
        await self._store.put(found.path, segments.encode(packed))
        return f"packed again from its slots; the old file is {aside}; check once more what comes after it"

    async def _read_following(self, journal: str, group: int) -> records.SealedRecord:
        number = (group + 1) * GROUP
        try:
            data = await self._store.get(segment_path(journal, group + 1))
            return records.decode(segments.decode(data, "the next segment").records[0], "the next record")
        except NotFound:
            return records.decode(await self._store.get(slot_path(journal, number)), "the next record")

    async def set_aside(self, path: str) -> str:
        """Copies the file to the quarantine, and returns its new path. Files that are not replaced are deleted
        afterwards."""
        aside = f"{self._folder}/{path}"
        if len(aside.encode()) > PATH_BYTES_MAX:
            aside = f"{self._folder}/{path[-200:].replace('/', '_')}"
        data = await self._store.get(path)
        await self._store.put(aside, data)
        if await self._store.get(aside) != data:
            raise Corrupt(f"{path} cannot be moved aside: what was written to {aside} reads differently")
        if path.startswith(("_lake/jobs/", "_lake/scrub/")) or path.endswith("-report.json"):
            await self._store.delete(path)
        return aside
