"""The trees of one repository: opened, built, or made from another tree by changes. All files are written before the
tree that names them is returned. No file is ever changed, or reused because of its name."""

import os
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lochan.bounded_cache import BoundedCache
from lochan.concurrency import both
from lochan.errors import Invalid
from lochan.formats import metarange
from lochan.formats.entry import ENTRY_SCHEMA, RUN_SCHEMA, Entry
from lochan.formats.entry_table import EntryRows, as_batch, canonical
from lochan.formats.metarange import EMPTY, TreeRef
from lochan.formats.range import RangeRef
from lochan.formats.run import changes_table
from lochan.store.checked_reads import get_checked, is_named
from lochan.store.protocol import Store
from lochan.store.threads import Threads, for_tables
from lochan.tree import patches as range_patches
from lochan.tree.append import append_to_range
from lochan.tree.assemble import STANDARD, Assembler, RangeCut
from lochan.tree.cache import ArrowCache
from lochan.tree.edit import Edit, Patcher
from lochan.tree.patches import PatchLimits
from lochan.tree.ranges import Ranges, Seen
from lochan.tree.rows import Stretch
from lochan.tree.tree import Tree

Changes: TypeAlias = pa.Table | AsyncIterable[pa.Table]  # one table, or many that follow each other in path order

_OPENED_RANGES_MAX = 100_000  # ranges of all open trees; about 60 MB
_PIECE = 1 << 16  # rows of one piece, 20 MB: a million rows are never copied at once


class Trees:
    """Opens and makes the trees of a repository. `prefix` is its folder in the store. `mint` is always the journal
    number that the caller had folded before it began (rule G1). `width` ranges are processed in parallel; 1 keeps
    everything in order, as a simulator needs it. `listed`, `held` and `held_patches` keep the parts that were read, for
    others too, by the path in the store. `patches` limits which ranges are stored as patches; by default, a cut that
    makes small ranges has none."""

    def __init__(
        self,
        store: Store,
        prefix: str,
        *,
        cache: ArrowCache | None = None,
        threads: Threads | None = None,
        cut: RangeCut = STANDARD,
        width: int | None = None,
        seen: Seen | None = None,
        listed: BoundedCache[str, tuple[RangeRef, ...]] | None = None,
        held: BoundedCache[str, EntryRows] | None = None,
        held_patches: BoundedCache[str, pa.RecordBatch] | None = None,
        patches: PatchLimits | None = None,
    ) -> None:
        self._store = store
        self._prefix = prefix
        self.threads = threads or for_tables()
        self.width = width or min(8, 2 * (os.cpu_count() or 1))
        self._opened: BoundedCache[str, Tree] = BoundedCache(_OPENED_RANGES_MAX)
        self.cut = cut
        self.patches = patches or _limits(cut)
        self._listed = listed
        self.ranges = Ranges(store, prefix, cache, self.threads, seen, held, held_patches)

    async def open(self, ref: TreeRef) -> Tree:
        if not ref.file:
            return self._tree(ref, ())
        return self._opened.get(ref.file) or self._hold(self._tree(ref, await self._ranges_of(ref)))

    async def build(self, table: pa.Table, mint: int) -> Tree:
        """Builds a tree of entries (ENTRY_SCHEMA) in any order, no path twice."""
        table = _check(table, ENTRY_SCHEMA)
        if not _ascends(table["path"]):
            table = _sort(table)
        with self.assembler(mint, ()) as assembler:
            for piece in _pieces(table):
                await assembler.add_rows(Stretch(as_batch(piece)))
            return await self.finish(assembler, mint, ())

    async def apply(self, base: Tree, changes: Changes, mint: int) -> Tree:
        """Returns `base` with changes (RUN_SCHEMA, in path order, no path twice). Ranges without a change are shared.
        An entry whose content is there already is no change: it stays as it was, with its address. Returns `base`
        itself if nothing changes. Changes that come as several tables are never held all at once."""
        return (await self._changed(base, changes, mint, restate=False))[0]

    async def append(self, base: Tree, entries: Sequence[Entry], mint: int) -> Tree:
        """Returns the same as `apply` with these entries. It is faster if they are a few data objects behind all others
        of a tree whose last range is in memory."""
        last = base.ranges[-1] if base.ranges else None
        rows = None if last is None else self.ranges.at_hand(last)
        made = None
        if last is None or rows is not None:
            made = append_to_range(last, rows, entries, mint, self.cut)
        if made is None:
            return await self.apply(base, changes_table(entries), mint)
        ranges = (*base.ranges[: -1 if base.ranges else 0], made.ref)
        encoded = metarange.encode(ranges, mint)
        putting = self._store.put(f"{self._prefix}/{encoded.ref.file}", encoded.data)
        await both(putting, self.ranges.write_named(made.entries, made.ref))
        return self._hold(self._tree(encoded.ref, ranges))

    async def insert(self, base: Tree, ranges: Sequence[RangeRef], mint: int) -> Tree:
        """Returns `base` with ranges that are on the store already, cut as if nothing were before or after them.
        REQUIRES: they follow each other in path order, and no range of `base` overlaps them. At their ends, ranges of
        both are opened until the cuts are where the tree has them."""
        before = [ref for ref in base.ranges if ref.max_path.encode() < ranges[0].min_path.encode()]
        behind = base.ranges[len(before) :]
        with self.assembler(mint, (base,)) as assembler:
            for ref in (*before, *ranges, *behind):
                await assembler.add_range(ref)
            return await self.finish(assembler, mint, (base,))

    async def overlay(self, base: Tree, changes: Changes, mint: int) -> tuple[Tree, int]:
        """Returns a tree like `apply`, for readers of staged changes: an entry whose content is there already gets the
        address and the time of the change. Also returns how many of these there were; if none, `apply` makes the same
        tree."""
        return await self._changed(base, changes, mint, restate=True)

    async def _changed(self, base: Tree, changes: Changes, mint: int, *, restate: bool) -> tuple[Tree, int]:
        bases = () if restate else (base,)  # a base range of equal content would bring back the old addresses
        with self.assembler(mint, bases) as assembler:
            edit = Edit(
                base.ranges,
                assembler,
                self.ranges.load_all,
                self.threads,
                self.width,
                restate=restate,
                patcher=self.patcher(mint, bases),
            )
            async with aclosing(_in_order(changes)) as pieces:
                async for piece in pieces:
                    await edit.add(piece)
            await edit.finish()
            return await self.finish(assembler, mint, bases), edit.restated

    # --- for merge ---
    @contextmanager
    def assembler(self, mint: int, bases: Sequence[Tree]) -> Iterator[Assembler]:
        """Yields an assembler. If the rows of a new range are those of a range of `bases`, that range is used."""
        known = _known_ranges(bases)

        def name(entries: pa.Table) -> Awaitable[RangeRef]:
            return self.ranges.name(entries, mint, known)

        def write(entries: pa.Table, named: Awaitable[RangeRef]) -> Awaitable[None]:
            return self.ranges.write(entries, named, known)

        assembler = Assembler(self.cut, self.ranges.load_all, name, write, self.threads, self.width)
        with self.ranges.alone(), assembler:
            yield assembler

    def patcher(self, mint: int, bases: Sequence[Tree]) -> Patcher | None:
        if self.patches is range_patches.NEVER:
            return None
        return Patcher(self.ranges, self.cut, mint, _known_ranges(bases), self.patches)

    async def finish(self, assembler: Assembler, mint: int, bases: Sequence[Tree]) -> Tree:
        """Returns the tree, or the first of `bases` that is equal to it. Its own file, which is not read yet, is
        written in parallel with the last ranges, because their names are known before their bytes."""
        ranges = await assembler.finish()
        id = metarange.tree_id(ranges)
        for base in bases:
            if base.ref.id == id:
                return base
        if not ranges:
            return self._tree(EMPTY, ())
        encoded = await self.threads.run(metarange.encode, ranges, mint)
        putting = self._store.put(f"{self._prefix}/{encoded.ref.file}", encoded.data)
        await both(assembler.written(), putting)
        return self._hold(self._tree(encoded.ref, ranges))

    async def _ranges_of(self, ref: TreeRef) -> tuple[RangeRef, ...]:
        if self._listed is None:
            return await self._read(ref)
        path = f"{self._prefix}/{ref.file}"
        found = self._listed.get(path)
        if found is None:
            found = await self._read(ref)
            self._listed.put(path, found, len(found))
        return found

    async def _read(self, ref: TreeRef) -> tuple[RangeRef, ...]:
        path = f"{self._prefix}/{ref.file}"
        what = f"metarange {path} in {self._store.url}"

        async def decode(data: bytes) -> tuple[RangeRef, ...]:
            return await self.threads.run(metarange.decode, data, ref, what)

        with is_named(what):
            return await get_checked(self._store, path, decode)

    def _tree(self, ref: TreeRef, ranges: tuple[RangeRef, ...]) -> Tree:
        return Tree(ref, ranges, self.ranges, self.width)

    def _hold(self, tree: Tree) -> Tree:
        return self._opened.put(tree.ref.file, tree, len(tree.ranges))


def _limits(cut: RangeCut) -> PatchLimits:
    found = range_patches.STANDARD
    return found if cut.least >= found.rows_min else range_patches.NEVER


def _known_ranges(bases: Sequence[Tree]) -> dict[str, RangeRef]:
    return {ref.id: ref for base in reversed(bases) for ref in base.ranges}


def _check(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Returns the same rows with the columns as they are stored. Raises Invalid for other columns."""
    if not table.schema.equals(schema):
        try:
            table = table.select(schema.names).cast(schema)
        except (KeyError, ValueError, pa.ArrowException) as error:
            raise Invalid(f"these are not the columns of entries: {error}") from error
    if any(column.null_count for column in table.columns):
        raise Invalid("entries have no nulls")
    return pa.Table.from_batches([canonical(batch) for batch in table.to_batches()], schema)


async def _in_order(changes: Changes) -> AsyncGenerator[pa.Table, None]:
    """Yields the changes in pieces, none empty. Raises Invalid if they are not in order."""
    last = None
    async for table in _each(changes):
        table = _check(table, RUN_SCHEMA)
        paths = table["path"]
        if not _ascends(paths) or (last is not None and len(paths) and paths[0].as_py() <= last):
            raise Invalid("changes must be in path order, and none twice")
        last = paths[-1].as_py() if len(paths) else last
        for piece in _pieces(table):
            yield piece


async def _each(changes: Changes) -> AsyncIterator[pa.Table]:
    if isinstance(changes, pa.Table):
        yield changes
        return
    async for table in changes:
        yield table


def _pieces(table: pa.Table) -> Iterator[pa.Table]:
    for start in range(0, len(table), _PIECE):
        yield table.slice(start, _PIECE)


def _ascends(paths: pa.ChunkedArray) -> bool:
    count = len(paths) - 1
    return count < 1 or bool(pc.all(pc.less(paths.slice(0, count), paths.slice(1))).as_py())


def _sort(table: pa.Table) -> pa.Table:
    import polars as pl

    table = table.take(pa.array(pl.Series(table["path"]).arg_sort().to_numpy()))
    if not _ascends(table["path"]):
        raise Invalid("a path is there twice")
    return table
