"""The tasks of upkeep, as one table: what each is called, when it is done by standard, and the act that does it.

An act yields a step for each thing that it did or could not do; what it finds in order it does not mention. A thing
that fails does not stop the rest. Every act may be done by several servers at once: the journal decides who lands.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lochan.api.results import Result
from lochan.errors import LochanError

if TYPE_CHECKING:
    from lochan.api.session import Session
    from lochan.api.upkeep import UpkeepPolicy

DAY_US = 86_400_000_000


class UpkeepOptions(msgspec.Struct, frozen=True, kw_only=True):
    """When tasks are done, and their limits; see the settings `upkeep.…`."""

    schedule: Mapping[str, str] = {}  # by task, such as 1h, 03:00 or off; a task that is missing is done as by standard
    policy: UpkeepPolicy | None = None  # of pools; None: the standard one
    upload_days: float = 7.0
    usage_days: float | None = None  # how long the usage log is kept; None: for ever
    grace_hours: float = 24.0
    memory_bytes: int = 512 << 20
    threads: int = 1


STANDARD_OPTIONS = UpkeepOptions()


class TaskStep(Result, frozen=True, kw_only=True):
    """One thing that a task did, or could not do."""

    task: str
    where: str  # a repository or a branch; `lake`
    outcome: str
    error: str = ""


class Did(NamedTuple):
    """What an act says of one thing."""

    where: str
    outcome: str = ""
    error: Exception | None = None


Act = Callable[["Session", UpkeepOptions], AsyncIterator[Did]]


class UpkeepTask(NamedTuple):
    name: str
    about: str
    when: str  # by standard
    act: Act


async def _trim(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    from lochan.api.upkeep import trim_journals

    async for each in trim_journals(session):
        done = f"made {each.packed} segments, deleted {each.deleted} slots"
        yield Did(each.journal.removeprefix("_"), done, each.error)


async def _uploads(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    from lochan.api.upkeep import expire_tokens, expire_uploads

    before = session.lake.clock.wall() - round(options.upload_days * DAY_US)
    for each in await session.lake.repositories():
        try:
            count = await expire_uploads(session, each.name, before)
            tokens = await expire_tokens(session, each.name)
        except (LochanError, OSError) as error:  # one that is damaged, or deleted meanwhile
            yield Did(each.name, error=error)
        else:
            if count:
                yield Did(each.name, f"aborted {count} uploads")
            if tokens:
                yield Did(each.name, f"gave up {tokens} expired address tokens")


async def _staging(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    """Writers merge what they stage. What a writer that is gone has left is merged here."""
    from lochan.versioning.upkeep import compact, cover

    for each in await session.lake.repositories():
        try:
            async with session.opened(each.name) as repository:
                refs, _ = await repository.refs()
                for branch in [found.name for found in refs.branches()]:
                    steps = 0
                    while await compact(repository, branch):
                        steps += 1
                    if await cover(repository, branch) or steps:
                        yield Did(f"{each.name}@{branch}", f"merged staged changes in {steps} steps")
        except (LochanError, OSError) as error:
            yield Did(each.name, error=error)


async def _compact(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    from lochan.api.options import EngineOptions
    from lochan.api.upkeep import compact_pools, read_policy

    engine = EngineOptions(engine="duckdb", memory_bytes=options.memory_bytes, threads=options.threads)
    policy = options.policy or read_policy(None)
    async for each in compact_pools(session, policy, (), engine, session.actor):
        where = f"{each.pool}@{each.branch}" if each.branch else each.pool
        if each.compacted is not None:
            made = each.compacted
            yield Did(where, f"compacted {made.before} data objects into {made.after}, {made.rows} rows")
        elif each.error is not None:
            yield Did(where, error=each.error)


async def _gc(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    from lochan.api.collection import GarbageCollection

    for each in await session.lake.repositories():
        try:
            made = await GarbageCollection(session, each.name).run(options.grace_hours)
        except (LochanError, OSError) as error:
            yield Did(each.name, error=error)
            continue
        if made.swept is not None:
            yield Did(each.name, f"deleted {made.swept.files} files, {made.swept.bytes} bytes")
        for dropped in made.dropped or ():
            if dropped.commit:
                amount = f"{dropped.rows} rows" if dropped.rows else f"{dropped.objects} objects"
                yield Did(f"{each.name}@{dropped.branch}", f"dropped {amount} by {dropped.rule}")
        if made.expired is not None and (made.expired.commits or made.expired.branches or made.expired.tokens):
            expired = len(made.expired.commits), len(made.expired.branches), made.expired.tokens
            yield Did(each.name, "expired {} commits, {} deleted branches, {} address tokens".format(*expired))
        if made.planned is not None:
            yield Did(each.name, f"planned {made.planned.files} files, {made.planned.bytes} bytes")


async def _deleted(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    """Whoever has turned this task on has confirmed that files go."""
    from lochan.api.deleted import DeletedCollection

    made = await DeletedCollection(session).run(options.grace_hours, confirmed=True)
    for found in made.found:
        yield Did(found, "found without a name")
    for each in made.planned:
        yield Did(each.name or each.id, f"can no longer be restored, {each.files} files")
    for erased in made.erased:
        yield Did(erased.name or erased.id, f"erased {erased.files} files, {erased.bytes} bytes")
    if made.records or made.temporary:
        yield Did("lake", f"deleted {made.records} old job records, {made.temporary} temporary files")


async def _usage(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    from lochan.api.usage import compact_usage

    made = await compact_usage(session, options.usage_days)
    if made.days or made.deleted_days:
        yield Did("lake", f"merged {made.files} files of {made.days} days, deleted {made.deleted_days} days")


TASKS: Mapping[str, UpkeepTask] = {
    each.name: each
    for each in (
        UpkeepTask("trim", "pack old journal records into segments, delete old checkpoints", "1h", _trim),
        UpkeepTask("uploads", "abort multipart uploads that nobody completes", "1h", _uploads),
        UpkeepTask("staging", "merge staged changes on branches that nobody writes to", "6h", _staging),
        UpkeepTask("usage", "merge and age the usage log", "24h", _usage),
        UpkeepTask("compact", "merge data objects of pools that overlap or are small", "off", _compact),
        UpkeepTask("gc", "sweep, expire and plan in every repository", "off", _gc),
        UpkeepTask("deleted", "erase deleted repositories that can no longer be restored", "off", _deleted),
    )
}
