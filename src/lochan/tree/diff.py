"""Differences between two trees, path by path. Ranges that both trees have are not opened, wherever the cuts are.

Two entries differ if their content does: neither address nor time is a difference.
"""

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.concurrency import map_ahead
from lochan.errors import Invalid
from lochan.formats.entry import ENTRY_SCHEMA, Entry
from lochan.formats.entry_table import entries_of
from lochan.formats.range import IDENTITY, RangeRef
from lochan.tree.align import Segment, common_base, ids, overlapping, segments, windows
from lochan.tree.patches import changed_paths, rows_of_sides
from lochan.tree.rows import Compared, Indices, PathSpan, compare, compare_rows, encode_path, inside, span
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees

ADDED, REMOVED, CHANGED = "added", "removed", "changed"
SIDE = pa.struct([field for field in ENTRY_SCHEMA if field.name != "path"])
_DEPTH_MAX = 100  # each level is a column of its own
DIFF_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("left", SIDE),  # null if the path was added
        pa.field("right", SIDE),  # null if the path was removed
    ]
)


class Difference(NamedTuple):
    path: str
    kind: str
    left: Entry | None
    right: Entry | None


@dataclass(slots=True)
class DiffCounts:
    """The number of paths, and the bytes of their entries on the right (added) and on the left (removed)."""

    added: int = 0
    removed: int = 0
    changed: int = 0
    bytes_added: int = 0
    bytes_removed: int = 0

    def add(self, more: "DiffCounts") -> None:
        self.added += more.added
        self.removed += more.removed
        self.changed += more.changed
        self.bytes_added += more.bytes_added
        self.bytes_removed += more.bytes_removed


async def diff(
    trees: Trees, left: Tree, right: Tree, prefix: str = "", after: str = ""
) -> AsyncGenerator[pa.Table, None]:
    """Yields tables of DIFF_SCHEMA, in path order. It is lazy, and no table is empty."""
    within = span(prefix, after)
    async with aclosing(_windows(trees, _differing(left, right, within), within)) as found:
        async for window in found:
            table = await trees.threads.run(_differences, window)
            if len(table):
                yield table


async def diff_sizes(trees: Trees, left: Tree, right: Tree, prefix: str = "") -> AsyncGenerator[pa.Table, None]:
    """Yields differences like `diff`, with the sizes of the entries alone: path, kind, left and right, null if there is
    no entry."""
    within = span(prefix)
    async with aclosing(_windows(trees, _differing(left, right, within), within, IDENTITY)) as found:
        async for window in found:
            table = await trees.threads.run(_size_differences, window)
            if len(table):
                yield table


async def count(trees: Trees, left: Tree, right: Tree, prefix: str = "") -> DiffCounts:
    """Counts the differences. Opens only ranges that overlap with others. For ranges that were added or removed as a
    whole, the metarange has the counts."""
    counts = DiffCounts()
    within = span(prefix)
    unsettled = []
    for one, other in _differing(left, right, within):
        if bool(one) != bool(other) and all(_lies_in(ref, within) for ref in (*one, *other)):
            gone, come = ([sum(ref.count for ref in side), sum(ref.bytes for ref in side)] for side in (one, other))
            counts.add(DiffCounts(come[0], gone[0], 0, come[1], gone[1]))
        else:
            unsettled.append((one, other))
    async for window in _windows(trees, unsettled, within, IDENTITY):
        counts.add(await trees.threads.run(_count, window))
    return counts


async def roll_up(
    trees: Trees, left: Tree, right: Tree, prefix: str, delimiter: str, depth: int = 1
) -> dict[str, DiffCounts]:
    """Returns the counts of each common prefix, up to and including the next delimiter (or the one at that depth), and
    of each path without one."""
    totals: dict[str, DiffCounts] = {}
    async for table in diff(trees, left, right, prefix):
        sizes = {side: pc.fill_null(pc.struct_field(table[side], "size"), 0) for side in ("left", "right")}
        found = pa.table({"path": table["path"], "kind": table["kind"], **sizes})
        for name, counts in roll_up_table(found, prefix, delimiter, depth).items():
            totals.setdefault(name, DiffCounts()).add(counts)
    return totals


def roll_up_table(table: pa.Table, prefix: str, delimiter: str, depth: int = 1) -> dict[str, DiffCounts]:
    """Returns the counts, like `roll_up`, for rows with path, kind, and the sizes on the left and on the right."""
    if not delimiter or not 1 <= depth <= _DEPTH_MAX:
        raise Invalid(f"a diff is rolled up by a delimiter, at a depth from 1 to {_DEPTH_MAX}")
    import polars as pl

    rest = pl.col("path").str.strip_prefix(prefix)
    parts = [rest.str.splitn(delimiter, depth + 1).struct.field(f"field_{number}") for number in range(depth + 1)]
    folder = pl.lit(prefix) + pl.concat_str(parts[:depth], separator=delimiter) + pl.lit(delimiter)
    frame = pl.DataFrame({name: table[name] for name in ("path", "kind", "left", "right")})
    groups = frame.group_by(
        pl.when(parts[depth].is_null()).then(pl.col("path")).otherwise(folder), maintain_order=True
    ).agg(
        *((pl.col("kind") == kind).sum().alias(kind) for kind in (ADDED, REMOVED, CHANGED)),
        pl.col("right").sum(),
        pl.col("left").sum(),
    )
    return {name: DiffCounts(*numbers) for name, *numbers in groups.iter_rows()}


def count_rows(table: pa.Table) -> DiffCounts:
    """Returns the counts of all such rows together."""
    added, removed, changed = (pc.sum(pc.equal(table["kind"], kind)).as_py() or 0 for kind in (ADDED, REMOVED, CHANGED))
    come, gone = (pc.sum(table[side]).as_py() or 0 for side in ("right", "left"))
    return DiffCounts(added, removed, changed, come, gone)


def differences_of(table: pa.Table) -> list[Difference]:
    """Returns a value for each row of DIFF_SCHEMA. It is for a page, not for many rows."""
    paths, kinds = table["path"].to_pylist(), table["kind"].to_pylist()
    left, right = (side_entries(table, side) for side in ("left", "right"))
    return [Difference(*row) for row in zip(paths, kinds, left, right, strict=True)]


def side_entries(table: pa.Table, side: str) -> list[Entry | None]:
    """Returns the entries in one of the struct columns, with the paths they are at."""
    there = pc.is_valid(table[side])
    rows = table.filter(there)
    columns = [rows["path"], *(pc.struct_field(rows[side], field.name) for field in SIDE)]
    entries = iter(entries_of(pa.table(columns, schema=ENTRY_SCHEMA)))
    return [next(entries) if valid else None for valid in there.to_pylist()]


def side_column(batch: pa.RecordBatch, rows: Indices) -> pa.StructArray:
    """Returns the entries of these rows as structs, null for row -1."""
    if not batch.num_rows:
        return pa.nulls(len(rows), SIDE)
    picked = batch.select([field.name for field in SIDE]).take(pa.array(np.maximum(rows, 0)))
    return pa.StructArray.from_arrays(picked.columns, fields=list(SIDE), mask=pa.array(rows < 0))


def _differing(left: Tree, right: Tree, within: PathSpan) -> Iterator[Segment]:
    for segment in segments(overlapping(left.ranges, within), overlapping(right.ranges, within)):
        if ids(segment[0]) != ids(segment[1]):
            yield segment


class _Window(NamedTuple):
    """A part of both trees."""

    left: pa.RecordBatch
    right: pa.RecordBatch
    rows: tuple[pa.StringArray, Indices, Indices] | None = None  # paths and their rows; None for all rows

    def compared(self) -> Compared:
        if self.rows is None:
            return compare(self.left, self.right)
        paths, lefts, rights = self.rows
        return compare_rows(paths, self.left, lefts, self.right, rights)


async def _windows(
    trees: Trees, differing: Iterable[Segment], within: PathSpan, names: Sequence[str] = ENTRY_SCHEMA.names
) -> AsyncGenerator[_Window, None]:
    """Yields the parts of both trees that may differ, with these columns at least."""
    for together, group in groupby(differing, common_base):
        both = list(group)
        if together:
            may_differ = partial(_rows_that_may_differ, trees, within, names)
            async with aclosing(map_ahead(may_differ, both, trees.width)) as pairs:
                async for pair in pairs:
                    yield pair
            continue
        sides = [[ref for segment in both for ref in segment[side]] for side in (0, 1)]
        async with aclosing(windows(trees.ranges.load_all, sides, trees.width)) as found:
            async for _, (one, other) in found:
                yield _Window(inside(one.rows, within), inside(other.rows, within))


async def _rows_that_may_differ(trees: Trees, within: PathSpan, names: Sequence[str], segment: Segment) -> _Window:
    """Returns the rows that may differ. Where both sides are patches of one range, only rows that a patch changes are
    compared."""
    parts = [await trees.ranges.parts(side[0]) for side in segment]
    paths = inside(pa.record_batch([changed_paths(*parts)], ["path"]), within).column(0)
    left, right = await trees.threads.run(rows_of_sides, parts, paths, names)
    return _Window(left.batch, right.batch, (paths, left.rows, right.rows))


def _lies_in(ref: RangeRef, within: PathSpan) -> bool:
    return within.low <= encode_path(ref.min_path) and encode_path(ref.max_path) < within.high


def _differences(window: _Window) -> pa.Table:
    found, left, right = window.compared(), window.left, window.right
    sides = side_column(left, found.left), side_column(right, found.right)
    return pa.table([found.paths, _kinds(found), *sides], schema=DIFF_SCHEMA)


def _kinds(found: Compared) -> pa.StringArray:
    kinds = pa.array([CHANGED, ADDED, REMOVED])  # made here, because Arrow's first array imports pandas
    return kinds.take(pa.array((found.left < 0) + 2 * (found.right < 0)))


def _size_differences(window: _Window) -> pa.Table:
    found = window.compared()
    sizes = [
        pa.array(batch.column("size").to_numpy()[np.maximum(rows, 0)] if batch.num_rows else rows, mask=rows < 0)
        for batch, rows in ((window.left, found.left), (window.right, found.right))
    ]
    return pa.table([found.paths, _kinds(found), *sizes], names=["path", "kind", "left", "right"])


def _count(window: _Window) -> DiffCounts:
    found = window.compared()
    added, removed = (int((rows < 0).sum()) for rows in (found.left, found.right))
    gone, come = (
        int(batch.column("size").to_numpy()[rows[rows >= 0]].sum())
        for batch, rows in ((window.left, found.left), (window.right, found.right))
    )
    return DiffCounts(added, removed, len(found.paths) - added - removed, come, gone)
