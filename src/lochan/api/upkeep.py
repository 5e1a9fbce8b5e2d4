"""The upkeep of a lake by a policy, one round: journals are trimmed, and branches of pools compacted that need it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lochan.api.compaction import CompactResult

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
    from lochan.jobs.compaction import CompactJobOptions
    from lochan.jobs.upkeep import keep

    async for each in session.lake.trim(*pools):
        if each.error is not None:
            yield JournalUpkeep(each.name, 0, 0, each.error)
        elif any(each.trimmed):
            yield JournalUpkeep(each.name, *each.trimmed)
    options = CompactJobOptions(engine.engine, engine.limits, session.spark(engine.master))
    async for kept in keep(session.lake.queries(), policy, pools, actor=actor, options=options):
        done = None if kept.compacted is None else CompactResult(**kept.compacted._asdict())
        yield BranchUpkeep(kept.pool, kept.branch, kept.outcome, done, kept.error)
