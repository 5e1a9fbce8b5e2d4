"""The shapes that a load has seen, each with its number, and which of them get columns.

A shape gets columns while all those that have them still lie in one layout. What would be too much for it (too many
columns, `a` beside `A`, a key inside of something that is kept as text) is kept as text, in objects of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from lochan.engines.duckdb.load.rendering import Style
from lochan.formats.pool_settings import Path
from lochan.pools.layout import SHAPES_MAX, Layout, Member, lay_out
from lochan.pools.shape import JSON, OBJECT, Object, encode, shape_id

_BYTES_MAX = 4 << 20  # of all shapes together, written down: they are in every entry
_TRIES_MAX = 1_000  # to find those that go together; the rest of a flood is text


class Known:
    def __init__(self, keys: Sequence[Path]) -> None:
        self.by_id: dict[int, Object] = {}  # all that have a number
        self.columns: dict[Object, int] = {}  # those that have columns
        self.texts: dict[Object, int] = {}  # those that are kept as text, by number
        self.styles: dict[Object, Style] = {}  # how the first of each was written
        self.counts: Counter[Object] = Counter()  # among the rows that were looked at one by one
        self.layout = Layout(())
        self._keys = [path for path in keys if path]
        self._bytes = 0
        self._tried = 0

    def add(self, shapes: Counter[Object]) -> bool:
        """Returns whether there are new columns. The more frequent a shape is, the sooner it gets its columns."""
        fresh = [shape for shape, _ in shapes.most_common() if shape not in self.counts]
        self.counts.update(shapes)
        before = self.layout
        room = SHAPES_MAX - len(self.columns)
        self._admit(fresh[:room])
        self._keep(fresh[room:])
        return self.layout != before

    def frequent(self) -> list[Object]:
        """Those with columns, the most frequent first."""
        return [shape for shape, _ in self.counts.most_common() if shape in self.columns]

    def _admit(self, shapes: Sequence[Object]) -> None:
        """All of them if that can be, else by halves."""
        if not shapes:
            return
        self._tried += 1
        if self._tried > _TRIES_MAX:
            self._keep(shapes)
        elif not self._take(shapes):
            if len(shapes) == 1:
                self._keep(shapes)
            else:
                self._admit(shapes[: len(shapes) // 2])
                self._admit(shapes[len(shapes) // 2 :])

    def _keep(self, shapes: Iterable[Object]) -> None:
        self.texts.update((shape, self._number(shape)) for shape in shapes)

    def _take(self, shapes: Sequence[Object]) -> bool:
        if len(self.columns) + len(shapes) > SHAPES_MAX:
            return False
        size = self._bytes + sum(len(encode(shape)) for shape in shapes)
        layout = lay_out([*self.columns, *shapes])
        if size > _BYTES_MAX or layout.body or not all(_keeps(layout.members, path) for path in self._keys):
            return False
        self.layout, self._bytes = layout, size
        self.columns.update((shape, self._number(shape)) for shape in shapes)
        return True

    def _number(self, shape: Object) -> int:
        id = shape_id(shape, self.by_id)
        self.by_id[id] = shape
        return id


def _keeps(members: Iterable[Member], path: Path) -> bool:
    """Whether what is at the path has columns of its own, wherever it is there."""
    member = next((each for each in members if each.name == path[0]), None)
    if member is None or len(path) == 1:
        return True
    object = member.alternate(OBJECT)
    return _keeps(object.members, path[1:]) if object else member.alternate(JSON) is None
