"""The files that are alive: those that roots name, and those that their trees and runs name in turn.

A range that several trees share is read once. Marks are only ever added: a file that was alive at an earlier look stays
marked, so that a plan errs on keeping.

What has an alias is alive where the alias leads, and no longer where it was (G7): a pack lives while a live span in it
has no alias. `live_files`, `needed_aliases` and `dead_files` decide this for tables alone, without reading anything.
"""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.concurrency import map_ahead
from lochan.formats.range import RangeRef
from lochan.versioning.bodies.aliases import NO_ALIASES, SPAN_SCHEMA, Aliases, resolve, spans_of, table_of_spans
from lochan.versioning.collection.roots import Roots
from lochan.versioning.open_repository import OpenRepository

_WIDTH = 8
_TOGETHER = 500_000  # spans that are compared with the aliases at once


def block_spans(entries: pa.RecordBatch | pa.Table) -> pa.Table:
    """SPAN_SCHEMA: the spans that these entries name."""
    blocks = entries.column("blocks")
    chunks = blocks.chunks if isinstance(blocks, pa.ChunkedArray) else [blocks]
    return pa.concat_tables([SPAN_SCHEMA.empty_table(), *(spans_of(pc.list_flatten(each)) for each in chunks)])


def live_files(spans: pa.Table, aliases: pa.Table, prefix: str) -> pa.Array:
    """The distinct addresses below the prefix that hold the bytes of these spans."""
    found = resolve(spans, aliases)["address"] if len(aliases) else spans["address"]
    distinct = pc.unique(found)
    return distinct.filter(pc.starts_with(distinct, prefix))


def needed_aliases(spans: pa.Table, aliases: pa.Table) -> pa.Array:
    """The distinct rows of the aliases by which these spans are found."""
    rows = pc.unique(resolve(spans, aliases)["alias"])
    return rows.filter(pc.greater_equal(rows, 0))


def dead_files(files: pa.Table, live: pa.Array | pa.ChunkedArray, folders: Iterable[str]) -> pa.Table:
    """Of these files, those whose path is not among the live ones, nor in a folder that is held open. All paths are
    below the repository."""
    paths = files["path"].combine_chunks()
    named = pc.is_in(paths, value_set=live)
    for folder in folders:
        named = pc.or_(named, pc.starts_with(paths, folder))
    return files.filter(pc.invert(named))


async def entry_batches(
    repository: OpenRepository, roots: Roots, seen: set[str]
) -> AsyncGenerator[pa.RecordBatch, None]:
    """The entries of the trees and runs that roots name. Every file that is opened is added to `seen`, and a range that
    is there already is not read. Raises Corrupt or NotFound."""
    trees = repository.trees
    ranges: dict[str, RangeRef] = {}
    async with aclosing(map_ahead(trees.open, roots.trees, _WIDTH)) as opened:
        async for tree in opened:
            seen.add(tree.ref.file)
            ranges |= {each.file: each for each in tree.ranges if each.file not in seen}
    seen.update(ranges)
    async with aclosing(map_ahead(trees.ranges.load_all, ranges.values(), _WIDTH)) as loaded:
        async for rows in loaded:
            yield rows.batch
    for run in roots.runs:
        seen.add(run.file)
        yield (await repository.runs.open(run)).batch


class LiveMarks:
    def __init__(self, repository: OpenRepository, aliases: Aliases = NO_ALIASES) -> None:
        self.aliases = aliases
        self._needed = np.zeros(len(aliases), bool)
        self._repository = repository
        self._prefix = f"{repository.repository.id}/"
        self._files: set[str] = set()  # of trees, runs and aliases, below the repository
        self._addresses: list[pa.Array] = []  # of bytes
        self._spans: list[pa.Table] = []  # that are not compared with the aliases yet
        self._folders: set[str] = set()

    async def add(self, roots: Roots) -> None:
        """Raises Corrupt or NotFound for a file that cannot be read: then nothing may be deleted."""
        self._add_known(roots)
        async with aclosing(entry_batches(self._repository, roots, self._files)) as batches:
            async for entries in batches:
                self._add_spans(block_spans(entries))

    def replace_aliases(self, aliases: Aliases) -> None:
        """Others have set them since. What was marked stays marked, and so is everything they lead to."""
        self._settle()
        self.aliases = aliases
        self._needed = np.ones(len(aliases), bool)
        targets = pc.unique(aliases.table["target"])
        self._addresses.append(targets.filter(pc.starts_with(targets, self._prefix)))

    def dead(self, files: pa.Table) -> pa.Table:
        """Of these files (`path` below the repository), those that nothing names."""
        self._settle()
        named = [pc.utf8_slice_codeunits(each, len(self._prefix)) for each in self._addresses]
        live = pa.chunked_array([pa.array(sorted(self._files), pa.string()), *named])
        mine = (each.removeprefix(self._prefix) for each in self._folders if each.startswith(self._prefix))
        return dead_files(files, live, mine)

    def needed_rows(self) -> npt.NDArray[np.bool_]:
        """For each alias, whether something that is alive is found by it."""
        self._settle()
        return self._needed

    def _add_known(self, roots: Roots) -> None:
        """What needs no reading."""
        if roots.blocks:
            self._add_spans(table_of_spans(roots.blocks))
        self._files |= roots.files
        self._folders |= roots.folders

    def _add_spans(self, spans: pa.Table) -> None:
        if not len(self.aliases):
            self._addresses.append(live_files(spans, self.aliases.table, self._prefix))
            return
        self._spans.append(spans)
        if sum(map(len, self._spans)) > _TOGETHER:
            self._settle()

    def _settle(self) -> None:
        if self._spans:
            spans, self._spans = pa.concat_tables(self._spans).combine_chunks(), []
            self._addresses.append(live_files(spans, self.aliases.table, self._prefix))
            self._needed[np.asarray(needed_aliases(spans, self.aliases.table))] = True
