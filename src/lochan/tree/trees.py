"""The trees of one repository: opened, built anew, or made from another by changes. All files are written before the
tree that names them is returned; nothing is ever changed or re-used by name."""

import os
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import aclosing
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Corrupt, Invalid
from lochan.formats import metarange
from lochan.formats.entry import ENTRY_SCHEMA, RUN_SCHEMA
from lochan.formats.entry_table import as_batch, canonical
from lochan.formats.metarange import EMPTY, TreeRef
from lochan.formats.range import RangeRef
from lochan.store.protocol import Store
from lochan.store.threads import Threads
from lochan.tree.ahead import ahead
from lochan.tree.assemble import Assembler
from lochan.tree.cache import ArrowCache
from lochan.tree.cut import STANDARD, Cut
from lochan.tree.held import Held
from lochan.tree.ranges import Ranges, Seen
from lochan.tree.rows import by_range, with_changes
from lochan.tree.tree import Tree

_OPENED_RANGES_MAX = 100_000  # of all trees that are held open; about 60 MB
_PIECE = 1 << 17  # rows handled as one piece, 40 MB: of a million, not even a copy is made at once


class Trees:
    """`prefix` is the repository's folder in the store. `mint`, wherever it is asked for, is the journal number that
    the caller had folded before it began (rule G1). `width` ranges are under way at once; 1 keeps everything in order,
    as a simulator wants it."""

    def __init__(
        self,
        store: Store,
        prefix: str,
        *,
        cache: ArrowCache | None = None,
        threads: Threads | None = None,
        cut: Cut = STANDARD,
        width: int | None = None,
        seen: Seen | None = None,
    ) -> None:
        self._store = store
        self._prefix = prefix
        self.threads = threads or Threads()
        self.width = width or min(8, 2 * (os.cpu_count() or 1))
        self._opened: Held[Tree] = Held(_OPENED_RANGES_MAX)
        self.cut = cut
        self.ranges = Ranges(store, prefix, cache, self.threads, seen)

    async def open(self, ref: TreeRef) -> Tree:
        if not ref.file:
            return self._tree(ref, ())
        return self._opened.get(ref.file) or self._hold(self._tree(ref, await self._read(ref)))

    async def build(self, table: pa.Table, mint: int) -> Tree:
        """Of entries (ENTRY_SCHEMA) in any order, no path twice."""
        table = _checked(table, ENTRY_SCHEMA)
        if not _ascends(table["path"]):
            table = _sorted(table)
        with self.assembler(mint, ()) as assembler:
            await self._add_table(assembler, table)
            return await self.finish(assembler, mint, ())

    async def apply(self, base: Tree, changes: pa.Table, mint: int) -> Tree:
        """`base` with changes (RUN_SCHEMA, in path order, no path twice). Ranges without a change are shared. An entry
        whose content is there already is no change: it stays as it was, address and all. Returns `base` itself if
        nothing changes."""
        return (await self._changed(base, changes, mint, restate=False))[0]

    async def overlay(self, base: Tree, changes: pa.Table, mint: int) -> tuple[Tree, int]:
        """As `apply`, for a reader of what is staged: an entry whose content is there already has the address and the
        time that the change says. Returns how many of these there were too; if none, `apply` makes the same tree."""
        return await self._changed(base, changes, mint, restate=True)

    async def _changed(self, base: Tree, changes: pa.Table, mint: int, *, restate: bool) -> tuple[Tree, int]:
        changes = _checked(changes, RUN_SCHEMA)
        if not _ascends(changes["path"]):
            raise Invalid("changes must be in path order, and none twice")
        parts = by_range(changes["path"], base.ranges)
        slices = [(ref, changes.slice(low, high - low)) for ref, low, high in parts]
        touched = {ref.file for ref, _, _ in parts}
        rest = changes.slice(parts[-1][2] if parts else 0)  # what lies behind the last range
        restated = 0

        async def edited(part: tuple[RangeRef, pa.Table]) -> pa.RecordBatch | None:
            nonlocal restated
            rows = await self.ranges.load_all(part[0])
            made = await self.threads.run(partial(with_changes, restate=restate), rows.batch, as_batch(part[1]))
            restated += made.restated
            return made.rows

        bases = () if restate else (base,)  # one of equal content would bring back the old addresses
        async with aclosing(ahead(edited, slices, self.width)) as rows:
            return await self._assembled(base, touched, rows, rest, mint, bases), restated

    # --- for merge ---
    def assembler(self, mint: int, bases: Sequence[Tree]) -> Assembler:
        """Where the rows of a new range turn out to be those of a range of `bases`, that one is taken."""
        known = {ref.id: ref for base in reversed(bases) for ref in base.ranges}

        def write(batch: pa.RecordBatch) -> Awaitable[RangeRef]:
            return self.ranges.write(batch, mint, known)

        return Assembler(self.cut, self.ranges.load_all, write, self.threads, self.width)

    async def finish(self, assembler: Assembler, mint: int, bases: Sequence[Tree]) -> Tree:
        """The tree, or the first of `bases` that it is equal to."""
        ranges = await assembler.finish()
        id = metarange.tree_id(ranges)
        for base in bases:
            if base.ref.id == id:
                return base
        if not ranges:
            return self._tree(EMPTY, ())
        encoded = await self.threads.run(metarange.encode, ranges, mint)
        await self._store.put(f"{self._prefix}/{encoded.ref.file}", encoded.data)
        return self._hold(self._tree(encoded.ref, ranges))

    async def _assembled(
        self,
        base: Tree,
        touched: set[str],
        edited: AsyncIterator[pa.RecordBatch | None],
        rest: pa.Table,
        mint: int,
        bases: Sequence[Tree],
    ) -> Tree:
        with self.assembler(mint, bases) as assembler:
            for ref in base.ranges:
                rows = await anext(edited) if ref.file in touched else None
                if rows is None:
                    await assembler.add_range(ref)
                else:
                    await assembler.add_rows(rows)
            await self._add_table(assembler, rest)
            return await self.finish(assembler, mint, bases)

    async def _add_table(self, assembler: Assembler, table: pa.Table) -> None:
        for start in range(0, len(table), _PIECE):
            await assembler.add_rows(as_batch(_entries(table.slice(start, _PIECE))))

    async def _read(self, ref: TreeRef) -> tuple[RangeRef, ...]:
        path = f"{self._prefix}/{ref.file}"
        what = f"metarange {path} in {self._store.url}"
        try:
            return await self.threads.run(metarange.decode, await self._store.get(path), ref, what)
        except Corrupt:  # the damage may have come on the way
            return await self.threads.run(metarange.decode, await self._store.get(path), ref, what)

    def _tree(self, ref: TreeRef, ranges: tuple[RangeRef, ...]) -> Tree:
        return Tree(ref, ranges, self.ranges, self.width)

    def _hold(self, tree: Tree) -> Tree:
        return self._opened.hold(tree.ref.file, tree, len(tree.ranges))


def _checked(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The same rows with the columns as they are stored. Raises Invalid for others."""
    if not table.schema.equals(schema):
        try:
            table = table.select(schema.names).cast(schema)
        except (KeyError, ValueError, pa.ArrowException) as error:
            raise Invalid(f"these are not the columns of entries: {error}") from error
    if any(column.null_count for column in table.columns):
        raise Invalid("entries have no nulls")
    return pa.Table.from_batches([canonical(batch) for batch in table.to_batches()], schema)


def _entries(rows: pa.Table) -> pa.Table:
    """Without tombstones, if these are changes."""
    if "deleted" in rows.column_names and pc.any(rows["deleted"]).as_py():
        rows = rows.filter(pc.invert(rows["deleted"]))
    return rows.select(ENTRY_SCHEMA.names)


def _ascends(paths: pa.ChunkedArray) -> bool:
    count = len(paths) - 1
    return count < 1 or bool(pc.all(pc.less(paths.slice(0, count), paths.slice(1))).as_py())


def _sorted(table: pa.Table) -> pa.Table:
    import polars as pl

    table = table.take(pa.array(pl.Series(table["path"]).arg_sort().to_numpy()))
    if not _ascends(table["path"]):
        raise Invalid("a path is there twice")
    return table
