"""Copies the files that a state names, and the journal that leads to it, from one store to another.

Files are written once and never change, so a file that the target has with the same size is not copied again. A copy is
checked against the file's hash if it has one, and read back."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pyarrow as pa
import pyarrow.compute as pc

from lochan.concurrency import map_concurrently
from lochan.errors import Corrupt, NotFound
from lochan.failpoints import fp
from lochan.formats import frame
from lochan.formats import segment as segments
from lochan.formats.plan_list import FOLDER as PLANS
from lochan.formats.record import GENESIS, SealedRecord
from lochan.formats.segment import Segment
from lochan.journal.slots import GROUP
from lochan.recovery.blocks import by_address, check_blocks, check_file
from lochan.recovery.journal_walk import list_journal, segment_path, slot_path
from lochan.recovery.lake_files import ListedFiles
from lochan.recovery.live_set import LiveSet, live_set
from lochan.store.protocol import Store
from lochan.versioning.state.refs import Refs

_AT_ONCE = 8
_WHOLE_BYTES_MAX = 32 << 20  # a larger file is streamed, and its copy is checked at the target
_KEPT_WHOLE = (PLANS, "aliases")  # folders whose files are kept for ever


class CopyTotals:
    def __init__(self) -> None:
        self.files = 0  # the number of copied files
        self.bytes = 0
        self.kept = 0  # the number of files that the target had already
        self.records = 0
        self.lost: list[tuple[str, str]] = []  # paths, and why they were not copied


class LakeCopy:
    def __init__(self, source: Store, target: Store) -> None:
        self._source = source
        self._target = target
        self.totals = CopyTotals()

    # --- files --------------------------------------------------------------------------------------------------------
    async def copy_repository(self, repository: str, refs: Refs) -> LiveSet:
        """Copies everything that the state names. Raises Gone if a file was deleted meanwhile."""
        live = await live_set(self._source, repository, refs)
        self.totals.lost += [(f"{repository}/{each.file}", each.what) for each in live.damaged]
        files = {f"{repository}/{each}" for each in live.files}
        async for path in self._whole_folders(repository, refs):
            files.add(path)
        source = await ListedFiles.listed(self._source, f"{repository}/")
        target = await ListedFiles.listed(self._target, f"{repository}/")
        await self._copy_plain(self._missing_paths(pa.array(sorted(files), pa.string()), source, target))
        await self._copy_data(live.blocks, source, target)
        return live

    async def _whole_folders(self, repository: str, refs: Refs) -> AsyncIterator[str]:
        folders = [*_KEPT_WHOLE, *(f"workspaces/{each.id}" for each in refs.workspaces.all())]
        for folder in folders:
            async for stat in self._source.list(f"{repository}/{folder}/"):
                if not stat.path.endswith("/clock"):
                    yield stat.path

    def _missing_paths(self, paths: pa.Array, source: ListedFiles, target: ListedFiles) -> list[str]:
        """Returns the paths that the target does not have with the same size."""
        same = pc.equal(pc.fill_null(_sizes(paths, source), -1), pc.fill_null(_sizes(paths, target), -2))
        self.totals.kept += pc.sum(same).as_py() or 0
        found: list[str] = paths.filter(pc.invert(same)).to_pylist()
        return found

    async def _copy_plain(self, paths: list[str]) -> None:
        await map_concurrently(self.copy_file, paths, _AT_ONCE)

    async def copy_file(self, path: str) -> None:
        """Copies one file, and notes it as lost if it is gone. Raises Corrupt if the copy reads differently."""
        try:
            data = await self._source.get(path)
        except NotFound:
            self.totals.lost.append((path, "it is gone"))
            return
        await self._put(path, data)

    async def _put(self, path: str, data: bytes) -> None:
        await self._target.put(path, data)
        if await self._target.get(path) != data:
            raise Corrupt(f"{path} in {self._target.url} reads differently than it was written", hint="copy it again")
        fp("copy.file")
        self.totals.files += 1
        self.totals.bytes += len(data)

    async def _copy_data(self, blocks: pa.Table, source: ListedFiles, target: ListedFiles) -> None:
        wanted = set(self._missing_paths(blocks["address"].combine_chunks().unique(), source, target))
        parts = [each for each in by_address(blocks) if each["address"][0].as_py() in wanted]
        await map_concurrently(self._copy_body, parts, _AT_ONCE)

    async def _copy_body(self, blocks: pa.Table) -> None:
        path: str = blocks["address"][0].as_py()
        try:
            stat = await self._source.head(path)
            if stat.size > _WHOLE_BYTES_MAX:
                await self._stream(path, blocks)
                return
            data = await self._source.get(path)
        except NotFound:
            self.totals.lost.append((path, "it is gone"))
            return
        wrong = check_blocks(data, blocks)
        if wrong:
            # Two reads gave different wrong bytes: perhaps they were changed on the way.
            data = await self._source.get(path)
            wrong = check_blocks(data, blocks)
        if wrong:
            self.totals.lost.append((path, wrong))
            return
        await self._put(path, data)

    async def _stream(self, path: str, blocks: pa.Table) -> None:
        size = await self._target.put_stream(path, self._source.get_stream(path))
        damage = await check_file(self._target, blocks)
        if damage is not None:
            await self._target.delete(path)
            self.totals.lost.append((path, damage.detail or damage.kind))
            return
        self.totals.files += 1
        self.totals.bytes += size

    # --- journals -----------------------------------------------------------------------------------------------------
    async def packed_upto(self, journal: str) -> tuple[int, bytes]:
        """Returns the last record of the segments that the target has, and its digest."""
        files = await list_journal(self._target, journal)
        groups = 0
        while groups < len(files.segments) and files.segments[groups] == groups:
            groups += 1
        if not groups:
            return 0, GENESIS
        path = segment_path(journal, groups - 1)
        last = segments.decode(await self._target.get(path), path).records[-1]
        return groups * GROUP - 1, frame.digest(last)

    async def copy_journal(self, journal: str, records: AsyncIterator[SealedRecord], known: int = 0) -> None:
        """Copies records. Full groups become segments. REQUIRES: the records are in order, checked, and begin with the
        first of a group. Up to the number `known` the target has exactly these records."""
        slots = set((await list_journal(self._target, journal)).slots)
        group: list[SealedRecord] = []
        async for sealed in records:
            group.append(sealed)
            self.totals.records += 1
            number = sealed.record.number
            if (number + 1) % GROUP == 0:
                first = group[0].record.number
                packed = Segment(number // GROUP, first, tuple(each.data for each in group))
                await self._put(segment_path(journal, packed.group), segments.encode(packed))
                for old in slots.intersection(range(first, number + 1)):
                    await self._target.delete(slot_path(journal, old))
                group = []
        for sealed in group:
            if sealed.record.number <= known and sealed.record.number in slots:
                self.totals.kept += 1
                continue
            await self._put(slot_path(journal, sealed.record.number), sealed.data)
            fp("copy.record")


def _sizes(paths: pa.Array, files: ListedFiles) -> pa.Array:
    """Returns the sizes of the paths, or null for a file that does not exist."""
    at = pc.index_in(paths, value_set=files.table["path"].combine_chunks())
    return files.table["size"].combine_chunks().take(at)
