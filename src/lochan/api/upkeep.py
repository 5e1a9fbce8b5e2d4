"""The upkeep of a lake by a policy, one round: journals are trimmed, and branches of pools compacted that need it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lochan.api.compaction import CompactResult
from lochan.errors import NotFound

if TYPE_CHECKING:
    from lochan.api.options import EngineOptions
    from lochan.api.session import Session
    from lochan.formats.record import Actor
    from lochan.pools.upkeep import Upkeep

    UpkeepPolicy = Upkeep


class JournalUpkeep(NamedTuple):
    """A journal that was trimmed, or could not be."""

    journal: str
    packed: int  # segments that were made
    deleted: int  # slots
    error: Exception | None = None


class BranchUpkeep(NamedTuple):
    """What became of a branch of a pool."""

    pool: str
    branch: str  # empty: the rule leaves the pool alone
    outcome: str
    compacted: CompactResult | None = None
    error: Exception | None = None


Step = JournalUpkeep | BranchUpkeep


def read_policy(file: str | None) -> UpkeepPolicy:
    """As the file says; without one, the standard. Raises NotFound, Invalid, Refused."""
    from lochan.pools.upkeep import STANDARD

    if file is None:
        return STANDARD
    from lochan.pools.upkeep_file import read

    return read(Path(file), file)


async def keep_up(
    session: Session, policy: UpkeepPolicy, pools: Sequence[str], engine: EngineOptions, actor: Actor
) -> AsyncIterator[Step]:
    """What fails does not stop the rest: its step has the error."""
    async for trimmed in trim_journals(session, pools):
        yield trimmed
    async for compacted in compact_pools(session, policy, pools, engine, actor):
        yield compacted


async def trim_journals(session: Session, pools: Sequence[str] = ()) -> AsyncIterator[JournalUpkeep]:
    """Of these pools, or of the whole lake. Gives those in which something was done, or has failed."""
    async for each in session.lake.trim(*pools):
        if each.error is not None:
            yield JournalUpkeep(each.name, 0, 0, each.error)
        elif any(each.trimmed):
            yield JournalUpkeep(each.name, *each.trimmed)


async def compact_pools(
    session: Session, policy: UpkeepPolicy, pools: Sequence[str], engine: EngineOptions, actor: Actor
) -> AsyncIterator[BranchUpkeep]:
    from lochan.jobs.compaction import CompactJobOptions
    from lochan.jobs.upkeep import keep

    options = CompactJobOptions(engine.engine, engine.limits, session.spark(engine.master))
    async for kept in keep(session.lake.queries(), policy, pools, actor=actor, options=options):
        done = None if kept.compacted is None else CompactResult(**kept.compacted._asdict())
        yield BranchUpkeep(kept.pool, kept.branch, kept.outcome, done, kept.error)


async def expire_uploads(session: Session, repository: str, before: int) -> int:
    """Aborts uploads in parts that were begun before that moment, in microseconds since 1970; gives how many."""
    from lochan.versioning.uploads import abort, uploads

    count = 0
    async with session.opened(repository) as opened:
        for upload in await uploads(opened):
            if upload.time < before:
                with suppress(NotFound):  # somebody who was quicker has completed or aborted it
                    await abort(opened, upload.id, actor=session.actor)
                    count += 1
    return count
