"""Which data objects of a pool are to be merged, and what came of it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from lochan.api.results import Result, microseconds

if TYPE_CHECKING:
    from lochan.formats.pool_settings import PoolSettings
    from lochan.jobs.compaction_plan import CompactRequest
    from lochan.pools.keys import Span

Key = datetime | bool | int | float | str


class CompactOptions(msgspec.Struct, frozen=True, kw_only=True):
    ids: tuple[str, ...] = ()  # of objects, or their beginnings, and what overlaps them; none: all
    low: Key | None = None  # only objects with keys from this one on, or up to the other; either may be the lower one
    high: Key | None = None
    up_to: str = ""  # only objects that this ref holds
    upkeep: bool = False  # leave alone what costs scans little: a few overlaps, a few small objects

    def request(self, settings: PoolSettings) -> CompactRequest:
        from lochan.jobs.compaction_plan import CompactRequest
        from lochan.pools.upkeep import ALWAYS, UPKEEP

        return CompactRequest(self.ids, self._span(settings), self.up_to, UPKEEP if self.upkeep else ALWAYS)

    def _span(self, settings: PoolSettings) -> Span | None:
        from lochan.pools.keys import bounds

        if self.low is None and self.high is None:
            return None
        first, last = _part(self.low), _part(self.high)
        span = bounds(first, last, settings)
        return span if span.low <= span.high else bounds(last, first, settings)


class CompactGroup(Result, frozen=True, kw_only=True):
    """Objects that would be merged with each other."""

    objects: int
    rows: int
    bytes: int
    why: str


class CompactResult(Result, frozen=True, kw_only=True):
    head: str
    before: int  # data objects
    after: int
    rows: int
    bytes_before: int
    bytes_after: int


EVERYTHING = CompactOptions()


def _part(key: Key | None) -> Any:
    from lochan.pools.keys import Instant

    return Instant(microseconds(key)) if isinstance(key, datetime) else key
