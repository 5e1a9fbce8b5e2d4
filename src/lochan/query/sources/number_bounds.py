"""How large the numbers of a field are, by what entries know of the objects that hold them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lochan.pools.forms import Forms
from lochan.pools.shape import Leaf, Path
from lochan.pools.snapshot import Snapshot
from lochan.query.sources.object_selection import by_form


class NumberBounds(NamedTuple):
    least: int | float
    greatest: int | float


def number_bounds(snapshot: Snapshot, path: Path, kind: str) -> NumberBounds | None:
    """Of the field's values of that kind, int or float; both are 0 where there is none. None: they are not known."""
    ends: list[int | float] = [0]
    for form, indices in by_form(snapshot, snapshot.all, Forms()).items():
        place = form.place(Leaf(path, kind))
        if place is None:
            continue
        if place.inside is not None:
            return None
        for facts in snapshot.column(place.column, np.array(indices, dtype=np.int64)).tolist():
            if facts is None or facts.kind != kind:
                return None
            if not facts.present:
                continue
            for end in (facts.least, facts.greatest):
                if not isinstance(end, int | float):
                    return None
                ends.append(end)
    return NumberBounds(min(ends), max(ends))
