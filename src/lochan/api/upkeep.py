"""One round of the upkeep of a lake by a policy: journals are trimmed, and branches of pools are compacted if they need
it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lochan.api.results import Result, microseconds
from lochan.errors import NotFound

if TYPE_CHECKING:
    from lochan.api.options import EngineOptions
    from lochan.api.session import Session
    from lochan.formats.pool_settings import PoolSettings
    from lochan.formats.record import Actor
    from lochan.jobs.compaction_plan import CompactRequest
    from lochan.pools.keys import Span
    from lochan.pools.upkeep import Upkeep

    UpkeepPolicy = Upkeep


# Which data objects of a pool are merged, and the results.


if TYPE_CHECKING:
    Key = datetime | bool | int | float | str
else:
    Key = Any  # a time from JSON is a text


class CompactOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    ids: tuple[str, ...] = ()  # of objects, or their beginnings, and what overlaps them; without any, all objects
    low: Key | None = None  # only objects with keys from this one on, or up to the other; either may be the lower one
    high: Key | None = None
    up_to: str = ""  # only objects that this ref holds
    upkeep: bool = False  # leaves alone what costs scans little: a few overlaps, a few small objects

    def request(self, settings: PoolSettings) -> CompactRequest:
        from lochan.jobs.compaction_plan import CompactRequest
        from lochan.pools.upkeep import ALWAYS, UPKEEP

        return CompactRequest(self.ids, self._span(settings), self.up_to, UPKEEP if self.upkeep else ALWAYS)

    def _span(self, settings: PoolSettings) -> Span | None:
        from lochan.pools.keys import bounds

        if self.low is None and self.high is None:
            return None
        is_time = bool(settings.keys) and settings.keys[0].path in settings.times
        first, last = _part(self.low, is_time), _part(self.high, is_time)
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


def _part(key: Key | None, is_time: bool) -> Any:
    from lochan.api.options import parse_time
    from lochan.pools.keys import Instant

    if isinstance(key, str) and is_time:
        key = parse_time(key)
    return Instant(microseconds(key)) if isinstance(key, datetime) else key


class JournalUpkeep(Result, frozen=True, kw_only=True, tag_field="kind", tag="journal"):
    """A journal that was trimmed, or could not be."""

    journal: str
    packed: int = 0  # segments that were made
    deleted: int = 0  # slots
    error: Exception | None = None


class BranchUpkeep(Result, frozen=True, kw_only=True, tag_field="kind", tag="branch"):
    """The result of upkeep of one branch of a pool."""

    pool: str
    branch: str  # empty if the rule leaves the pool alone
    outcome: str
    compacted: CompactResult | None = None
    error: Exception | None = None


Step = JournalUpkeep | BranchUpkeep


def read_policy(file: str | None) -> UpkeepPolicy:
    """Reads the policy of the file; without one, returns the standard policy. Raises NotFound, Invalid, Refused."""
    from lochan.pools.upkeep import STANDARD

    if file is None:
        return STANDARD
    from lochan.pools.upkeep_file import read

    return read(Path(file), file)


async def keep_up(
    session: Session, policy: UpkeepPolicy, pools: Sequence[str], engine: EngineOptions, actor: Actor
) -> AsyncIterator[Step]:
    """Trims journals and compacts pools. A failure does not stop the rest: its step holds the error."""
    async for trimmed in trim_journals(session, pools):
        yield trimmed
    async for compacted in compact_pools(session, policy, pools, engine, actor):
        yield compacted


async def trim_journals(session: Session, pools: Sequence[str] = ()) -> AsyncIterator[JournalUpkeep]:
    """Trims the journals of these pools, or of the whole lake. Yields those with work done, or a failure."""
    async for each in session.lake.trim(*pools):
        if each.error is not None:
            yield JournalUpkeep(journal=each.name, error=each.error)
        elif any(each.trimmed):
            packed, deleted = each.trimmed
            yield JournalUpkeep(journal=each.name, packed=packed, deleted=deleted)


async def compact_pools(
    session: Session, policy: UpkeepPolicy, pools: Sequence[str], engine: EngineOptions, actor: Actor
) -> AsyncIterator[BranchUpkeep]:
    from lochan.jobs.compaction import CompactJobOptions
    from lochan.jobs.upkeep import keep

    options = CompactJobOptions(engine.engine, engine.limits, session.spark(engine.master))
    async for kept in keep(session.lake.queries(), policy, pools, actor=actor, options=options):
        done = None if kept.compacted is None else CompactResult(**kept.compacted._asdict())
        yield BranchUpkeep(pool=kept.pool, branch=kept.branch, outcome=kept.outcome, compacted=done, error=kept.error)


async def expire_tokens(session: Session, repository: str) -> int:
    """Gives up address tokens that have expired, by the store's clock, so that they hold no file any more. Returns how
    many."""
    from lochan.versioning.collection.retention import expire_tokens

    async with session.opened(repository) as opened:
        return await expire_tokens(opened, actor=session.actor)


async def expire_uploads(session: Session, repository: str, before: int) -> int:
    """Aborts uploads in parts that were begun before that moment, in microseconds since 1970. Returns how many."""
    from lochan.versioning.uploads import abort, uploads

    count = 0
    async with session.opened(repository) as opened:
        for upload in await uploads(opened):
            if upload.time < before:
                with suppress(NotFound):  # another client has just completed or aborted it
                    await abort(opened, upload.id, actor=session.actor)
                    count += 1
    return count
