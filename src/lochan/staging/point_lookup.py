"""Looks up single paths of a branch, thousands a second, without waiting: it finds what `View.get` finds, as rows not
yet decoded.

    newest   inline │ inline        fresh: dictionaries, looked up each time
             run │ inline │ run     settled: runs and layers below a run never change, and a write leaves them alone
    oldest   base

A write makes a new newest layer, and so another lookup that shares everything that is settled. A cache of results from
the settled part is keyed by that part: it stays right for as long as the same part lies below."""

from lochan.formats.entry import Change, Entry, Tombstone
from lochan.staging.inline import Inline, Placed
from lochan.staging.layers import Layer, Layers
from lochan.staging.runs import Runs
from lochan.tree.tree import FoundRow, NotOpen, Tree

Found = FoundRow | Entry


class SettledLayers:
    """Layers from the newest run down to the base. They are values and name files that never change, so two with the
    same layers and base have the same content, and a result for a path stays right for ever."""

    __slots__ = ("_base", "_layers", "_runs")

    def __init__(self, layers: tuple[Layer, ...], base: Tree, runs: Runs) -> None:
        """`layers` are given newest first."""
        self._layers = layers
        self._base = base
        self._runs = runs

    def is_of(self, layers: tuple[Layer, ...], base: Tree, runs: Runs) -> bool:
        return self._layers == layers and self._base.ref == base.ref and self._runs is runs

    def find(self, path: str) -> Found | None:
        """Returns the row or entry at the path, or None. Raises NotOpen."""
        for layer in self._layers:
            if isinstance(layer, Inline):
                change = layer.get(path)
                if change is not None:
                    return None if isinstance(change, Tombstone) else change
            elif layer.min_path <= path <= layer.max_path:
                opened = self._runs.at_hand(layer)
                if opened is None:
                    raise NotOpen
                row = opened.rows.find(path.encode())
                if row >= 0:
                    return None if opened.is_deleted(row) else (opened.rows, row)
        return self._base.find(path)


class PointLookup:
    """Looks up single paths in one state of a branch, which never changes."""

    __slots__ = ("_fresh", "settled")

    def __init__(
        self, layers: Layers, base: Tree, runs: Runs, over: Tree | None = None, earlier: "PointLookup | None" = None
    ) -> None:
        """`over` is as for a `View`. The settled part is shared with an `earlier` lookup, if it is the same."""
        covered = len(layers.over.runs) if over is not None and layers.over is not None else 0
        stack = tuple(reversed(layers.layers))
        stack = stack[: len(stack) - covered]
        below = over if over is not None and covered else base
        count = next((at for at, layer in enumerate(stack) if not isinstance(layer, Inline)), len(stack))
        self._fresh: tuple[Placed, ...] = tuple(
            piece.changes for layer in stack[:count] if isinstance(layer, Inline) for piece in reversed(layer.pieces)
        )
        rest = stack[count:]
        settled = None if earlier is None else earlier.settled
        if settled is None or not settled.is_of(rest, below, runs):
            settled = SettledLayers(rest, below, runs)
        self.settled: SettledLayers = settled

    def fresh(self, path: str) -> Change | None:
        """Returns the newest change at the path that is above all runs, or None; the caller then looks at `settled`."""
        for changes in self._fresh:
            placed = changes.get(path)
            if placed is not None:
                return placed[1]
        return None
