"""Walking the commit graph: logs, ancestry and merge bases. Takes a function from id to commit, so a dict can test it.

Commits carry a generation, one more than their parents': a walk by generation meets every child before its parent, and
knows when to stop without seeing the whole history.
"""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush

from lochan.formats.commit import Commit

LookUp = Callable[[str], Commit]


def log(look_up: LookUp, start: str, *, first_parent: bool = False) -> Iterator[tuple[str, Commit]]:
    """From `start` back: children before parents, and else the younger first. Lazy: the first comes at once."""
    queue: list[tuple[int, int, str, Commit]] = []
    seen: set[str] = set()

    def push(id: str) -> None:
        if id not in seen:
            seen.add(id)
            commit = look_up(id)
            heappush(queue, (-commit.generation, -commit.date, id, commit))

    push(start)
    while queue:
        _, _, id, commit = heappop(queue)
        yield id, commit
        for parent in commit.parents[:1] if first_parent else commit.parents:
            push(parent)


def is_ancestor(look_up: LookUp, ancestor: str, of: str) -> bool:
    """A commit is its own ancestor."""
    lowest = look_up(ancestor).generation
    return any(id == ancestor for id, commit in _above(look_up, of, lowest))


def merge_bases(look_up: LookUp, left: str, right: str) -> list[str]:
    """The best common ancestors: those that are not ancestors of another common ancestor. Several after a criss-cross,
    none for unrelated histories; greatest generation first."""
    bases: list[str] = []
    for id, colours in _painted(look_up, left, right):
        if colours == _BOTH and not any(is_ancestor(look_up, id, base) for base in bases):
            bases.append(id)
    return bases


_LEFT, _RIGHT, _BOTH = 1, 2, 3
_STALE = 4  # below a common ancestor: nothing better is to be found there


def _painted(look_up: LookUp, left: str, right: str) -> Iterator[tuple[str, int]]:
    """Both histories at once, children before parents, each commit with the sides that reach it."""
    colours: dict[str, int] = {}
    queue: list[tuple[int, int, str]] = []

    def paint(id: str, colour: int) -> None:
        if id not in colours:
            commit = look_up(id)
            heappush(queue, (-commit.generation, -commit.date, id))
        colours[id] = colours.get(id, 0) | colour

    paint(left, _LEFT)
    paint(right, _RIGHT)
    while any(not colours[id] & _STALE for _, _, id in queue):
        _, _, id = heappop(queue)
        colour = colours[id]
        if not colour & _STALE:
            yield id, colour
        below = colour | _STALE if colour & _BOTH == _BOTH else colour
        for parent in look_up(id).parents:
            paint(parent, below)


def _above(look_up: LookUp, start: str, lowest: int) -> Iterator[tuple[str, Commit]]:
    for id, commit in log(look_up, start):
        if commit.generation < lowest:
            return
        yield id, commit
