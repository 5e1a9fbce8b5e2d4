"""The acts behind the tasks of upkeep.

An act yields a line for each thing that it did or could not do, and none for things that are in order. A failure does
not stop the rest. Every act may be done by several servers at once: the journal decides which one lands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

from lochan.api.upkeep_options import DAY_US, Did, UpkeepOptions
from lochan.errors import Corrupt, Invalid, LochanError, NothingToDo

if TYPE_CHECKING:
    from lochan.api.session import Session

FILES = "files"  # the kind of a repository that holds files


async def trim(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    from lochan.api.upkeep import trim_journals

    async for each in trim_journals(session):
        done = f"made {each.packed} segments, deleted {each.deleted} slots"
        yield Did(each.journal.removeprefix("_"), done, each.error)


async def abort_uploads(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    from lochan.api.upkeep import expire_tokens, expire_uploads

    before = session.lake.clock.wall() - round(options.upload_days * DAY_US)

    async def abort(name: str) -> str:
        count = await expire_uploads(session, name, before)
        tokens = await expire_tokens(session, name)
        aborted = f"aborted {count} uploads" if count else ""
        return "; ".join(filter(None, (aborted, f"gave up {tokens} expired address tokens" if tokens else "")))

    async for did in _each_repository(session, abort):
        yield did


async def abandon_jobs(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    from lochan.api.collection import GarbageCollection

    async def abandon(name: str) -> str:
        jobs = await GarbageCollection(session, name).abandon_jobs()
        return f"gave up {len(jobs)} jobs whose process is gone" if jobs else ""

    async for did in _each_repository(session, abandon):
        yield did


async def merge_staged(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    """Merges staged changes that a writer has left behind. Usually writers merge them themselves."""
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


async def compact_pools(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    from lochan.api import upkeep
    from lochan.api.options import EngineOptions

    engine = EngineOptions(engine="duckdb", memory_bytes=options.memory_bytes, threads=options.threads)
    policy = options.policy or upkeep.read_policy(None)
    async for each in upkeep.compact_pools(session, policy, (), engine, session.actor):
        where = f"{each.pool}@{each.branch}" if each.branch else each.pool
        if each.compacted is not None:
            made = each.compacted
            yield Did(where, f"compacted {made.before} data objects into {made.after}, {made.rows} rows")
        elif each.error is not None:
            yield Did(where, error=each.error)


async def collect(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    from lochan.api.collection import GarbageCollection

    async def run(name: str) -> str:
        made = await GarbageCollection(session, name).run(options.grace_hours)
        done = [
            f"dropped {f'{each.rows} rows' if each.rows else f'{each.objects} objects'} of {each.branch} by {each.rule}"
            for each in made.dropped or ()
            if each.commit
        ]
        if made.swept is not None:
            done.append(f"deleted {made.swept.files} files, {made.swept.bytes} bytes")
        if made.expired is not None:
            done.append(_describe_expiries(made.expired.as_json()))
        if made.planned is not None:
            done.append(f"planned {made.planned.files} files, {made.planned.bytes} bytes")
        return "; ".join(filter(None, done))

    async for did in _each_repository(session, run):
        yield did


async def expire(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    from lochan.api.collection import GarbageCollection

    async def run(name: str) -> str:
        return _describe_expiries((await GarbageCollection(session, name).expire()).as_json())

    async for did in _each_repository(session, run):
        yield did


def _describe_expiries(found: dict[str, object]) -> str:
    """Returns a text such as `expired 2 commits, 1 tokens`."""
    counts = {name: len(value) if isinstance(value, list | tuple) else int(str(value)) for name, value in found.items()}
    some = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    return f"expired {some}" if some else ""


async def erase_deleted(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    """Erases deleted repositories. Turning this task on confirms that files are deleted."""
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


async def merge_usage(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    from lochan.api.usage import compact_usage

    made = await compact_usage(session, options.usage_days)
    if made.days or made.deleted_days:
        yield Did("lake", f"merged {made.files} files of {made.days} days, deleted {made.deleted_days} days")


async def repack(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    from lochan.api.storage import Storage

    async def run(name: str) -> str:
        made = await Storage(session, name).repack()
        return f"rewrote {made.files} files, {made.freed_bytes} bytes can be freed" if made.files else ""

    async for did in _each_repository(session, run, kind=FILES):
        yield did


async def dedupe(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    from lochan.api.storage import Storage

    async def run(name: str) -> str:
        made = await Storage(session, name).dedupe()
        return f"aliased {made.duplicates} blocks, {made.duplicate_bytes} bytes" if made.duplicates else ""

    async for did in _each_repository(session, run):
        yield did


async def scrub(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    """Scrubs a part of every repository; the next run continues where this one ends."""
    from lochan.api import recovery

    for each in await session.lake.repositories():
        try:
            [made] = await recovery.scrub(
                session, [each.name], rate=options.scrub_rate, seconds=options.scrub_minutes * 60
            )
        except (LochanError, OSError) as error:
            yield Did(each.name, error=error)
            continue
        if made.files:
            yield Did(each.name, f"read {made.files} files, {made.bytes} bytes")
        for found in made.damaged:
            yield Did(each.name, error=Corrupt(f"{found.kind}: {found.path} {found.detail}", hint=found.remedy))


async def ingest(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    """Makes each branch the same as the place that it follows."""
    from lochan.api.imports import ImportSource
    from lochan.api.repository import Repository
    from lochan.api.uri import prefix_uri

    for text in options.ingest_sources.split():
        place, found, url = text.partition("=")
        try:
            if not found:
                raise Invalid(
                    f"upkeep.ingest_sources: {text!r} names no source", hint="such as demo@main=s3://bucket/logs/"
                )
            uri = prefix_uri(place)
            branch = Repository(session, uri.repository).branch(uri.ref)
            made = await branch.ingest(ImportSource(url, uri.path))
        except NothingToDo:
            continue
        except (LochanError, OSError) as error:
            yield Did(place, error=error)
            continue
        yield Did(place, f"added {made.added}, changed {made.changed}, removed {made.removed} objects")


async def _each_repository(
    session: Session, act: Callable[[str], Awaitable[str]], *, kind: str = ""
) -> AsyncIterator[Did]:
    """Runs an act for every repository. One that is damaged, or deleted meanwhile, does not stop the rest."""
    for each in await session.lake.repositories():
        if kind and each.kind != kind:
            continue
        try:
            done = await act(each.name)
        except (LochanError, OSError) as error:
            yield Did(each.name, error=error)
        else:
            if done:
                yield Did(each.name, done)
