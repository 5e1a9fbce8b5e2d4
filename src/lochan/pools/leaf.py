"""A leaf: the values of one kind at one path of a row, as a column."""

from __future__ import annotations

import re
from typing import NamedTuple

from lochan.pools.shape import ARRAY, DECIMAL, JSON, NULL, OBJECT, ORIGINAL, SCALARS

Path = tuple[str, ...]


class Leaf(NamedTuple):
    path: Path
    kind: str  # null, bool, int, float, string, time, object, array, json, decimal, original

    @property
    def column(self) -> str:
        """A dot in a name has a backslash before it, so no two leaves share a column. Engines take `a` and `A` for one:
        of a path with capitals the column also tells where they are."""
        text = ".".join(name.replace("\\", "\\\\").replace(".", "\\.") for name in self.path)
        capitals = sum(1 << at for at, letter in enumerate(text) if "A" <= letter <= "Z")
        return f"{text}:{self.kind}:{capitals:x}" if capitals else f"{text}:{self.kind}"

    @classmethod
    def of_column(cls, name: str) -> Leaf:
        """Back from a column. Of one that is no leaf's, a leaf of no kind that there is."""
        text, _, kind = name.rpartition(":")
        if kind not in _KINDS:  # it tells the capitals
            text, _, kind = text.rpartition(":")
        names = [""]
        for token in _TOKEN.findall(text):
            if token == ".":
                names.append("")
            else:
                names[-1] += token.removeprefix("\\") if len(token) == 2 else token
        return cls(tuple(names), kind)


_TOKEN = re.compile(r"\\.|.", re.DOTALL)
_KINDS = frozenset((*SCALARS, NULL, OBJECT, ARRAY, JSON, DECIMAL, ORIGINAL))
