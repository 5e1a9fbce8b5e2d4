"""Three-way merge of trees, by path and content.

    base ─┬─ ours      the changes of theirs since base are applied to ours
          └─ theirs    if both changed a path differently, it is a conflict: a strategy decides, or the user

Whole ranges come first: if one side left a span as it was in base, the other side's ranges are used by reference, and
nothing is opened. Rows are compared only if both sides changed something in the same span."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.concurrency import both, map_ahead
from lochan.errors import Invalid
from lochan.formats.entry import Entry
from lochan.formats.entry_table import concat
from lochan.formats.range import RangeRef
from lochan.tree.align import AlignedPart, Segment, common_base, ids, overlapping, segments, windows
from lochan.tree.assemble import Assembler
from lochan.tree.diff import SIDE, side_column, side_entries
from lochan.tree.edit import Patcher
from lochan.tree.patches import PatchedRange, as_changes, changed_paths, rows_at
from lochan.tree.rows import (
    Indices,
    Mask,
    Stretch,
    compare,
    encode_path,
    inside,
    locate,
    part_of_range,
    same_pairs,
    span,
    splice_rows,
    take_rows,
)
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees

ASK, SOURCE, DEST, BASE = "default", "source-wins", "dest-wins", "base-wins"
_KNOWN = (ASK, SOURCE, DEST, BASE)
_HALVED_ROWS_MIN = 20_000  # mixing so many rows takes 4 ms, a second call takes 1
_LISTED = 1_000  # conflicts in the result of a merge; `conflicts` returns all
CONFLICT_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("base", SIDE),  # null if it does not exist
        pa.field("ours", SIDE),
        pa.field("theirs", SIDE),
    ]
)
_NO_CONFLICTS = pa.RecordBatch.from_arrays(
    [pa.nulls(0, field.type) for field in CONFLICT_SCHEMA], schema=CONFLICT_SCHEMA
)


@dataclass(frozen=True, slots=True)
class Strategy:
    """Decides the conflicts of a merge: by the longest of `prefixes` that matches a path, or else by `otherwise`.

    The source is theirs, the destination ours. With "default" the user decides, and with "base-wins" neither side's
    change is applied."""

    otherwise: str = ASK
    prefixes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in (self.otherwise, *self.prefixes.values()):
            if name not in _KNOWN:
                raise Invalid(f"{name!r} is not a merge strategy", hint=f"there are {', '.join(_KNOWN)}")

    def decide(self, paths: pa.StringArray) -> npt.NDArray[np.object_]:
        decided = np.full(len(paths), self.otherwise, dtype=object)
        for prefix in sorted(self.prefixes, key=len):
            decided[pc.starts_with(paths, prefix).to_numpy(zero_copy_only=False)] = self.prefixes[prefix]
        return decided


ASKING = Strategy()


class MergeResult(NamedTuple):
    tree: Tree | None  # None if there are conflicts
    conflicts: int
    first: pa.Table  # the first conflicts, CONFLICT_SCHEMA


class MergeConflict(NamedTuple):
    path: str
    base: Entry | None
    ours: Entry | None
    theirs: Entry | None


async def merge(
    trees: Trees, base: Tree, ours: Tree, theirs: Tree, *, mint: int, strategy: Strategy = ASKING
) -> MergeResult:
    """Merges the changes of `theirs` since `base` into `ours`. If both made the same change, our entry stays with its
    address."""
    settled = _take_one_side(base, ours, theirs)
    if settled is not None:
        return MergeResult(settled, 0, CONFLICT_SCHEMA.empty_table())
    conflicts: list[pa.Table] = []
    count = 0
    with trees.assembler(mint, (ours, theirs, base)) as assembler:
        patcher = trees.patcher(mint, (ours, theirs, base))
        async for step in _steps(trees, segments(base.ranges, ours.ranges, theirs.ranges), strategy, patcher):
            if isinstance(step, _Mixed) and step.conflicts.num_rows:
                if count < _LISTED:
                    conflicts.append(pa.Table.from_batches([step.conflicts]))
                count += step.conflicts.num_rows
            if not count:  # after the first conflict, conflicts are only counted and nothing is written
                await _add(assembler, step, patcher)
        if count:
            return MergeResult(None, count, pa.concat_tables(conflicts).slice(0, _LISTED))
        return MergeResult(await trees.finish(assembler, mint, (ours, theirs, base)), 0, CONFLICT_SCHEMA.empty_table())


async def conflicts(
    trees: Trees,
    base: Tree,
    ours: Tree,
    theirs: Tree,
    *,
    strategy: Strategy = ASKING,
    prefix: str = "",
    after: str = "",
) -> AsyncIterator[pa.Table]:
    """Yields tables of CONFLICT_SCHEMA, in path order. It is lazy, and no table is empty."""
    if _take_one_side(base, ours, theirs) is not None:
        return
    within = span(prefix, after)
    plan = segments(*(overlapping(tree.ranges, within) for tree in (base, ours, theirs)))
    async for step in _steps(trees, plan, strategy):
        if isinstance(step, _Mixed):
            table = pa.Table.from_batches([inside(step.conflicts, within)])
            if len(table):
                yield table


def conflicts_of(table: pa.Table) -> list[MergeConflict]:
    """Returns a value for each row of CONFLICT_SCHEMA. It is for a page, not for many rows."""
    sides = (side_entries(table, side) for side in ("base", "ours", "theirs"))
    return [MergeConflict(*row) for row in zip(table["path"].to_pylist(), *sides, strict=True)]


class _Mixed(NamedTuple):
    rows: list[Stretch]
    conflicts: pa.RecordBatch
    patched: PatchedRange | None = None  # takes the place of the rows


async def _steps(
    trees: Trees, plan: Iterable[Segment], strategy: Strategy, patcher: Patcher | None = None
) -> AsyncIterator[tuple[RangeRef, ...] | _Mixed]:
    """Yields in path order whole ranges to use, and rows where the ranges do not decide."""
    for together, group in groupby(plan, partial(_is_of_patches, patcher)):
        if not together:
            async with aclosing(_merge_windows(trees, list(group), strategy)) as steps:
                async for step in steps:
                    yield step
            continue
        assert patcher is not None
        clashes = list(group)
        mix = partial(_mixed_patches, trees, patcher, strategy)
        async with aclosing(map_ahead(mix, clashes, trees.width)) as mixed:
            for segment in clashes:
                found = await anext(mixed)
                if found is not None:
                    yield found
                    continue
                async with aclosing(_merge_windows(trees, [segment], strategy)) as steps:
                    async for step in steps:
                        yield step


def _is_of_patches(patcher: Patcher | None, segment: Segment) -> bool:
    return patcher is not None and _whole(segment) is None and common_base(segment)


async def _mixed_patches(
    trees: Trees, patcher: Patcher, strategy: Strategy, segment: Segment
) -> tuple[RangeRef, ...] | _Mixed | None:
    """Merges patches of one range, which differ only at the paths that they have. Returns None if the result has to be
    written as a whole."""
    parts = [await trees.ranges.parts(side[0]) for side in segment]
    paths = changed_paths(*parts)
    base, ours, theirs = [await trees.threads.run(rows_at, each, paths) for each in parts]
    decided = _decide(base, ours, theirs, strategy)
    changes = as_changes(ours.column("path").take(pa.array(decided.gone)), decided.new)
    if decided.conflicts.num_rows:
        return _Mixed([], decided.conflicts)
    if not changes.num_rows:
        return segment[1]
    made = await patcher.patched(segment[1][0], changes, restate=True)
    if isinstance(made, PatchedRange):
        return _Mixed([], decided.conflicts, made)
    return None if made is None else segment[1]


async def _merge_windows(
    trees: Trees, plan: Sequence[Segment], strategy: Strategy
) -> AsyncGenerator[tuple[RangeRef, ...] | _Mixed, None]:
    clashes = [segment for segment in plan if _whole(segment) is None]
    sides = [[ref for segment in clashes for ref in segment[side]] for side in range(3)]
    async with aclosing(windows(trees.ranges.load_all, sides, trees.width)) as rows:
        for segment in plan:
            whole = _whole(segment)
            if whole is not None:
                yield whole
                continue
            end = encode_path(max(ref.max_path for side in segment for ref in side))
            high = b""
            while high < end:
                high, parts = await anext(rows)
                for mixed in await _mix_parts(trees, parts, strategy):
                    yield mixed


async def _mix_parts(trees: Trees, parts: Sequence[AlignedPart], strategy: Strategy) -> Sequence[_Mixed]:
    """Merges a window, and returns the parts in path order. A large window is mixed as two halves in parallel, because
    nothing else can be done meanwhile."""

    def mix(base: AlignedPart, ours: AlignedPart, theirs: AlignedPart) -> Awaitable[_Mixed]:
        untested = trees.cut.untested(ours.start)
        return trees.threads.run(_mix, base.rows, ours.rows, theirs.rows, strategy, untested)

    ours = parts[1].rows
    if ours.num_rows < _HALVED_ROWS_MIN or trees.width == 1:
        return [await mix(*parts)]
    middle = ours.column("path")[ours.num_rows // 2].as_py().encode()
    halves = zip(*(part.cut(middle) for part in parts), strict=True)
    return await both(*(mix(*half) for half in halves))


async def _add(assembler: Assembler, step: tuple[RangeRef, ...] | _Mixed, patcher: Patcher | None) -> None:
    if isinstance(step, _Mixed) and step.patched is not None:
        assert patcher is not None
        await patcher.add(assembler, step.patched)
    elif isinstance(step, _Mixed):
        for rows in step.rows:
            await assembler.add_rows(rows)
    else:
        for ref in step:
            await assembler.add_range(ref)


def _take_one_side(base: Tree, ours: Tree, theirs: Tree) -> Tree | None:
    if theirs.ref.id in (base.ref.id, ours.ref.id):
        return ours
    return theirs if ours.ref.id == base.ref.id else None


def _whole(segment: Segment) -> tuple[RangeRef, ...] | None:
    """Returns the ranges of the result if it is clear without opening any, else None."""
    base, ours, theirs = segment
    if ids(theirs) in (ids(base), ids(ours)):
        return ours
    return theirs if ids(ours) == ids(base) else None


def _mix(
    base: pa.RecordBatch, ours: pa.RecordBatch, theirs: pa.RecordBatch, strategy: Strategy, untested: int
) -> _Mixed:
    decided = _decide(base, ours, theirs, strategy)
    if not len(decided.gone) and not decided.new.num_rows:
        return _Mixed([part_of_range(ours, untested)], decided.conflicts)
    return _Mixed(splice_rows(ours, decided.gone, decided.new, decided.before, untested), decided.conflicts)


class _Decided(NamedTuple):
    """The changes of our rows: some are removed, and new ones come in front of others."""

    conflicts: pa.RecordBatch
    gone: Indices
    new: pa.RecordBatch
    before: Indices


def _decide(base: pa.RecordBatch, ours: pa.RecordBatch, theirs: pa.RecordBatch, strategy: Strategy) -> _Decided:
    """Finds the row of each path that theirs changed in all three, -1 for none; then handles the cases."""
    paths, in_base, in_theirs = compare(base, theirs)
    at, found = locate(ours.column("path"), paths)
    in_ours = np.where(found, at, -1)
    alike = _are_same(ours, in_ours, theirs, in_theirs)
    untouched = _are_same(base, in_base, ours, in_ours)
    clash = ~alike & ~untouched
    decided = strategy.decide(paths)
    undecided = np.flatnonzero(clash & (decided != SOURCE) & (decided != DEST) & (decided != BASE))
    conflicts = _conflicts(paths, undecided, (base, in_base), (ours, in_ours), (theirs, in_theirs))
    take, undo = ~alike & (untouched | (decided == SOURCE)), clash & (decided == BASE)
    change = take | undo
    source = concat([theirs, base]) if undo.any() else theirs
    row = np.where(undo & (in_base >= 0), theirs.num_rows + in_base, np.where(undo, -1, in_theirs))
    new = change & (row >= 0)
    return _Decided(conflicts, at[change & found], take_rows(source, row[new]), at[new])


def _are_same(left: pa.RecordBatch, here: Indices, right: pa.RecordBatch, there: Indices) -> Mask:
    """Returns whether both rows are absent, or both exist with the same content."""
    same = (here < 0) & (there < 0)
    both = np.flatnonzero((here >= 0) & (there >= 0))
    same[both] = same_pairs(left, here[both], right, there[both])
    return same


def _conflicts(paths: pa.StringArray, rows: Indices, *sides: tuple[pa.RecordBatch, Indices]) -> pa.RecordBatch:
    if not len(rows):
        return _NO_CONFLICTS
    columns = [side_column(batch, at[rows]) for batch, at in sides]
    return pa.record_batch([paths.take(pa.array(rows)), *columns], schema=CONFLICT_SCHEMA)
