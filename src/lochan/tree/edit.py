"""Applies changes to the ranges of a tree as they come, without holding all of them.

    ranges    ├────a────┤├────b────┤├────c────┤      a range without a change is passed on unopened, one with changes
    changes        · ··· · │ ·  ·                    is opened once; changes of two pieces are applied to its two parts

No row of a range is passed on before something in it has changed: until then the range may be used as it is. A range
with few changes becomes a patch, if all of them are known by then: the last changes of a piece wait for the next
piece."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lochan.concurrency import map_ahead
from lochan.formats.entry import ENTRY_SCHEMA
from lochan.formats.entry_table import EntryRows, as_batch
from lochan.formats.range import RangeRef
from lochan.store.threads import Threads
from lochan.tree.assemble import Assembler, Load, RangeCut
from lochan.tree.patches import PatchedRange, PatchLimits, fits, patch_range
from lochan.tree.ranges import Ranges
from lochan.tree.rows import Edited, Stretch, by_range, with_changes


class Edit:
    """Applies changes to ranges. `width` ranges are opened and changed in parallel. `restated` counts entries whose
    content was there already."""

    def __init__(
        self,
        ranges: Sequence[RangeRef],
        into: Assembler,
        load: Load,
        threads: Threads,
        width: int,
        *,
        restate: bool,
        patcher: "Patcher | None" = None,
    ) -> None:
        self._ranges = ranges
        self._into = into
        self._load = load
        self._threads = threads
        self._width = width
        self._restate = restate
        self._patcher = patcher
        self._held: pa.Table | None = None  # changes of one range, to which more may come
        self._done = 0  # ranges that are finished
        self._within: _Within | None = None  # the next one, if some changes were already applied to it
        self.restated = 0

    async def add(self, changes: pa.Table) -> None:
        """Adds changes. REQUIRES: RUN_SCHEMA, and at least one row, in path order and after everything that was added
        before."""
        if self._held is not None:
            changes, self._held = pa.concat_tables([self._held, changes]), None
        parts = by_range(changes["path"], self._ranges[self._done :])
        behind = parts[-1][2] if parts else 0  # from this row on, changes are after the last range
        steps = [_Step(ref, changes.slice(low, high - low), high < len(changes)) for ref, low, high in parts]
        if steps and not steps[-1].last and self._may_patch(steps[-1]):
            self._held = steps.pop().changes
        await self._carry_out(steps)
        if behind < len(changes):
            await self._pass_ranges(len(self._ranges))
            await self._into.add_rows(Stretch(as_batch(entries_of_changes(changes.slice(behind)))))

    async def finish(self) -> None:
        """Applies the rest, when no more changes come."""
        if self._held is not None:
            ((ref, low, high),) = by_range(self._held["path"], self._ranges[self._done :])
            await self._carry_out([_Step(ref, self._held.slice(low, high - low), True)])
        await self._pass_ranges(len(self._ranges))

    async def _carry_out(self, steps: "Sequence[_Step]") -> None:
        async with aclosing(map_ahead(self._carried_out, steps, self._width)) as results:
            async for result in results:
                await (self._pass_patched(result) if isinstance(result, _Patched) else self._pass_on(result))

    def _may_patch(self, step: "_Step") -> bool:
        if self._patcher is None or (self._within is not None and self._within.ref is step.ref):
            return False
        return fits(step.ref, len(step.changes), self._patcher.limits)

    async def _carried_out(self, step: "_Step") -> "_Result | _Patched":
        if self._patcher is not None and step.last and self._may_patch(step):
            made = await self._patcher.patched(step.ref, as_batch(step.changes), restate=self._restate)
            if made is not None:
                return _Patched(step.ref, made)
        within = self._within
        if within is None or within.ref is not step.ref:
            within = _Within(step.ref, await self._load(step.ref))
        changes = as_batch(step.changes)
        stop = within.rows.count if step.last else within.rows.seek(_end_of(changes), within.seen)
        part = within.rows.batch.slice(within.seen, stop - within.seen)
        change = partial(with_changes, restate=self._restate, untested=self._into.cut.untested(within.seen))
        return _Result(within, stop, await self._threads.run(change, part, changes), step.last)

    async def _pass_on(self, result: "_Result") -> None:
        within, stop, edited, last = result
        self.restated += edited.restated
        await self._pass_ranges(self._ranges.index(within.ref, self._done))
        self._within = within
        if edited.rows is not None:
            await self._into.add_part(within.left(within.seen), within.passed)
            for rows in edited.rows:
                await self._into.add_rows(rows)
            within.passed = stop
            within.changed = True
        within.seen = stop
        if last:
            await self._pass_ranges(self._done + 1)

    async def _pass_patched(self, result: "_Patched") -> None:
        await self._pass_ranges(self._ranges.index(result.before, self._done))
        if isinstance(result.made, int):
            self.restated += result.made
            await self._into.add_range(result.before)
        else:
            assert self._patcher is not None
            self.restated += result.made.restated
            await self._patcher.add(self._into, result.made)
        self._done += 1

    async def _pass_ranges(self, stop: int) -> None:
        """Finishes all ranges up to this one: no more changes belong to them."""
        if self._within is not None and self._done < stop:
            await self._leave(self._within)
        for ref in self._ranges[self._done : stop]:
            await self._into.add_range(ref)
        self._done = max(self._done, stop)

    async def _leave(self, within: "_Within") -> None:
        if within.changed:
            await self._into.add_part(within.left(within.rows.count), within.passed)
        else:
            await self._into.add_range(within.ref)
        self._within = None
        self._done += 1


class _Within:
    """A range with some of its changes applied."""

    def __init__(self, ref: RangeRef, rows: EntryRows) -> None:
        self.ref = ref
        self.rows = rows
        self.seen = 0  # rows with all changes applied
        self.passed = 0  # rows that were passed on
        self.changed = False

    def left(self, stop: int) -> pa.RecordBatch:
        """Returns the rows up to `stop` that were not passed on."""
        return self.rows.batch.slice(self.passed, stop - self.passed)


class Patcher:
    """Makes patches for one tree. `known` are ranges that are used instead, if they have the same content."""

    def __init__(
        self, files: Ranges, cut: RangeCut, mint: int, known: Mapping[str, RangeRef], limits: PatchLimits
    ) -> None:
        self.files = files
        self.limits = limits
        self._cut = cut
        self._mint = mint
        self._known = known

    async def patched(self, ref: RangeRef, changes: pa.RecordBatch, *, restate: bool) -> PatchedRange | int | None:
        """Makes a patch; returns the same as `patches.patch_range`."""
        parts = await self.files.parts(ref)
        make = partial(patch_range, restate=restate)
        return await self.files.run(make, parts, changes, self._cut, self._mint, self.limits)

    async def add(self, into: Assembler, made: PatchedRange) -> None:
        ref = self._known.get(made.ref.id, made.ref)
        if ref is not made.ref or not made.changes.num_rows:
            await into.add_range(ref)
        elif not into.is_at_cut:
            for rows in made.stretches(self._cut):
                await into.add_rows(rows)
        else:
            await into.add_new(ref, partial(self.files.write_patch, made))


class _Patched(NamedTuple):
    before: RangeRef
    made: PatchedRange | int


class _Step(NamedTuple):
    ref: RangeRef
    changes: pa.Table
    last: bool  # changes of another range follow


class _Result(NamedTuple):
    within: _Within
    stop: int  # rows of the range with all changes applied
    edited: Edited
    last: bool


def entries_of_changes(changes: pa.Table) -> pa.Table:
    """Returns the entries of the changes, without tombstones."""
    if pc.any(changes["deleted"]).as_py():
        changes = changes.filter(pc.invert(changes["deleted"]))
    return changes.select(ENTRY_SCHEMA.names)


def _end_of(changes: pa.RecordBatch) -> bytes:
    last: str = changes.column("path")[-1].as_py()
    return last.encode() + b"\0"
