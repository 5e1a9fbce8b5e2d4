"""Where logs were left, so that the next page of one goes on there instead of walking down from its head again.

What a log has not shown yet are the ancestors of its open commits: those that come next in some line of history. They
are kept by the last commit that was shown. They are kept in memory alone: a log whose position is not known walks down
from its head until it meets that commit, and shows the same.
"""

from __future__ import annotations

from typing import NamedTuple

from lochan.bounded_cache import BoundedCache
from lochan.versioning.revisions.graph import LookUp, is_ancestor

_OPEN_COMMITS_MAX = 10_000  # of all positions of one repository; some 1.5 MB


class LogPosition(NamedTuple):
    start: str  # the commit that the ref named
    open: tuple[str, ...]


class LogPositions:
    """The positions in the logs of one repository. A key identifies a log: it is the ref and the request."""

    def __init__(self) -> None:
        self._kept: BoundedCache[tuple[object, str], LogPosition] = BoundedCache(_OPEN_COMMITS_MAX)

    def keep(self, key: object, last: str, position: LogPosition) -> None:
        """Keeps a position. `last` is the commit that was shown last."""
        self._kept.put((key, last), position, max(1, len(position.open)))

    def find(self, key: object, last: str, start: str, look_up: LookUp) -> LogPosition | None:
        """Returns the position behind that commit, if the ref, which names `start` now, still has the history that it
        had then."""
        found = self._kept.get((key, last))
        if found is None or not is_ancestor(look_up, found.start, start):
            return None
        return found
