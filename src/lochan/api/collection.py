"""Garbage collection of one repository: what its rules keep, what nothing names any more, and its removal.

Two plans, a grace apart, are needed before the first byte goes: the first draws a line, the second lists what was
written before it. Another grace later the list can be swept. `run` does whatever is due, so that calling it once a day
is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypedDict, TypeVar

from lochan.api.collection_times import grace_seconds, longest_days
from lochan.api.default_rules import default_rules, fits, rules_in_force, shown_rules_in_force, take_rules
from lochan.api.options import DEFAULT_ENGINE, EngineOptions
from lochan.api.results import Result
from lochan.api.retention import ExpireResult as ExpireResult
from lochan.api.retention import KeepRule as KeepRule
from lochan.api.retention import LiveRule as LiveRule
from lochan.api.retention import RetentionCheck as RetentionCheck
from lochan.api.retention import RetentionInfo as RetentionInfo
from lochan.api.retention import RuleDrop as RuleDrop
from lochan.api.retention import (
    as_rules,
    checked_rules,
    drop,
    find_drops,
    shown_expired,
    shown_rules,
    warnings_of,
)
from lochan.errors import Refused

if TYPE_CHECKING:
    from lochan.api.session import Session
    from lochan.engines.spark.progress import Listener
    from lochan.formats.record import Actor
    from lochan.jobs.collection.run import CollectJobOptions
    from lochan.store.open import StoreLocation
    from lochan.versioning.collection.dead_jobs import HeldJob
    from lochan.versioning.collection.plan import CollectionLimits, CollectionPlan
    from lochan.versioning.open_repository import OpenRepository

GRACE_HOURS = 24.0


class KindOfFiles(Result, frozen=True, kw_only=True):
    kind: str  # data, run, range, metarange, workspace
    files: int
    bytes: int


class DeadReason(Result, frozen=True, kw_only=True):
    why: str  # expired, uncommitted, workspace, metadata
    means: str  # the reason in words
    files: int
    bytes: int


class DeadPrefix(Result, frozen=True, kw_only=True):
    prefix: str | None  # the first folders of logical paths; None if the paths are unknown
    files: int
    bytes: int


class PlanResult(Result, frozen=True, kw_only=True):
    plan: int  # its number in the journal; 0 for a preview
    files: int  # files that nothing names
    bytes: int
    all_files: int  # all files of the repository
    all_bytes: int
    kinds: tuple[KindOfFiles, ...]
    reasons: tuple[DeadReason, ...] = ()  # the largest first
    prefixes: tuple[DeadPrefix, ...] = ()  # the largest first


class SweepResult(Result, frozen=True, kw_only=True):
    plan: int
    files: int
    bytes: int


class CollectionStatus(Result, frozen=True, kw_only=True):
    plan: int  # the newest one; 0 if there was none
    running: int  # the one that is neither swept nor abandoned; 0 if there is none
    swept: SweepResult | None  # what the newest plan's sweep deleted
    longest_days: float  # the time from a deletion to the bytes being gone, if `run` is called regularly
    plan_appends: int = 2  # records by which a plan lands, however many others write, because it never tries again


class HeldJobInfo(Result, frozen=True, kw_only=True):
    """A job that keeps the files that it writes from being collected."""

    id: str
    kind: str  # load, compact, write …; empty if the lake's list of jobs does not have it
    about: str
    state: str  # running, done, failed, cancelled; empty as above
    held_hours: float
    silent_hours: float  # since its last sign of life
    dead: bool  # whether upkeep abandons it


class CollectionRun(Result, frozen=True, kw_only=True):
    """The work of one run. A field is None if that part was not due."""

    swept: SweepResult | None
    dropped: tuple[RuleDrop, ...] | None  # live rows and objects that the rules drop
    expired: ExpireResult | None
    planned: PlanResult | None
    waits: str  # why something was not done; empty if there is no reason
    jobs: int = 0  # the number of dead jobs that were abandoned


class CollectionJob(TypedDict):
    actor: Actor
    options: CollectJobOptions


class GarbageCollection:
    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self.name = name

    def __repr__(self) -> str:
        return f"<GarbageCollection {self.name}>"

    async def rules(self) -> RetentionInfo:
        """Returns the rules for how long each kind of data is kept."""
        async with self._session.opened(self.name) as repository:
            return await shown_rules_in_force(self._session, repository)

    async def set_rules(
        self, rules: RetentionInfo | Sequence[KeepRule] | None, undo_days: float = 30, *, key: str = ""
    ) -> RetentionInfo:
        """Replaces all rules; a sequence replaces those of branches alone. With None, the repository has no rules of
        its own any more, and follows the lake's. Nothing expires before `expire` or `run` is called. Raises Invalid for
        rules that contradict each other or are never used, and NotFound for a branch that does not exist, or if the
        lake has no default rules."""
        from lochan.versioning.collection.retention import set_retention
        from lochan.versioning.collection.take_default_rules import replace_own_rules

        if rules is None:
            default = await default_rules(self._session)
            actor = self._session.acting(key, "take default retention", self.name)
            async with self._session.opened(self.name) as repository:
                return shown_rules(await replace_own_rules(repository, default, fits(repository), actor=actor))
        info = as_rules(rules, undo_days)
        actor = self._session.acting(key, "set retention", self.name, info.as_json())
        async with self._session.opened(self.name) as repository:
            event = await checked_rules(repository, info)
            return shown_rules(await set_retention(repository, event, actor=actor))

    async def check_rules(
        self, rules: RetentionInfo | Sequence[KeepRule] | None = None, undo_days: float = 30
    ) -> RetentionCheck:
        """Returns what these rules, or those that are set, would let expire and drop now, and which rule decides.
        Changes nothing. Raises as `set_rules` does."""
        from lochan.versioning.collection.retention import find_expirable

        async with self._session.opened(self.name) as repository:
            event = await rules_in_force(self._session, repository)
            source = "" if rules is not None else (await shown_rules_in_force(self._session, repository)).source
            if rules is not None:
                event = await checked_rules(repository, as_rules(rules, undo_days))
            expired = shown_expired(await find_expirable(repository, event))
            drops = await find_drops(self._session, repository, event)
            fields = {name: getattr(expired, name) for name in expired.__struct_fields__}
            return RetentionCheck(**fields, drops=drops, source=source, warnings=warnings_of(event))

    async def expire(self) -> ExpireResult:
        """Lets expire what the rules no longer keep: from then on nobody can read it, and a later plan lists its files.
        Uploads, workspaces and stashes that are too old are given up, and so are tokens that have expired."""
        from lochan.versioning.collection.retention import expire

        async with self._session.opened(self.name) as repository:
            await take_rules(self._session, repository)
            return shown_expired(await expire(repository, actor=self._session.actor))

    async def drop(self) -> tuple[RuleDrop, ...]:
        """Drops live data of branches that was not written or read for longer than a rule allows: one commit for each
        branch, which names the rules."""
        async with self._session.opened(self.name) as repository:
            return await drop(self._session, repository)

    async def preview(
        self,
        grace_hours: float = GRACE_HOURS,
        engine: EngineOptions = DEFAULT_ENGINE,
        *,
        progress: Listener | None = None,
    ) -> PlanResult:
        """Returns what nothing names and was written longer ago than the grace. It needs no plan before it, and changes
        nothing. `progress` is called with its progress."""
        from lochan.jobs.collection.run import preview

        async with self._session.opened(self.name) as repository:
            rules = await rules_in_force(self._session, repository)
            lake, place, limits = self._lake(grace_hours)
            age_s = max(limits.grace_s, rules.block_days * 86_400)  # the lake's rules may not have been taken over yet
            limits = limits._replace(grace_s=age_s)
            return _plan_result(await preview(repository, lake, place, limits, **self._job(engine, progress)))

    async def plan(
        self,
        grace_hours: float = GRACE_HOURS,
        engine: EngineOptions = DEFAULT_ENGINE,
        *,
        progress: Listener | None = None,
    ) -> PlanResult:
        """Lists what nothing names and was written before the last plan. From now on nothing can name it again. Raises
        Refused if the last plan is younger than the grace, or is neither swept nor abandoned; Corrupt if something that
        is alive cannot be read, and then nothing is listed."""
        from lochan.jobs.collection.run import plan
        from lochan.versioning.collection.alias_maker import drop_aliases

        async with self._session.opened(self.name) as repository:
            await take_rules(self._session, repository)
            made = await plan(repository, *self._lake(grace_hours), **self._job(engine, progress))
            await drop_aliases(repository, self._session.lake.id, actor=self._session.actor)
            return _plan_result(made)

    async def sweep(
        self,
        grace_hours: float = GRACE_HOURS,
        engine: EngineOptions = DEFAULT_ENGINE,
        *,
        confirmed: bool = False,
        progress: Listener | None = None,
    ) -> SweepResult:
        """Deletes what the plan lists. A sweep that was interrupted can be repeated. Raises Refused if there is no
        plan, if it is younger than the grace, or if more than half of the bytes would go and that is not `confirmed`;
        Corrupt if the list is damaged, or names something that is alive, and then nothing is deleted."""
        from lochan.jobs.collection.run import sweep

        async with self._session.opened(self.name) as repository:
            made = await sweep(repository, *self._lake(grace_hours, confirmed), **self._job(engine, progress))
        return SweepResult(plan=made.plan, files=made.files, bytes=made.bytes)

    async def abandon(self) -> int:
        """Gives up the plan that is under way; a later one lists its files once more. Returns its number. Raises
        Refused if there is none."""
        from lochan.versioning.collection.plan import abandon

        async with self._session.opened(self.name) as repository:
            return await abandon(repository, actor=self._session.actor)

    async def held_jobs(self) -> list[HeldJobInfo]:
        """Returns the jobs that keep the files that they write from being collected: loads, writes and compactions that
        run on Spark, or that have met a plan."""
        from lochan.versioning.collection.dead_jobs import held_jobs

        async with self._session.opened(self.name) as repository:
            return [_held_job(each) for each in await held_jobs(repository)]

    async def abandon_jobs(self, jobs: Sequence[str] = ()) -> list[HeldJobInfo]:
        """Gives up jobs whose process is gone, or these, whatever they do; a later plan lists their files. A job that
        comes back is refused. Raises NotFound."""
        from lochan.versioning.collection.dead_jobs import abandon_jobs

        async with self._session.opened(self.name) as repository:
            return [_held_job(each) for each in await abandon_jobs(repository, jobs, actor=self._session.actor)]

    async def status(self, grace_hours: float = GRACE_HOURS, every_hours: float = 24.0) -> CollectionStatus:
        """Returns where the collection stands. `every_hours` is how often `run` is called."""
        async with self._session.opened(self.name) as repository:
            refs, _ = await repository.refs()
            found = refs.collection
            rules = await rules_in_force(self._session, repository)
            return CollectionStatus(
                plan=found.plan,
                running=found.running,
                swept=await _report(repository, found.plan),
                longest_days=longest_days(rules.undo_days, grace_hours, every_hours),
            )

    async def run(
        self,
        grace_hours: float = GRACE_HOURS,
        engine: EngineOptions = DEFAULT_ENGINE,
        *,
        drops: bool | None = True,
        progress: Listener | None = None,
    ) -> CollectionRun:
        """Does what is due: sweeps the plan that is old enough, drops live data that the rules drop, lets expire what
        they no longer keep, abandons dead jobs, and plans again. If `drops` is None, nothing that is live goes, and no
        right to delete objects is needed. Raises Corrupt as `plan` and `sweep` do."""
        swept = dropped = expired = planned = None
        waits, jobs = "", 0
        try:
            if (await self.status()).running:
                swept = await self.sweep(grace_hours, engine, progress=progress)
        except Refused as error:  # too early, or too much
            waits = str(error)
        if drops:
            dropped = await self.drop()
        try:
            expired = await self.expire()
            jobs = len(await self.abandon_jobs())
            if not waits:
                planned = await self.plan(grace_hours, engine, progress=progress)
        except Refused as error:
            waits = str(error)
        return CollectionRun(swept=swept, dropped=dropped, expired=expired, planned=planned, waits=waits, jobs=jobs)

    def _lake(self, grace_hours: float, confirmed: bool = False) -> tuple[str, StoreLocation, CollectionLimits]:
        from lochan.versioning.collection.plan import CollectionLimits

        limits = CollectionLimits(grace_s=grace_seconds(grace_hours), confirmed=confirmed)
        return self._session.lake.id, self._session.lake.place, limits

    def _job(self, engine: EngineOptions, progress: Listener | None) -> CollectionJob:
        from lochan.jobs.collection.run import CollectJobOptions

        options = CollectJobOptions(engine.engine, engine.limits, self._session.spark(engine.master), progress)
        return CollectionJob(actor=self._session.actor, options=options)


def _held_job(job: HeldJob) -> HeldJobInfo:
    return HeldJobInfo(
        id=job.id,
        kind=job.kind,
        about=job.about,
        state=job.state,
        held_hours=round(job.held_s / 3_600, 2),
        silent_hours=round(job.silent_s / 3_600, 2),
        dead=job.is_dead,
    )


def _plan_result(made: CollectionPlan) -> PlanResult:
    from lochan.versioning.collection.reasons import MEANINGS, UNKNOWN

    head = made.head
    reasons = _sum_by_name((each.why, each.files, each.bytes) for each in head.totals)
    return PlanResult(
        plan=made.number,
        files=head.dead_files,
        bytes=head.dead_bytes,
        all_files=head.files,
        all_bytes=head.bytes,
        kinds=tuple(
            KindOfFiles(kind=kind, files=files, bytes=size)
            for kind, files, size in sorted(_sum_by_name((each.kind, each.files, each.bytes) for each in head.totals))
        ),
        reasons=tuple(
            DeadReason(why=why or "unknown", means=MEANINGS.get(why, MEANINGS[UNKNOWN]), files=files, bytes=size)
            for why, files, size in reasons
        ),
        prefixes=tuple(
            DeadPrefix(prefix=prefix, files=files, bytes=size)
            for prefix, files, size in _sum_by_name(
                (each.prefix, each.files, each.bytes) for each in head.totals if each.kind in _WITH_PATHS
            )
        ),
    )


_WITH_PATHS = ("data", "workspace")  # metadata has no logical path
Name = TypeVar("Name", str, str | None)


def _sum_by_name(totals: Iterable[tuple[Name, int, int]]) -> list[tuple[Name, int, int]]:
    """Sums files and bytes by name, the largest first."""
    found: dict[Name, tuple[int, int]] = {}
    for name, files, size in totals:
        before = found.get(name, (0, 0))
        found[name] = before[0] + files, before[1] + size
    rows = [(name, files, size) for name, (files, size) in found.items()]
    return sorted(rows, key=lambda row: (-row[2], -row[1], row[0] or ""))


async def _report(repository: OpenRepository, plan: int) -> SweepResult | None:
    from lochan.errors import NotFound
    from lochan.versioning.collection.sweep import report_of

    try:
        found = await report_of(repository, plan)
    except NotFound:
        return None
    return SweepResult(plan=found.plan, files=found.files, bytes=found.bytes)
