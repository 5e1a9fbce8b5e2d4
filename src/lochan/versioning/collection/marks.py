"""The files that are alive: those that roots name, and those that their trees and runs name in turn.

A range that several trees share is read once. Marks are only ever added: a file that was alive at an earlier look stays
marked, so that a plan errs on keeping.
"""

from collections.abc import Iterable, Mapping
from contextlib import aclosing

import pyarrow as pa
import pyarrow.compute as pc

from lochan.concurrency import map_ahead
from lochan.formats.metarange import TreeRef
from lochan.formats.range import RangeRef
from lochan.formats.run import RunRef
from lochan.versioning.collection.roots import Roots
from lochan.versioning.open_repository import OpenRepository

_WIDTH = 8


class LiveMarks:
    def __init__(self, repository: OpenRepository) -> None:
        self._repository = repository
        self._files: set[str] = set()  # of trees and runs, below the repository
        self._addresses: list[pa.Array] = []  # of bytes
        self._folders: set[str] = set()

    async def add(self, roots: Roots) -> None:
        """Raises Corrupt or NotFound for a file that cannot be read: then nothing may be deleted."""
        self.add_known(roots)
        await self._add_trees(roots.trees)
        await self._add_runs(roots.runs)

    def add_known(self, roots: Roots) -> None:
        """What needs no reading."""
        if roots.addresses:
            self._addresses.append(pa.array(sorted(roots.addresses), pa.string()))
        self._folders |= roots.folders

    async def _add_trees(self, refs: Iterable[TreeRef]) -> None:
        trees = self._repository.trees
        ranges: dict[str, RangeRef] = {}
        async with aclosing(map_ahead(trees.open, refs, _WIDTH)) as opened:
            async for tree in opened:
                self._files.add(tree.ref.file)
                ranges |= {each.file: each for each in tree.ranges if each.file not in self._files}
        self._files |= ranges.keys()
        async with aclosing(map_ahead(trees.ranges.load_all, ranges.values(), _WIDTH)) as loaded:
            async for rows in loaded:
                self._add_batch(rows.batch)

    async def _add_runs(self, runs: Iterable[RunRef]) -> None:
        for run in runs:
            self._files.add(run.file)
            self._add_batch((await self._repository.runs.open(run)).batch)

    def _add_batch(self, entries: pa.RecordBatch) -> None:
        found = pc.unique(pc.struct_field(pc.list_flatten(entries.column("blocks")), "address"))
        mine = found.filter(pc.starts_with(found, f"{self._repository.repository.id}/"))
        if len(mine):
            self._addresses.append(mine)

    def dead(self, files: pa.Table, aliases: Mapping[str, str]) -> pa.Table:
        """Of these files (`path` below the repository), those that nothing names."""
        prefix = f"{self._repository.repository.id}/"
        paths = files["path"].combine_chunks()
        live = pa.chunked_array([pa.array(sorted(self._files), pa.string()), *self._below(prefix, aliases)])
        named = pc.is_in(paths, value_set=live)
        for folder in self._folders:
            if folder.startswith(prefix):
                named = pc.or_(named, pc.starts_with(paths, folder.removeprefix(prefix)))
        return files.filter(pc.invert(named))

    def _below(self, prefix: str, aliases: Mapping[str, str]) -> list[pa.Array]:
        """Addresses as paths below the repository. What has an alias is read there, and no longer where it was (G7)."""
        found = self._addresses
        if aliases:
            replaced = pa.array(list(aliases), pa.string())
            named = [each.filter(pc.is_in(each, value_set=replaced)) for each in found]
            targets = sorted({aliases[address] for each in named for address in each.to_pylist()})
            kept = [each.filter(pc.invert(pc.is_in(each, value_set=replaced))) for each in found]
            found = [*kept, pa.array(targets, pa.string())]
        return [pc.utf8_slice_codeunits(each, len(prefix)) for each in found]
