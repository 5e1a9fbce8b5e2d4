"""S5: a head move never changes a path that has something staged, which would hide what the move brought.

Looking costs reads of the store, so it is done before the append; at the append, when no time may pass, only what came
to the staging since is looked at.
"""

from bisect import bisect_left

import pyarrow as pa

from lochan.errors import ConcurrentCommit, PathsInTheWay
from lochan.formats.run import ascends
from lochan.staging.layers import Layers
from lochan.staging.view import View
from lochan.versioning.rules import Rules

_LISTED = 1_000


class LookAgain(ConcurrentCommit):
    """More was staged than can be looked at in passing."""


class PathTest:
    """Of the paths that one move changes."""

    def __init__(self, branch: str, changed: pa.StringArray) -> None:
        self._branch = branch
        self._changed = changed if ascends(changed) else changed.unique().sort()
        self._looked: Layers | None = None

    async def look(self, view: View, layers: Layers) -> None:
        """At the staging of one moment, and the view of it. Raises PathsInTheWay."""
        staged = await view.paths_staged(self._changed)
        if len(staged):
            raise self._in_the_way(staged.slice(0, _LISTED).to_pylist(), len(staged))
        self._looked = layers

    def check(self, layers: Layers, rules: Rules) -> None:
        """At the append. Raises PathsInTheWay or LookAgain."""
        if not rules.moves_spare_staged_paths():
            return
        if self._looked is None:
            raise LookAgain("what is staged was not looked at")
        fresh = layers.fresh_since(self._looked)
        if fresh.runs:
            raise LookAgain("more was staged meanwhile", hint="try again")
        hit = sorted(change.path for change in fresh.changes if self._changes(change.path))
        if hit:
            raise self._in_the_way(hit, len(hit))

    def _changes(self, path: str) -> bool:
        at = bisect_left(_Paths(self._changed), path.encode())
        return at < len(self._changed) and self._changed[at].as_py() == path

    def _in_the_way(self, paths: list[str], count: int) -> PathsInTheWay:
        shown = ", ".join(repr(path) for path in paths[:3]) + (" …" if count > 3 else "")
        return PathsInTheWay(
            f"{count} of the paths that this changes on branch {self._branch!r} have uncommitted changes: {shown}",
            paths=paths,
            count=count,
            hint="commit or reset them first",
        )


class _Paths:
    """An Arrow column as a sequence of UTF-8, for bisection."""

    def __init__(self, column: pa.StringArray) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, at: int) -> bytes:
        path: str = self._column[at].as_py()
        return path.encode()
