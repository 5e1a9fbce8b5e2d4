"""Differences and merges of dictionaries, and the best common ancestors, each in the simplest way."""

from collections.abc import Mapping, Sequence
from itertools import permutations

Content = Mapping[str, str]
Graph = Mapping[str, tuple[str, ...]]
Changed = dict[str, str | None]  # path -> what it holds now; None: nothing


class Clash(Exception):
    """Both sides changed the same path in different ways."""


def changes(before: Content, after: Content) -> Changed:
    return {path: after.get(path) for path in {*before, *after} if before.get(path) != after.get(path)}


def patched(content: Content, changed: Mapping[str, str | None]) -> dict[str, str]:
    both = {**content, **changed}
    return {path: value for path, value in both.items() if value is not None}


def three_way(base: Content, ours: Content, theirs: Content, strategy: str = "default") -> dict[str, str]:
    """`ours` with what `theirs` changed since `base`. Raises Clash."""
    mine, other = changes(base, ours), changes(base, theirs)
    clashes = {path for path in mine.keys() & other.keys() if mine[path] != other[path]}
    if clashes and strategy == "default":
        raise Clash(", ".join(sorted(clashes)))
    if strategy == "base":
        return patched(ours, {**other, **{path: base.get(path) for path in clashes}})
    taken = other if strategy == "source-wins" else {path: v for path, v in other.items() if path not in clashes}
    return patched(ours, taken)


def base_trees(trees: Mapping[str, Content], parents: Graph, one: str, other: str) -> list[Content]:
    """What a merge may be compared with: the tree of the best common ancestor. If there are several, their merge, in
    which neither side of a clash counts. Any order of them is allowed."""
    bases = merge_bases(parents, one, other)
    return [_joined(trees, parents, order) for order in permutations(bases)]


def _joined(trees: Mapping[str, Content], parents: Graph, bases: Sequence[str]) -> Content:
    if not bases:
        return {}
    trees, parents, first = dict(trees), dict(parents), bases[0]
    for other in bases[1:]:
        below = _joined(trees, parents, merge_bases(parents, first, other))
        name = f"{first}+{other}"
        trees[name] = three_way(below, trees[first], trees[other], "base")
        parents[name] = (first, other)
        first = name
    return trees[first]


def merge_bases(parents: Graph, one: str, other: str) -> list[str]:
    """Common ancestors that are not ancestors of another one."""
    common = ancestors(parents, one) & ancestors(parents, other)
    return sorted(id for id in common if not any(id != x and id in ancestors(parents, x) for x in common))


def ancestors(parents: Graph, start: str) -> set[str]:
    """With the commit itself."""
    seen, waiting = set(), [start]
    while waiting:
        id = waiting.pop()
        if id not in seen:
            seen.add(id)
            waiting += parents[id]
    return seen
