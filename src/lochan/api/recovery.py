"""The verbs `fsck`, `rebuild`, `scrub` and `backup`, and `restore`, which makes a lake: their results, and how they use
`lochan.recovery`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from lochan.api.results import Result, moment
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.session import Session
    from lochan.clock import Clock
    from lochan.formats.record import Actor
    from lochan.jobs.record import JobReporter
    from lochan.recovery.backup import BackupManifest
    from lochan.recovery.copy_lake import LakeCopy
    from lochan.recovery.digests import DigestSource
    from lochan.recovery.rebuild_lake import JournalRebuild
    from lochan.recovery.scrub import ScrubStep
    from lochan.store.protocol import Store

_LOST_SHOWN = 1_000
_RECORDED_MAX = 100  # damaged files in one event


class FindingInfo(Result, frozen=True, kw_only=True):
    kind: str
    damage: bool  # whether it is damage; otherwise it is only a note
    path: str
    repository: str  # its name; empty for the lake itself
    detail: str
    count: int  # files
    bytes: int
    meaning: str
    remedy: str
    repaired: str  # what was done about it; empty if nothing was


class FsckResult(Result, frozen=True, kw_only=True):
    repositories: int
    events: int  # the number of events of their journals
    files: int
    bytes: int
    damaged: int  # findings
    repaired: int
    findings: tuple[FindingInfo, ...]

    @property
    def is_damaged(self) -> bool:
        return any(each.damage and not each.repaired for each in self.findings)


class RebuiltInfo(Result, frozen=True, kw_only=True):
    path: str
    kind: str  # checkpoint, metarange, range, run
    outcome: str  # made, missing, differs, lost
    reason: str


class RebuildPart(Result, frozen=True, kw_only=True):
    repository: str  # its name; empty for the lake's own journal
    events: int
    same: int  # files that are the same, byte for byte
    same_content: int  # files with the same rows, which another release of Parquet has written
    made: int
    missing: int  # files that a check found missing
    differs: int
    lost: int
    primary: int  # trees that cannot be made again from events, and are checked by their hash alone
    files: tuple[RebuiltInfo, ...]  # files that are not the same


class RebuildResult(Result, frozen=True, kw_only=True):
    parts: tuple[RebuildPart, ...]

    @property
    def is_whole(self) -> bool:
        return not any(each.lost or each.differs or each.missing for each in self.parts)


class ScrubResult(Result, frozen=True, kw_only=True):
    repository: str
    files: int  # read by this call
    bytes: int
    complete: bool  # whether the round is complete
    rounds: int
    damaged: tuple[FindingInfo, ...]  # what the round has found so far


class BackupResult(Result, frozen=True, kw_only=True):
    url: str
    lake: str  # its id
    repositories: int
    files: int  # copied
    bytes: int
    kept: int  # files that were there already
    records: int  # the number of records of journals
    ended: datetime
    lost: tuple[str, ...]  # files that the lake itself has lost


async def fsck(
    store: Store,
    clock: Clock,
    repositories: Sequence[str] = (),
    *,
    data: bool = False,
    repair: bool = False,
    progress: Callable[[int], None] | None = None,
) -> FsckResult:
    from lochan.recovery.fsck import Fsck, FsckRequest
    from lochan.recovery.seen_files import SeenFiles

    seen = store if progress is None else SeenFiles(store, progress)
    work = Fsck(seen, FsckRequest(tuple(repositories), data, repair), scratch_store, clock)
    findings = [
        FindingInfo(
            kind=each.kind,
            damage=each.is_damage,
            path=each.path,
            repository=each.repository,
            detail=each.detail,
            count=each.count,
            bytes=each.bytes,
            meaning=each.meaning,
            remedy=each.remedy,
            repaired=each.repaired,
        )
        async for each in work.run()
    ]
    total = work.totals
    return FsckResult(
        repositories=total.repositories,
        events=total.events,
        files=total.files,
        bytes=total.bytes,
        damaged=total.damaged,
        repaired=total.repaired,
        findings=tuple(findings),
    )


async def rebuild(
    session: Session,
    repositories: Sequence[str] = (),
    *,
    check: bool = False,
    missing: bool = False,
    to: str = "",
    engine: str = "",
    master: str = "",
) -> RebuildResult:
    from lochan.recovery.rebuild_lake import LakeRebuild, RebuildRequest

    if engine not in ("", "auto", "embedded", "spark"):
        raise Invalid(f"there is no engine {engine!r}", hint="there are auto, embedded and spark")
    if check and (missing or to):
        raise Invalid("a check writes nothing", hint="leave out either it or what says where and what to write")
    lake = session.lake
    elsewhere = open_destination(lake.other_store, to) if to else None
    request = RebuildRequest(tuple(repositories), check, missing, elsewhere)
    digest = await _digest_on_spark(session, master) if engine == "spark" else None
    work = LakeRebuild(await lake.storages.current_files(), request, scratch_store, lake.clock, digest)
    return RebuildResult(parts=tuple([_rebuild_part(each) async for each in work.run()]))


async def _digest_on_spark(session: Session, master: str) -> DigestSource:
    import asyncio

    from lochan.api.options import DEFAULT_ENGINE
    from lochan.engines.spark.session import session_at
    from lochan.jobs.journal_digests import digest_wave
    from lochan.jobs.tasks import on_spark
    from lochan.recovery.digests import in_waves

    lake = session.lake
    spark = await asyncio.to_thread(session_at, session.spark(master or None), DEFAULT_ENGINE.limits)
    tag = f"lochan-{lake.ids.ksuid(lake.clock.wall())}"

    async def wave(journal: str, segments: Sequence[tuple[int, str]], stops: Sequence[int]) -> list[bytes]:
        def work() -> list[bytes]:
            return digest_wave(spark, lake.place.for_others(), journal, segments, stops)

        return await on_spark(spark, work, tag=tag, about=f"check the journal {journal}")

    return in_waves(wave)


def _rebuild_part(part: JournalRebuild) -> RebuildPart:
    counts = part.outcomes
    return RebuildPart(
        repository=part.name,
        events=part.events,
        same=counts.get("same", 0),
        same_content=counts.get("same-content", 0),
        made=counts.get("made", 0),
        missing=counts.get("missing", 0),
        differs=counts.get("differs", 0),
        lost=counts.get("lost", 0),
        primary=part.primary,
        files=tuple(
            RebuiltInfo(path=each.path, kind=each.kind, outcome=each.outcome, reason=each.reason)
            for each in part.files[:_LOST_SHOWN]
        ),
    )


async def scrub(
    session: Session,
    repositories: Sequence[str] = (),
    *,
    rate: int,
    seconds: float,
    job: JobReporter | None = None,
) -> tuple[ScrubResult, ...]:
    """Scrubs repositories. Findings are recorded in an event of the lake's journal, and in a line of the job."""
    from lochan.recovery.findings import KINDS
    from lochan.recovery.scrub import scrub_step

    if rate <= 0:
        raise Invalid(f"a rate of {rate} bytes in a second reads nothing", hint="such as 50MB/s")
    names = list(repositories) or [each.name for each in await session.lake.repositories()]
    results = []
    for number, name in enumerate(names):
        async with session.opened(name) as repository:
            alarm = repository.journal.schema.alarm
            step = await scrub_step(repository, rate=rate, seconds=seconds or float("inf"), alarm=alarm)
            await _record_findings(session, repository.repository.id, step)
        damaged = tuple(
            FindingInfo(
                kind=kind,
                damage=True,
                path=address,
                repository=name,
                detail=f"needed by {path!r}" + (f"; {detail}" if detail else ""),
                count=1,
                bytes=0,
                meaning=KINDS[kind].meaning,
                remedy=KINDS[kind].remedy,
                repaired="",
            )
            for kind, address, path, detail in step.report.damaged
        )
        if job is not None:
            job.log(f"{name}: read {step.files} files, {step.bytes} bytes")
            for found in step.found:
                job.log(f"{name}: {found.kind}: {found.address}, needed by {found.path!r}")
            job.progress(number + 1, len(names))
        results.append(
            ScrubResult(
                repository=name,
                files=step.files,
                bytes=step.bytes,
                complete=step.is_complete,
                rounds=step.report.rounds,
                damaged=damaged,
            )
        )
    return tuple(results)


async def scrub_as_job(
    session: Session, repositories: Sequence[str] = (), *, rate: int, seconds: float
) -> tuple[ScrubResult, ...]:
    """Scrubs repositories as a job of its own, which `lochan jobs` shows. The job has failed if there is damage."""
    from lochan.formats.job import DONE, FAILED
    from lochan.jobs.record import JobReporter

    job = JobReporter(session.lake, "scrub", ", ".join(repositories) or "all repositories", session.actor, "")
    try:
        made = await scrub(session, repositories, rate=rate, seconds=seconds, job=job)
    except BaseException as error:
        job.failed(error)
        raise
    damaged = sum(len(each.damaged) for each in made)
    job.end(FAILED if damaged else DONE, f"damaged files: {damaged}" if damaged else "")
    return made


async def damaged_files(session: Session) -> dict[str, int]:
    """Returns how many files of each repository, by its name, scrubs have found damaged."""
    from lochan.versioning.state.damage import Damage

    found = (await (await session.lake.journal()).fresh()).of(Damage)
    return {each.name: found.files(each.id) for each in await session.lake.repositories()}


async def _record_findings(session: Session, repository: str, step: ScrubStep) -> None:
    """Records findings in the lake's journal: each round records them as they are found, and at its end if there are
    fewer than before."""
    from lochan.formats.lake_events import DamagedFile, DamageFound
    from lochan.journal.group import AppendRequest
    from lochan.versioning.state.damage import Damage

    journal = await session.lake.journal()
    before = (await journal.fresh()).of(Damage).files(repository)
    now = len(step.report.damaged)
    now = now if step.is_complete else max(now, before)  # until its end, a round has not seen everything
    if not step.found and now == before:
        return
    files = tuple(DamagedFile(each.kind, each.address, each.path, each.detail) for each in step.found[:_RECORDED_MAX])
    event = DamageFound(repository, files, len(step.found), now)
    await journal.submit(AppendRequest(session.actor, lambda state: [event]))


async def backup(session: Session, destination: str, *, verify: bool = False) -> BackupResult:
    from lochan.recovery.backup import Backup
    from lochan.recovery.verify_backup import verify_backup

    lake = session.lake
    target = open_destination(lake.other_store, destination)
    manifest, copy = await Backup(lake, target, session.actor).run()
    if verify:
        await verify_backup(target)
    return _backup_result(target, manifest, copy)


async def restore(source: Store, target: Store) -> BackupResult:
    """Makes a lake from a backup."""
    from lochan.recovery.restore import RestoredLake

    manifest, copy = await RestoredLake(source, target).run()
    return _backup_result(target, manifest, copy)


async def let_go(store: Store, actor: Actor) -> None:
    """Releases the files that the backup held open, in a lake that was just restored, so that garbage is collected
    again."""
    from lochan.lake import Lake
    from lochan.recovery.backup import abandon_held

    lake = await Lake.open(store)
    try:
        await lake.storages.take_in(actor=actor)
        for repository in await lake.repositories():
            await abandon_held(lake, repository.id, actor)
    finally:
        await lake.close()


def _backup_result(target: Store, manifest: BackupManifest, copy: LakeCopy) -> BackupResult:
    total = copy.totals
    return BackupResult(
        url=target.url,
        lake=manifest.lake,
        repositories=len(manifest.names),
        files=total.files,
        bytes=total.bytes,
        kept=total.kept,
        records=total.records,
        ended=moment(manifest.ended),
        lost=tuple(f"{path}: {why}" for path, why in total.lost[:_LOST_SHOWN]),
    )


def open_destination(open_store: Callable[[str], Store], destination: str) -> Store:
    """Opens the store of a destination. A missing folder is made. Raises the errors of opening the store."""
    if not destination:
        raise Invalid("the destination is empty", hint="give a folder or a URL")
    if "://" in destination and not destination.startswith("file://"):
        return open_store(destination)
    folder = Path(destination.removeprefix("file://")).absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        from lochan.errors import from_os_error

        raise from_os_error(error) from error
    return open_store(folder.as_uri())


@contextmanager
def scratch_store() -> Iterator[Store]:
    """Opens a store in a temporary folder, which is removed afterwards."""
    from shutil import rmtree

    from lochan.store.local import LocalStore
    from lochan.store.scratch import make_folder

    folder = make_folder()
    try:
        yield LocalStore(folder)
    finally:
        rmtree(folder, ignore_errors=True)
