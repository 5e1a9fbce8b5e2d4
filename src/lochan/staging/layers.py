"""The staged changes of a branch: layers, oldest to newest, and the seals between them.

    run L2 │ run L1 │ inline ║ seal 812 ║ run L1 │ inline        newest wins; the base commit lies below all
    ╰ over ╯                                                     a tree of the base with the lowest runs in it

Layers are values: every change makes a new `Layers` that shares what it can, so the fold forks one by keeping it.
Inline changes are named by their *position*, counted from the first one ever staged on the branch. Journal numbers
would not work, because the puts of one record can be on both sides of a seal in that record.
"""

from collections.abc import Iterable
from itertools import islice
from typing import cast

import msgspec

from lochan.errors import NotFound, Refused
from lochan.formats.entry import Change, Entry, Tombstone
from lochan.formats.repository_events import CoveringTree
from lochan.formats.run import RunRef
from lochan.staging.inline import Inline, empty_inline, restore_inline


class Seal(msgspec.Struct, frozen=True):
    """A boundary that a commit has set: the commit includes the layers below it (rule S1)."""

    number: int


Layer = Inline | RunRef


class Inputs(msgspec.Struct, frozen=True, array_like=True):
    """The layers that a compaction replaces. Stored in events: fields may only be added at the end."""

    spans: tuple[tuple[int, int], ...]  # the first and the last position of each layer of inline changes
    runs: tuple[str, ...]  # the ids of runs


def inputs_of(layers: Iterable[Layer]) -> Inputs:
    """Returns the names of these layers for an event."""
    layers = tuple(layers)
    return Inputs(
        tuple((layer.first, layer.last) for layer in layers if isinstance(layer, Inline)),
        tuple(layer.id for layer in layers if isinstance(layer, RunRef)),
    )


class Fresh(msgspec.Struct, frozen=True):
    """Changes that were staged since an older state."""

    changes: list[Change]
    runs: tuple[RunRef, ...]  # including those that compaction made from older changes


def primary_runs(runs: Iterable[RunRef]) -> tuple[RunRef, ...]:
    """Returns the runs, marked as runs that changes came in, and not only results of merges in events. A commit of them
    can be repeated only while they exist."""
    return tuple(msgspec.structs.replace(run, primary=True) for run in runs)


class Layers(msgspec.Struct, frozen=True):
    items: tuple[Layer | Seal, ...] = ()
    next: int = 1  # the position of the next inline change; never decreases, so a position is never used twice
    over: CoveringTree | None = None  # only while the runs it covers are the lowest layers

    # --- reading ----------------------------------------------------------------------------------------------------
    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers, oldest to newest."""
        return tuple(item for item in self.items if not isinstance(item, Seal))

    @property
    def runs(self) -> tuple[RunRef, ...]:
        return tuple(item for item in self.items if isinstance(item, RunRef))

    @property
    def seals(self) -> tuple[int, ...]:
        return tuple(item.number for item in self.items if isinstance(item, Seal))

    @property
    def empty(self) -> bool:
        return all(isinstance(item, Seal) for item in self.items)

    @property
    def count(self) -> int:
        """An upper bound for the number of staged paths: one that is in several layers counts in each."""
        return sum(layer.count for layer in self.layers)

    @property
    def inline_count(self) -> int:
        return sum(item.count for item in self.items if isinstance(item, Inline))

    @property
    def inline_bytes(self) -> int:
        return sum(item.bytes for item in self.items if isinstance(item, Inline))

    def segments(self) -> list[tuple[Layer, ...]]:
        """Returns the layers between seals, oldest first: compaction stays within one (rule S2)."""
        segments: list[list[Layer]] = [[]]
        for item in self.items:
            if isinstance(item, Seal):
                segments.append([])
            else:
                segments[-1].append(item)
        return [tuple(segment) for segment in segments]

    def below(self, seal: int) -> "Layers":
        """Returns the layers that the commit with this seal includes. Raises NotFound if the seal is gone."""
        return self._with(self.items[: self._at(seal)])

    def after(self, seal: int) -> "Layers":
        """Returns the layers that were staged after the seal. Raises NotFound if it is gone."""
        return self._with(self.items[self._at(seal) + 1 :])

    def fresh_since(self, older: "Layers") -> Fresh:
        """Returns what to check again if `older`, an earlier state of the same staging, was checked before."""
        known = {run.id for run in older.runs}
        parts = (item.beyond(older.next - 1) for item in self.items if isinstance(item, Inline))
        return Fresh(
            [change for part in parts if part is not None for change in part.changes()],
            tuple(run for run in self.runs if run.id not in known),
        )

    # --- staging ----------------------------------------------------------------------------------------------------
    def put(self, *changes: Change) -> "Layers":
        """Puts changes on top of everything, the last one newest."""
        newest = self.items[-1] if self.items else None
        if isinstance(newest, Inline) and newest.last == self.next - 1:
            inline, kept = newest.put(changes), self.items[:-1]
        else:
            inline, kept = empty_inline(self.next).put(changes), self.items
        return Layers((*kept, inline), inline.last + 1, self.over) if inline.pieces else self

    def append(self, *runs: RunRef) -> "Layers":
        """Puts prepared runs on top of everything: many writes at once. Raises Refused for a run that is already
        staged."""
        known = {run.id for run in self.runs}
        for run in runs:
            if run.id in known:
                raise Refused(f"run {run.id} is staged already")
        return Layers((*self.items, *runs), self.next, self.over)

    def cleared(self) -> "Layers":
        """Returns layers with nothing staged and no seal, as after a reset, or after the changes went into a stash."""
        return Layers((), self.next)

    def restored(self, other: "Layers") -> "Layers":
        """Puts the layers of `other` (a stash) on top, without its seals. They get new positions, so that a compaction
        that is under way cannot mistake them for others."""
        result = self
        for layer in other.layers:
            if isinstance(layer, RunRef):
                result = result.append(layer)
            else:
                moved = layer.moved(result.next)
                result = Layers((*result.items, moved), moved.last + 1, result.over)
        return result

    # --- seals ------------------------------------------------------------------------------------------------------
    def seal(self, number: int) -> "Layers":
        """Adds a seal. Raises Refused if there is one with this number: two seals of one record could not be
        distinguished."""
        if number in self.seals:
            raise Refused(f"there is a seal {number} already")
        return Layers((*self.items, Seal(number)), self.next, self.over)

    def unsealed(self) -> "Layers":
        """Removes all seals, as after every head move, reset, stash push or pop (rule S1)."""
        return Layers(self.layers, self.next, self.over)

    def drop_below(self, seal: int, runs: tuple[RunRef, ...] = (), changes: Iterable[Change] = ()) -> "Layers":
        """Removes everything below the seal, which is committed (rule S4), except the leftovers, which go below
        everything after the seal. It is a head move, so no seal is left. Raises NotFound if the seal is gone."""
        kept = self.after(seal).layers
        left = empty_inline(self.next).put(changes)
        return self._with((*runs, *((left,) if left.pieces else ()), *kept), left.last + 1)

    # --- compaction -------------------------------------------------------------------------------------------------
    def compacted(self, inputs: Inputs, outputs: tuple[RunRef, ...], over: CoveringTree | None = None) -> "Layers":
        """Applies the event: another run for some layers, a tree over the lowest ones, or both. Raises Refused."""
        replaced = self.replace(inputs, outputs) if over is None or inputs.spans or inputs.runs else self
        return replaced if over is None else replaced.covered(over)

    def covered(self, over: CoveringTree) -> "Layers":
        """Returns the layers with this tree for the lowest runs. Raises Refused unless it was made from them."""
        if not _covers(over, self.items):
            raise Refused("the runs that a tree was made from are no longer the lowest layers")
        return Layers(self.items, self.next, over)

    def replace(self, inputs: Inputs, outputs: tuple[RunRef, ...]) -> "Layers":
        """Replaces the inputs by the outputs (rule S2). Inline changes that were added to the newest input layer
        meanwhile stay, above them. Raises Refused unless all inputs are there, side by side, with no seal between
        them."""
        start, stop = self._span_of(inputs)
        newest = self.items[stop - 1]
        rest = newest.beyond(dict(inputs.spans)[newest.first]) if isinstance(newest, Inline) else None
        kept = () if rest is None else (rest,)
        if any(isinstance(item, RunRef) and item.primary for item in self.items[start:stop]):
            outputs = primary_runs(outputs)
        return self._with((*self.items[:start], *outputs, *kept, *self.items[stop:]))

    def lower(self, inputs: Inputs) -> tuple[Layer, ...]:
        """Returns the layers below the inputs, down to the base and across seals: S3 looks there for a tombstone's
        path."""
        start, _ = self._span_of(inputs)
        return tuple(item for item in self.items[:start] if not isinstance(item, Seal))

    def _span_of(self, inputs: Inputs) -> tuple[int, int]:
        """Returns the positions of the inputs in `items`: from, to (exclusive)."""
        runs, spans = set(inputs.runs), dict(inputs.spans)
        found = [at for at, item in enumerate(self.items) if _named(item, runs, spans)]
        if not found or len(found) != len(inputs.runs) + len(inputs.spans):
            raise Refused("a layer that was to be compacted is no longer there")
        if found[-1] - found[0] != len(found) - 1:
            raise Refused("layers that are compacted together must be side by side, with no seal between them")
        for item in self.items[found[0] : found[-1]]:
            if isinstance(item, Inline) and item.last != spans[item.first]:
                raise Refused("only the newest of the layers compacted together may have grown")
        return found[0], found[-1] + 1

    def _at(self, seal: int) -> int:
        for at, item in enumerate(self.items):
            if isinstance(item, Seal) and item.number == seal:
                return at
        raise NotFound(f"there is no seal {seal}")

    def _with(self, items: tuple[Layer | Seal, ...], next: int = 0) -> "Layers":
        """Returns other layers, with the tree over the lowest ones if they are still the same."""
        over = self.over if self.over is not None and _covers(self.over, items) else None
        return Layers(items, next or self.next, over)

    # --- checkpoints ------------------------------------------------------------------------------------------------
    def dump(self) -> "DumpedLayers":
        return DumpedLayers(self.next, [_dump(item) for item in self.items], self.over)


def _covers(over: CoveringTree, items: Iterable[Layer | Seal]) -> bool:
    """Returns whether these runs are the lowest layers. Runs never change, so comparing their names is enough."""
    lowest = islice((item for item in items if not isinstance(item, Seal)), len(over.runs))
    found = tuple(item.id if isinstance(item, RunRef) else "" for item in lowest)
    return bool(found) and found == over.runs


def _named(item: Layer | Seal, runs: set[str], spans: dict[int, int]) -> bool:
    if isinstance(item, RunRef):
        return item.id in runs
    return isinstance(item, Inline) and item.first in spans and spans[item.first] <= item.last


class DumpedSeal(msgspec.Struct, frozen=True, array_like=True, tag="seal"):
    number: int


class DumpedRun(msgspec.Struct, frozen=True, array_like=True, tag="run"):
    run: RunRef


class DumpedInline(msgspec.Struct, frozen=True, array_like=True, tag="inline"):
    first: int
    last: int
    changes: list[tuple[int, Entry | str]]  # position and entry, or the path of a tombstone


class DumpedLayers(msgspec.Struct, frozen=True, array_like=True):
    """Layers as a checkpoint holds them: stored on disk, fields may only be added at the end."""

    next: int
    items: list[DumpedSeal | DumpedRun | DumpedInline]
    over: CoveringTree | None = None


def load(dumped: DumpedLayers) -> Layers:
    return Layers(tuple(map(_load, dumped.items)), dumped.next, dumped.over)


def _dump(item: Layer | Seal) -> DumpedSeal | DumpedRun | DumpedInline:
    match item:
        case Seal():
            return DumpedSeal(item.number)
        case RunRef():
            return DumpedRun(item)
    placed: list[tuple[int, Change]] = list(item.by_position())
    if Tombstone not in {type(change) for _, change in placed}:  # quicker than to make each pair anew
        return DumpedInline(item.first, item.last, cast("list[tuple[int, Entry | str]]", placed))
    changes = [(at, change.path if isinstance(change, Tombstone) else change) for at, change in placed]
    return DumpedInline(item.first, item.last, changes)


def _load(item: DumpedSeal | DumpedRun | DumpedInline) -> Layer | Seal:
    match item:
        case DumpedSeal():
            return Seal(item.number)
        case DumpedRun():
            return item.run
    return restore_inline(
        item.first,
        item.last,
        ((at, Tombstone(change) if isinstance(change, str) else change) for at, change in item.changes),
    )


EMPTY = Layers()
