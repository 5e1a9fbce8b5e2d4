"""The shapes that a load has seen, with their numbers, and which of them get columns.

A shape gets columns as long as one layout holds all shapes with columns. Rows of other shapes (too many columns, `a`
beside `A`, a key within something that is kept as text) are kept as text, in objects of their own.

Shapes that differ only by nulls are joined (pools/nullable_shapes.py), and a new shape may widen the joined one.
Earlier rows keep the number of the narrower shape until they are written (relation.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from lochan.engines.duckdb.load.shape_proof import Style
from lochan.formats.pool_settings import Path
from lochan.pools.kinds import JSON, OBJECT
from lochan.pools.layout import SHAPES_MAX, Layout, Member, lay_out
from lochan.pools.nullable_shapes import join_shapes
from lochan.pools.shape import Object, encode, shape_id

_BYTES_MAX = 4 << 20  # the limit for all encoded shapes together, which are in every entry
_TRIES_MAX = 1_000  # the attempts to find shapes that fit together; the rest is kept as text


class KnownShapes:
    def __init__(self, keys: Sequence[Path]) -> None:
        self.by_id: dict[int, Object] = {}  # all shapes that have a number
        self.columns: dict[Object, int] = {}  # the shapes that have columns, with their numbers
        self.texts: dict[Object, int] = {}  # the shapes that are kept as text, with their numbers
        self.styles: dict[Object, Style] = {}  # the style of the first row of each shape
        self.counts: Counter[Object] = Counter()  # rows of each shape, of those that were inferred one by one
        self.layout = Layout(())
        self._keys = [path for path in keys if path]
        self._seen: set[Object] = set()
        self._wider: dict[Object, Object] = {}  # for a shape, the wider one that has replaced it
        self._current: dict[Object, int] = {}  # the widest shapes with columns, and their encoded sizes
        self._tried = 0

    def add(self, shapes: Counter[Object]) -> bool:
        """Adds shapes, with the number of their rows. Returns whether there are new columns. Frequent shapes get
        columns first."""
        fresh = [shape for shape, _ in shapes.most_common() if shape not in self._seen]
        self._seen.update(fresh)
        before = self.layout
        if fresh:
            self._meet(fresh)
        for shape, count in shapes.items():
            self.counts[self.widest(shape)] += count
        return self.layout != before

    def widest(self, shape: Object) -> Object:
        """Returns the shape that replaces this one from now on."""
        while (wider := self._wider.get(shape)) is not None:
            shape = wider
        return shape

    def number(self, shape: Object) -> int | None:
        """Returns the number of the shape, or None if its rows are kept as text."""
        return self.columns.get(self.widest(shape))

    def frequent(self) -> list[Object]:
        """Returns the shapes with columns, the most frequent first."""
        return [shape for shape, _ in self.counts.most_common() if shape in self._current]

    def numbered(self, shapes: Collection[Object]) -> dict[Object, int]:
        """Returns the numbers of these shapes, whose columns are those of the known ones."""
        for shape in shapes:
            if shape not in self.columns:
                self.columns[shape] = self._number(shape)
        return {shape: self.columns[shape] for shape in shapes}

    def _meet(self, fresh: Sequence[Object]) -> None:
        into = join_shapes([*self._current, *fresh])
        narrower = {shape: wider for shape, wider in into.items() if wider != shape}
        candidates = [shape for shape in dict.fromkeys(into[each] for each in fresh) if shape not in self._current]
        grown = {into[shape] for shape in self._current}
        room = SHAPES_MAX - len(self._current)
        others = [shape for shape in candidates if shape not in grown][:room]
        self._admit([*(shape for shape in candidates if shape in grown), *others], narrower)
        for shape in fresh:
            if into[shape] not in self._current:
                self.texts[shape] = self._number(shape)
            elif shape in narrower:
                self._widen(shape, into[shape])

    def _admit(self, shapes: Sequence[Object], narrower: Mapping[Object, Object]) -> None:
        """Admits all of these shapes if possible. Otherwise it tries each half."""
        if not shapes or self._tried > _TRIES_MAX:
            return
        self._tried += 1
        if not self._take(shapes, narrower) and len(shapes) > 1:
            self._admit(shapes[: len(shapes) // 2], narrower)
            self._admit(shapes[len(shapes) // 2 :], narrower)

    def _take(self, shapes: Sequence[Object], narrower: Mapping[Object, Object]) -> bool:
        new = set(shapes)
        left = {shape: size for shape, size in self._current.items() if narrower.get(shape) not in new}
        left.update((shape, len(encode(shape))) for shape in shapes)
        if len(left) > SHAPES_MAX or sum(left.values()) > _BYTES_MAX:
            return False
        layout = lay_out(left)
        if layout.body or not all(_keeps(layout.members, path) for path in self._keys):
            return False
        self.layout = layout
        self.numbered(shapes)
        for shape in self._current.keys() - left.keys():
            self._widen(shape, narrower[shape])
        self._current = left
        return True

    def _widen(self, shape: Object, wider: Object) -> None:
        self._wider[shape] = wider
        if shape in self.counts:
            self.counts[wider] += self.counts.pop(shape)
        if shape in self.styles:
            self.styles.setdefault(wider, self.styles[shape])

    def _number(self, shape: Object) -> int:
        id = shape_id(shape, self.by_id)
        self.by_id[id] = shape
        return id


def _keeps(members: Iterable[Member], path: Path) -> bool:
    """Returns whether the values at the path always have columns of their own."""
    member = next((each for each in members if each.name == path[0]), None)
    if member is None or len(path) == 1:
        return True
    object = member.alternate(OBJECT)
    return _keeps(object.members, path[1:]) if object else member.alternate(JSON) is None
