"""Compaction: chooses layers to combine, and makes the run that replaces them. It never changes what a reader sees.

    inline, inline │ ──> run L1        run L2, run L1, run L1, run L1 ──> run L2

Planning is a pure function of the layers; merging reads and writes nothing. A plan that is made twice gives the same
changes twice, and the second event is refused, because its inputs are gone (rule S2)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.run import RunRef
from lochan.staging.inline import Inline
from lochan.staging.layers import Inputs, Layer, Layers, inputs_of
from lochan.staging.runs import Runs
from lochan.staging.sources import EmptyBase
from lochan.staging.view import View

HeadHas = Callable[[pa.StringArray], Awaitable[npt.NDArray[np.bool_]]]


class CompactionLimits(NamedTuple):
    """The limits above which layers are compacted."""

    inline_count: int = 10_000
    inline_bytes: int = 4 << 20
    runs: int = 8  # layers above L2 in one segment: every listing reads each of them
    ratio: int = 4  # an L2 run is left alone if it is this many times larger than what would be merged into it
    tombstones: int = 10_000  # in the lowest runs: skipping so many takes a listing a millisecond; see `covering_tree`


LIMITS = CompactionLimits()


class CompactionPlan(NamedTuple):
    layers: tuple[Layer, ...]  # adjacent layers, oldest first
    level: int  # the level of the run that replaces them

    @property
    def inputs(self) -> Inputs:
        return inputs_of(self.layers)


class CompactionResult:
    """The changes that replace the plan's layers, which are part of `layers`. Without `head_has`, every tombstone
    stays."""

    def __init__(self, chosen: CompactionPlan, layers: Layers, runs: Runs, head_has: HeadHas | None) -> None:
        self.inputs = chosen.inputs
        self.level = chosen.level
        self.dropped = False  # whether tombstones were left out: then the event must name the head (rule S3)
        self._view = View(Layers(chosen.layers), EmptyBase(), runs)
        self._lower = View(Layers(layers.lower(chosen.inputs)), EmptyBase(), runs)
        self._head_has = head_has

    async def changes(self) -> AsyncIterator[pa.Table]:
        """Yields tables of RUN_SCHEMA, one after the other in path order. They have no rows if nothing is left of the
        inputs."""
        async for table in self._view.scan_changes():
            kept = table if self._head_has is None else await self._without_idle(table, self._head_has)
            self.dropped |= len(kept) < len(table)
            yield kept

    async def _without_idle(self, changes: pa.Table, head_has: HeadHas) -> pa.Table:
        """Returns the changes without the tombstones whose path is neither in a lower layer nor in the head (rule
        S3)."""
        buried = changes["path"].filter(changes["deleted"]).combine_chunks()
        if not len(buried):
            return changes
        staged = await self._lower.paths_staged(buried)
        in_head = await head_has(buried)
        needed = in_head | pc.is_in(buried, value_set=staged).to_numpy(zero_copy_only=False)
        keep = np.ones(len(changes), np.bool_)
        keep[np.flatnonzero(changes["deleted"].to_numpy())] = needed
        return changes if keep.all() else changes.filter(pa.array(keep))


def plan(layers: Layers, limits: CompactionLimits = LIMITS) -> CompactionPlan | None:
    """Returns the next compaction, or None. Runs come first, because they cost every reader. The newest segment comes
    before older ones, which a commit is about to remove."""
    segments = list(reversed(layers.segments()))
    for segment in segments:
        runs = _to_level_2(segment, limits)
        if runs:
            return CompactionPlan(runs, 2)
    for segment in segments:
        inline = _to_level_1(segment, limits)
        if inline:
            return CompactionPlan(inline, 1)
    return None


def compact(chosen: CompactionPlan, layers: Layers, runs: Runs, head_has: HeadHas | None = None) -> CompactionResult:
    """Compacts the layers of a plan. They are read only when the result's changes are."""
    return CompactionResult(chosen, layers, runs, head_has)


def _to_level_2(segment: tuple[Layer, ...], limits: CompactionLimits) -> tuple[Layer, ...]:
    """Returns all layers that are not yet in L2, up to the newest run, if there are too many; and those of L2 that are
    not much larger, so that a million changes are not rewritten for every few thousand."""
    stop = max((at + 1 for at, layer in enumerate(segment) if isinstance(layer, RunRef)), default=0)
    start = next((at for at in range(stop) if not _in_level_2(segment[at])), stop)
    chosen = segment[start:stop]
    if len(chosen) <= limits.runs:
        return ()
    total = sum(layer.count for layer in chosen)
    while start and segment[start - 1].count <= limits.ratio * total:
        start -= 1
        total += segment[start].count
    return segment[start:stop]


def _to_level_1(segment: tuple[Layer, ...], limits: CompactionLimits) -> tuple[Layer, ...]:
    """Returns the inline layers on top of the segment, if they are large or many."""
    inline: list[Inline] = []
    for layer in reversed(segment):
        if not isinstance(layer, Inline):
            break
        inline.insert(0, layer)
    count, size = sum(layer.count for layer in inline), sum(layer.bytes for layer in inline)
    enough = count >= limits.inline_count or size >= limits.inline_bytes or len(inline) > limits.runs
    return tuple(inline) if enough else ()


def _in_level_2(layer: Layer) -> bool:
    return isinstance(layer, RunRef) and layer.level == 2
