"""Walks the commit graph: logs, ancestry and merge bases. The functions take a function from id to commit, so a dict
can test them.

A commit's generation is one more than the highest of its parents. So a walk by generation meets every child before its
parents, and can stop without seeing the whole history."""

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush

from lochan.formats.commit import Commit

LookUp = Callable[[str], Commit]


def log(look_up: LookUp, start: str, *, first_parent: bool = False) -> Iterator[tuple[str, Commit]]:
    """Yields commits from `start` back, newest first across all lines of history, but no commit before its children,
    whatever their dates are. It is lazy: the first commit comes at once."""
    return log_of_all(look_up, (start,), first_parent=first_parent)


def log_of_all(look_up: LookUp, starts: Sequence[str], *, first_parent: bool = False) -> Iterator[tuple[str, Commit]]:
    """Yields commits from all of these back, each once, in the order of `log`."""
    return _in_order(look_up, starts, first_parent, _Youngest(look_up))


def by_generation(look_up: LookUp, start: str, *, first_parent: bool = False) -> Iterator[tuple[str, Commit]]:
    """Yields commits from `start` back, the highest generation first. It is lazy."""
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


def topological(look_up: LookUp, start: str, *, first_parent: bool = False) -> Iterator[tuple[str, Commit]]:
    """Yields commits from `start` back, one line of history at a time: no commit before all of its children, and for a
    merge the side it brought in before the side it continued. It is lazy, and looks no further down than it has to."""
    return _in_order(look_up, (start,), first_parent, _Newest())


class _Newest:
    """The commit that became ready last comes first."""

    def __init__(self) -> None:
        self._ids: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._ids)

    def push(self, id: str) -> None:
        self._ids.append(id)

    def pop(self) -> str:
        return self._ids.pop()


class _Youngest:
    """The commit with the latest date comes first."""

    def __init__(self, look_up: LookUp) -> None:
        self._look_up = look_up
        self._queue: list[tuple[int, int, str]] = []

    def __bool__(self) -> bool:
        return bool(self._queue)

    def push(self, id: str) -> None:
        commit = self._look_up(id)
        heappush(self._queue, (-commit.date, -commit.generation, id))

    def pop(self) -> str:
        return heappop(self._queue)[2]


def _in_order(
    look_up: LookUp, starts: Sequence[str], first_parent: bool, ready: _Newest | _Youngest
) -> Iterator[tuple[str, Commit]]:
    """Yields commits in an order. Commits whose children have all been shown are `ready`; that object chooses which of
    them is next."""
    children: dict[str, int] = {}  # not yet shown; exact for commits at or above the lowest generation reached
    begun = set(starts)
    unseen = sorted((-look_up(start).generation, start) for start in begun)

    def parents_of(commit: Commit) -> tuple[str, ...]:
        return tuple(dict.fromkeys(commit.parents[:1] if first_parent else commit.parents))

    def count_children(down_to: int) -> None:
        while unseen and -unseen[0][0] > down_to:
            _, id = heappop(unseen)
            for parent in parents_of(look_up(id)):
                if parent not in children and parent not in begun:
                    heappush(unseen, (-look_up(parent).generation, parent))
                children[parent] = children.get(parent, 0) + 1

    if len(begun) > 1:  # one of them may be an ancestor of another
        count_children(-unseen[-1][0])
    for start in begun:
        if start not in children:
            ready.push(start)
    while ready:
        id = ready.pop()
        commit = look_up(id)
        yield id, commit
        parents = parents_of(commit)
        count_children(min((look_up(parent).generation for parent in parents), default=commit.generation))
        for parent in parents:
            children[parent] -= 1
            if not children[parent]:
                del children[parent]
                ready.push(parent)


def is_ancestor(look_up: LookUp, ancestor: str, of: str) -> bool:
    """Returns whether a commit is an ancestor. A commit is its own ancestor."""
    lowest = look_up(ancestor).generation
    return any(id == ancestor for id, commit in _above(look_up, of, lowest))


def merge_bases(look_up: LookUp, left: str, right: str) -> list[str]:
    """Returns the best common ancestors: those that are no ancestors of another common ancestor. There are several
    after a criss-cross, and none for unrelated histories. The highest generation comes first."""
    return [id for id, colours in _paint(look_up, left, right) if colours == _BOTH]


def only_left(look_up: LookUp, left: str, right: str) -> list[str]:
    """Returns the ancestors of the left that are no ancestors of the right, children before parents."""
    return [id for id, colours in _paint(look_up, left, right) if colours == _LEFT]


def divergence(look_up: LookUp, left: str, right: str) -> tuple[int, int]:
    """Returns how many commits only the left has, and how many only the right has."""
    sides = [colours for _, colours in _paint(look_up, left, right)]
    return sides.count(_LEFT), sides.count(_RIGHT)


_LEFT, _RIGHT, _BOTH = 1, 2, 3
_STALE = 4  # below a common ancestor: nothing better can be found there


def _paint(look_up: LookUp, left: str, right: str) -> Iterator[tuple[str, int]]:
    """Walks both histories at once, children before parents, and yields each commit with the sides that reach it. All
    of its children were met before, so this is final. The walk ends when only stale commits are left."""
    colours: dict[str, int] = {}
    queue: list[tuple[int, int, str]] = []
    fresh = 0  # the number of commits in the queue that are not stale

    def paint(id: str, colour: int) -> None:
        nonlocal fresh
        if id not in colours:
            commit = look_up(id)
            heappush(queue, (-commit.generation, -commit.date, id))
            fresh += 1
            colours[id] = 0
        if colour & _STALE and not colours[id] & _STALE:
            fresh -= 1
        colours[id] |= colour

    paint(left, _LEFT)
    paint(right, _RIGHT)
    while fresh:
        _, _, id = heappop(queue)
        colour = colours[id]
        if not colour & _STALE:
            fresh -= 1
            yield id, colour
        below = colour | _STALE if colour & _BOTH == _BOTH else colour
        for parent in look_up(id).parents:
            paint(parent, below)


def _above(look_up: LookUp, start: str, lowest: int) -> Iterator[tuple[str, Commit]]:
    for id, commit in by_generation(look_up, start):
        if commit.generation < lowest:
            return
        yield id, commit
