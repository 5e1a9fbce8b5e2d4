"""When the small objects of a stream are merged, and how far: eight commits into one object, eight of those into one,
and so on up to the pool's own size. So a row is written again only as often as its object has grown eightfold.
"""

from __future__ import annotations

from lochan.engines.compact import CompactRequest
from lochan.pools.upkeep import Policy

FAN = 8
_ROOM = 1.25  # merged rows take less, and what was merged must not be small again in the next round
# Where keys come in no order, everything runs into everything, and each round would write all of it again.
_OVERLAPPING = 2 * FAN


class Rhythm:
    """`size_bytes` is what an object of the pool is to have."""

    def __init__(self, size_bytes: int) -> None:
        self._size_bytes = size_bytes
        self._commits = self._bytes = 0

    def landed(self, size_bytes: int) -> CompactRequest | None:
        """A commit of so many bytes has come to the branch: what is to be merged now, if anything."""
        self._commits += 1
        self._bytes += size_bytes
        if self._commits % FAN:
            return None
        fit = int(self._bytes / self._commits * self._together() * _ROOM)
        return CompactRequest(policy=Policy(_OVERLAPPING, 1), size_bytes=min(self._size_bytes, max(1, fit)))

    def _together(self) -> int:
        """How many commits one object is to hold: the greatest power of eight that their number is a multiple of."""
        commits = 1
        while self._commits % (commits * FAN) == 0:
            commits *= FAN
        return commits
