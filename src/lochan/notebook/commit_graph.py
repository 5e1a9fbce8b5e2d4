"""Draws the commit graph as text, downwards beside a log: a lane for each line of history that continues below.

    *        a commit
    |\\       a merge: what it brought in has a lane of its own, to the right
    | *
    |/       a lane that comes to where another one goes joins it
    *
    |_|/     behind lanes in between

It needs only ids, so it can draw any order with children before their parents.
"""

from collections.abc import Sequence

STAR = "*"


class CommitGraph:
    def __init__(self) -> None:
        self._lanes: list[str] = []  # where each one goes

    def commit(self, id: str, parents: Sequence[str]) -> tuple[str, list[str]]:
        """Returns the text before the commit's own line, and the lines that follow it."""
        at = self._lane(id)
        line = "".join(STAR + " " if lane == at else "| " for lane in range(len(self._lanes)))
        return line, self._go_on(at, parents)

    def skip(self, id: str, parents: Sequence[str]) -> list[str]:
        """Draws a commit that is not shown: its lane continues to its parents."""
        return self._go_on(self._lane(id), parents)

    def _lane(self, id: str) -> int:
        if id not in self._lanes:
            self._lanes.append(id)
        return self._lanes.index(id)

    def _go_on(self, at: int, parents: Sequence[str]) -> list[str]:
        if not parents:
            return self._end(at)
        first, *others = dict.fromkeys(parents)
        self._lanes[at] = first
        rows = [self._fork(at, other) for other in reversed(others)]
        while (twice := self._twice()) is not None:
            rows.append(self._join(*twice))
        return rows

    def _end(self, at: int) -> list[str]:
        """Ends the lane of a first commit: the lanes to the right move over."""
        del self._lanes[at]
        moved = len(self._lanes) - at
        return ["| " * at + " /" * moved] if moved else []

    def _fork(self, at: int, id: str) -> str:
        """Adds an edge from lane `at`: to its neighbour if that leads to the commit, else to a new lane beside it."""
        right = at + 1
        if right < len(self._lanes) and self._lanes[right] == id:
            return "| " * at + "|\\" + "| " * (len(self._lanes) - right)
        self._lanes.insert(right, id)
        return "| " * at + "|\\" + " \\" * (len(self._lanes) - right - 1)

    def _twice(self) -> tuple[int, int] | None:
        """Returns two lanes that lead to the same commit."""
        seen: dict[str, int] = {}
        for lane, id in enumerate(self._lanes):
            if id in seen:
                return seen[id], lane
            seen[id] = lane
        return None

    def _join(self, left: int, right: int) -> str:
        """Joins the right lane to the left one; those to the right of it move over."""
        del self._lanes[right]
        moved = len(self._lanes) - right
        return "| " * left + "|_" * (right - left - 1) + "|/" + " /" * moved
