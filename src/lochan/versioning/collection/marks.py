"""The files that are alive: those that roots name, and those that their trees and runs name in turn.

A range that several trees share is read once. Bytes that have an alias are alive where the alias leads, and no longer
where they were (G7): a pack is alive while a live span in it has no alias. The functions over tables are pure, and the
same for both engines: the embedded one reads here, tasks of Spark read in their own processes."""

import re
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing, suppress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from lochan.concurrency import map_ahead
from lochan.errors import LochanError
from lochan.formats.collection_events import AliasNames
from lochan.formats.metarange import TreeRef, with_bases
from lochan.formats.range import RangeRef
from lochan.versioning.bodies.aliases import SPAN_SCHEMA, resolve, spans_of, table_of_spans
from lochan.versioning.collection.journal_names import NOT_READ, JournalNames
from lochan.versioning.collection.mark_set import MarkSet, Mask
from lochan.versioning.collection.progress import SILENT, StageProgress
from lochan.versioning.collection.reasons import ExpiredNames, folders_of
from lochan.versioning.collection.roots import Roots
from lochan.versioning.open_repository import OpenRepository

READ = "reads metadata"  # a stage
_WIDTH = 8
_JOB_FOLDER = re.compile(r"data/(\d{20})-")
_TOGETHER = 500_000  # spans that are compared with the aliases at once


class CollectionLook(NamedTuple):
    """The names in a state, and the files that are candidates."""

    repository: str
    cut: int  # files that were minted before it are candidates
    marked: int  # the number of the state
    roots: Roots
    aliases: AliasNames
    expired: tuple[TreeRef, ...] = ()  # the trees of expired commits, which are used only for reasons
    journal: JournalNames = NOT_READ  # names in its newest records, which are used only for reasons
    until: int | None = None  # microseconds by the store's clock: files that were written later are no candidates

    @property
    def seed(self) -> int:
        """The seed of the hashes. Each plan has another one."""
        return self.marked

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders, below the repository, in which everything is held open."""
        prefix = f"{self.repository}/"
        return tuple(sorted(each.removeprefix(prefix) for each in self.roots.folders if each.startswith(prefix)))

    @property
    def held_mints(self) -> tuple[int, ...]:
        """The mint numbers of open jobs: these hold all files with their number, whatever their names begin with."""
        found = (_JOB_FOLDER.fullmatch(each) for each in self.folders)
        return tuple(int(each[1]) for each in found if each)

    def candidates(self, files: pa.Table) -> pa.Table:
        mask = pc.less(files["mint"], self.cut)
        if held := self.held_mints:
            mask = pc.and_(mask, pc.invert(pc.is_in(files["mint"], value_set=pa.array(held, files["mint"].type))))
        if self.until is not None:
            mask = pc.and_(mask, pc.less_equal(files["modified"], pa.scalar(self.until, pa.timestamp("us", "UTC"))))
        return files.filter(mask)


# --- pure functions over tables --------------------------------------------------------------------------------------
def block_spans(entries: pa.RecordBatch | pa.Table) -> pa.Table:
    """Returns the spans that these entries name, as a table of SPAN_SCHEMA."""
    blocks = entries.column("blocks")
    chunks = blocks.chunks if isinstance(blocks, pa.ChunkedArray) else [blocks]
    return pa.concat_tables([SPAN_SCHEMA.empty_table(), *(spans_of(pc.list_flatten(each)) for each in chunks)])


def live_files(spans: pa.Table, aliases: pa.Table, prefix: str) -> pa.Array:
    """Returns the distinct addresses below the prefix that hold the bytes of these spans."""
    found = resolve(spans, aliases)["address"] if len(aliases) else spans["address"]
    distinct = pc.unique(found)
    return distinct.filter(pc.starts_with(distinct, prefix))


def live_below(spans: pa.Table, aliases: pa.Table, repository: str) -> pa.Array:
    """Returns the same files, as paths below the repository."""
    prefix = f"{repository}/"
    return pc.utf8_slice_codeunits(live_files(spans, aliases, prefix), len(prefix))


def moved_files(aliases: pa.Table, repository: str) -> pa.Array:
    """Returns the files that aliases lead from, as paths below the repository."""
    prefix = f"{repository}/"
    addresses = pc.unique(aliases["address"])
    return pc.utf8_slice_codeunits(addresses.filter(pc.starts_with(addresses, prefix)), len(prefix))


def needed_aliases(spans: pa.Table, aliases: pa.Table) -> pa.Array:
    """Returns the distinct rows of the aliases that these spans need."""
    rows = pc.unique(resolve(spans, aliases)["alias"])
    return rows.filter(pc.greater_equal(rows, 0))


def folders_named(entries: pa.RecordBatch, repository: str) -> tuple[pa.Array, pl.Series]:
    """Returns the files that these entries name, and the folders of their logical paths."""
    addresses = pc.struct_field(pc.list_flatten(entries.column("blocks")), "address")
    owners = pc.list_parent_indices(entries.column("blocks"))
    prefix = f"{repository}/"
    mine = pc.starts_with(addresses, prefix)
    paths = pc.utf8_slice_codeunits(addresses.filter(mine), len(prefix))
    return paths, folders_of(entries.column("path").take(owners.filter(mine)))


def held_open(paths: pa.ChunkedArray, folders: Sequence[str]) -> Mask:
    """Returns which of the paths lie in one of the folders. REQUIRES: paths and folders ascend."""
    mask = np.zeros(len(paths), np.bool_)
    if not len(paths) or not folders:
        return mask
    first, last = paths[0].as_py(), paths[-1].as_py()
    for folder in folders:
        if folder <= last and (folder >= first or first.startswith(folder)):
            mask |= pc.starts_with(paths, folder).to_numpy(zero_copy_only=False)
    return mask


class LiveMarks(NamedTuple):
    """The marks of everything that is alive."""

    files: MarkSet
    folders: tuple[str, ...]

    def named(self, listed: pa.Table) -> Mask:
        """Returns which of these files are named, or held open. REQUIRES: paths ascend."""
        return self.files.has(listed["path"]) | held_open(listed["path"], self.folders)

    def dead(self, listed: pa.Table) -> pa.Table:
        return listed.filter(pa.array(~self.named(listed)))


# --- reading, on the embedded engine ---------------------------------------------------------------------------------
async def live_marks(repository: OpenRepository, look: CollectionLook, progress: StageProgress = SILENT) -> LiveMarks:
    """Marks everything that is alive. Raises Corrupt or Gone for a file that cannot be read; nothing may be deleted
    then."""
    marks = LiveMarks(MarkSet(look.seed), look.folders)
    async with aclosing(live_paths(repository, look, progress)) as found:
        async for paths in found:
            marks.files.add(paths)
    return marks


async def live_paths(
    repository: OpenRepository, look: CollectionLook, progress: StageProgress = SILENT
) -> AsyncGenerator[pa.Array, None]:
    """Yields the files that are named, as paths below the repository. Some of them occur more than once."""
    roots, seen = look.roots, set[str](look.roots.files)
    aliases = (await repository.places.load(look.aliases)).table
    spans = [table_of_spans(roots.blocks)]
    async with aclosing(entry_batches(repository, roots, seen, progress)) as batches:
        async for entries in batches:
            spans.append(block_spans(entries))
            if not len(aliases) or sum(map(len, spans)) > _TOGETHER:
                yield live_below(pa.concat_tables(spans).combine_chunks(), aliases, look.repository)
                spans = []
    yield live_below(pa.concat_tables([SPAN_SCHEMA.empty_table(), *spans]), aliases, look.repository)
    yield pa.array(sorted(seen), pa.string())


async def entry_batches(
    repository: OpenRepository, roots: Roots, seen: set[str], progress: StageProgress = SILENT
) -> AsyncGenerator[pa.RecordBatch, None]:
    """Yields the entries of the trees and runs that roots name. Every file that is opened is added to `seen`, and a
    range that is there already is not read. Raises Corrupt or Gone."""
    ranges = await _ranges(repository, roots.trees)
    fresh = [each for each in ranges.values() if each.file not in seen]
    seen.update(tree.file for tree in roots.trees)
    # The base of a patch is needed, but of its entries only those that the patch leaves are named.
    seen.update(each.file for each in with_bases(ranges.values()))
    total = len(fresh) + len(roots.runs)
    async with aclosing(map_ahead(repository.trees.ranges.load_all, fresh, _WIDTH)) as loaded:
        number = 0
        async for rows in loaded:
            number += 1
            progress.tell(READ, number, total)
            yield rows.batch
    for number, run in enumerate(roots.runs, len(fresh) + 1):
        seen.add(run.file)
        progress.tell(READ, number, total)
        yield (await repository.runs.open(run)).batch


async def needed_rows(repository: OpenRepository, look: CollectionLook) -> npt.NDArray[np.bool_]:
    """Returns for each alias of the state whether something that is alive needs it."""
    aliases = (await repository.places.load(look.aliases)).table
    needed, spans = np.zeros(len(aliases), bool), [table_of_spans(look.roots.blocks)]
    async with aclosing(entry_batches(repository, look.roots, set())) as batches:
        async for entries in batches:
            spans.append(block_spans(entries))
            if sum(map(len, spans)) > _TOGETHER:
                needed[np.asarray(needed_aliases(pa.concat_tables(spans).combine_chunks(), aliases))] = True
                spans = [SPAN_SCHEMA.empty_table()]
    needed[np.asarray(needed_aliases(pa.concat_tables(spans).combine_chunks(), aliases))] = True
    return needed


async def expired_names(repository: OpenRepository, look: CollectionLook) -> ExpiredNames:
    """Returns what the trees of expired commits name, as far as they can still be read."""
    names = ExpiredNames(look.seed)
    if not look.expired:
        return names
    ranges = await _ranges(repository, look.roots.trees)
    alive = {each.file for each in with_bases(ranges.values())}
    seen: set[str] = set()
    for tree in look.expired:
        with suppress(LochanError):  # it was collected before
            opened = await repository.trees.open(tree)
            own = [each for each in opened.ranges if each.file not in ranges and each.file not in seen]
            gone = [each.file for each in with_bases(own) if each.file not in alive]
            names.add(pa.array([tree.file, *gone], pa.string()))
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
