"""The files that are alive: those that roots name, and those that their trees and runs name in turn.

A range that several trees share is read once. The functions over tables of entries are the same for both engines: the
embedded one reads here, tasks of Spark read in their own processes.
"""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from lochan.concurrency import map_ahead
from lochan.errors import LochanError
from lochan.formats.metarange import TreeRef
from lochan.formats.range import RangeRef
from lochan.versioning.collection.mark_set import MarkSet, Mask
from lochan.versioning.collection.reasons import ExpiredNames, folders_of
from lochan.versioning.collection.roots import Roots
from lochan.versioning.open_repository import OpenRepository

_WIDTH = 8


class CollectionLook(NamedTuple):
    """What a state names, and which files are candidates."""

    repository: str
    cut: int  # files that were minted before it are candidates
    marked: int  # the number of the state
    roots: Roots
    aliases: Mapping[str, str]
    expired: tuple[TreeRef, ...] = ()  # the trees of expired commits, which only tell reasons
    until: int | None = None  # microseconds by the store's clock: what was written later is no candidate

    @property
    def seed(self) -> int:
        """Of hashes: another for each plan."""
        return self.marked

    @property
    def folders(self) -> tuple[str, ...]:
        """Below the repository: everything in them is held open."""
        prefix = f"{self.repository}/"
        return tuple(sorted(each.removeprefix(prefix) for each in self.roots.folders if each.startswith(prefix)))

    def candidates(self, files: pa.Table) -> pa.Table:
        mask = pc.less(files["mint"], self.cut)
        if self.until is not None:
            mask = pc.and_(mask, pc.less_equal(files["modified"], pa.scalar(self.until, pa.timestamp("us", "UTC"))))
        return files.filter(mask)


# --- pure functions over tables of entries ---------------------------------------------------------------------------
def files_named(entries: pa.RecordBatch, repository: str, aliases: Mapping[str, str]) -> pa.Array:
    """The files of the repository that hold bytes of these entries, as paths below it, each once."""
    return files_of(pc.unique(_addresses(entries)), repository, aliases)


def files_of(addresses: pa.Array, repository: str, aliases: Mapping[str, str]) -> pa.Array:
    """What has an alias is read there, and no longer where it was (G7)."""
    if aliases:
        replaced = pc.is_in(addresses, value_set=pa.array(list(aliases), pa.string()))
        targets = {aliases[address] for address in addresses.filter(replaced).to_pylist()}
        addresses = pa.concat_arrays([addresses.filter(pc.invert(replaced)), pa.array(sorted(targets), pa.string())])
    prefix = f"{repository}/"
    mine = addresses.filter(pc.starts_with(addresses, prefix))
    return pc.utf8_slice_codeunits(mine, len(prefix))


def folders_named(entries: pa.RecordBatch, repository: str) -> tuple[pa.Array, pl.Series]:
    """The same files, and the folders of the logical paths that name them."""
    addresses = _addresses(entries)
    owners = pc.list_parent_indices(entries.column("blocks"))
    prefix = f"{repository}/"
    mine = pc.starts_with(addresses, prefix)
    paths = pc.utf8_slice_codeunits(addresses.filter(mine), len(prefix))
    return paths, folders_of(entries.column("path").take(owners.filter(mine)))


def _addresses(entries: pa.RecordBatch) -> pa.Array:
    return pc.struct_field(pc.list_flatten(entries.column("blocks")), "address")


def held_open(paths: pa.ChunkedArray, folders: Sequence[str]) -> Mask:
    """Which of the paths, which ascend, lie in one of the folders, which ascend too."""
    mask = np.zeros(len(paths), np.bool_)
    if not len(paths) or not folders:
        return mask
    first, last = paths[0].as_py(), paths[-1].as_py()
    for folder in folders:
        if folder <= last and (folder >= first or first.startswith(folder)):
            mask |= pc.starts_with(paths, folder).to_numpy(zero_copy_only=False)
    return mask


class LiveMarks(NamedTuple):
    """What is alive."""

    files: MarkSet
    folders: tuple[str, ...]

    def named(self, listed: pa.Table) -> Mask:
        """Which of these files are named, or held open. REQUIRES: paths ascend."""
        return self.files.has(listed["path"]) | held_open(listed["path"], self.folders)

    def dead(self, listed: pa.Table) -> pa.Table:
        return listed.filter(pa.array(~self.named(listed)))


# --- reading, on the embedded engine ---------------------------------------------------------------------------------
async def live_marks(repository: OpenRepository, look: CollectionLook) -> LiveMarks:
    """Raises Corrupt or Gone for a file that cannot be read: then nothing may be deleted."""
    marks = LiveMarks(MarkSet(look.seed), look.folders)
    async with aclosing(live_paths(repository, look)) as found:
        async for paths in found:
            marks.files.add(paths)
    return marks


async def live_paths(repository: OpenRepository, look: CollectionLook) -> AsyncGenerator[pa.Array, None]:
    """Files that are named, as paths below the repository; some of them more than once."""
    roots, id = look.roots, look.repository
    yield files_of(pa.array(sorted(roots.addresses), pa.string()), id, look.aliases)
    ranges = await _ranges(repository, roots.trees)
    yield pa.array([*(tree.file for tree in roots.trees), *ranges, *(run.file for run in roots.runs)], pa.string())
    async with aclosing(map_ahead(repository.trees.ranges.load_all, ranges.values(), _WIDTH)) as loaded:
        async for rows in loaded:
            yield files_named(rows.batch, id, look.aliases)
    for run in roots.runs:
        yield files_named((await repository.runs.open(run)).batch, id, look.aliases)


async def expired_names(repository: OpenRepository, look: CollectionLook) -> ExpiredNames:
    """What the trees of expired commits name, as far as they can still be read."""
    names = ExpiredNames(look.seed)
    if not look.expired:
        return names
    alive = await _ranges(repository, look.roots.trees)
    seen: set[str] = set()
    for tree in look.expired:
        with suppress(LochanError):  # it was collected before
            opened = await repository.trees.open(tree)
            own = [each for each in opened.ranges if each.file not in alive and each.file not in seen]
            names.add(pa.array([tree.file, *(each.file for each in own)], pa.string()))
            for each in own:
                seen.add(each.file)
                names.add(*folders_named((await repository.trees.ranges.load_all(each)).batch, look.repository))
    return names


async def _ranges(repository: OpenRepository, refs: Iterable[TreeRef]) -> dict[str, RangeRef]:
    ranges: dict[str, RangeRef] = {}
    async with aclosing(map_ahead(repository.trees.open, refs, _WIDTH)) as opened:
        async for tree in opened:
            ranges |= {each.file: each for each in tree.ranges}
    return ranges
