"""A lake: repositories of files and pools of rows on one store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lochan.api.access import Access
from lochan.api.bodies import Body
from lochan.api.jobs import JobInfo
from lochan.api.load_sources import Given, LoadSource, find_sources
from lochan.api.local_files import Report, ignore_report
from lochan.api.options import DEFAULT_ENGINE, EngineOptions
from lochan.api.repository import Repository
from lochan.api.results import RepositoryInfo
from lochan.api.session import Session, about
from lochan.api.subscriptions import ALL_EVENTS, EventChoice
from lochan.api.upkeep import Step, keep_up, read_policy
from lochan.api.upkeep_tasks import STANDARD_OPTIONS, TaskStep, UpkeepOptions
from lochan.errors import Invalid
from lochan.formats.usage import SCAN
from lochan.versioning.name_filter import NameFilter

if TYPE_CHECKING:
    from lochan.api.audit import AuditPage
    from lochan.api.checkout import Checkout
    from lochan.api.deleted import DeletedCollection, DeletedInfo
    from lochan.api.doctor import DoctorCheck
    from lochan.api.frames import Frames
    from lochan.api.load_preview import LoadPreview
    from lochan.api.migration import LakefsSource, MigrationResult, Progress
    from lochan.api.pool import Pool
    from lochan.api.recovery import BackupResult, FsckResult, RebuildResult, ScrubResult
    from lochan.api.retention import RetentionInfo
    from lochan.api.saved_queries import SavedQueryInfo
    from lochan.api.schedule import TaskStatus
    from lochan.api.subscriptions import DeadLetter, SubscriptionInfo, SubscriptionSecret
    from lochan.api.usage import UsageCompactResult, UsageStatus
    from lochan.engines.result import Result
    from lochan.engines.row_diff.result import RowDiff
    from lochan.engines.row_diff.sides import RowDiffRequest
    from lochan.engines.spark.progress import Listener
    from lochan.jobs.diff_rows import DiffOptions
    from lochan.journal.feed import EventLine as EventLine
    from lochan.journal.journal import Journal
    from lochan.lake import Lake as OpenLake
    from lochan.pools.upkeep import Upkeep as UpkeepPolicy
    from lochan.store.routed import StorageName

_SAMPLE_MAX = 100_000  # rows that are held in memory


class Lake:
    def __init__(self, session: Session) -> None:
        self._session = session

    def __repr__(self) -> str:
        return f"<Lake {self._session.lake.url}>"

    def repository(self, name: str) -> Repository:
        return Repository(self._session, name)

    def pool(self, name: str) -> Pool:
        from lochan.api.pool import Pool

        return Pool(self._session, name)

    def checkout(self, folder: str | PathLike[str]) -> Checkout:
        """Returns the handle of a checkout: what `Ref.checkout` has made in this folder, or in one above it."""
        from lochan.api.checkout import Checkout

        return Checkout(self, folder)

    async def repositories(
        self, prefix: str = "", after: str = "", contains: str = ""
    ) -> AsyncIterator[RepositoryInfo]:
        """Yields the repositories of files and the pools of rows, ordered by name: those that begin with `prefix`, come
        after the name `after`, and contain the text `contains`, in any case."""
        wanted = NameFilter(prefix, after, contains)
        for each in await self._session.lake.repositories():
            if wanted.fits(each.name):
                yield RepositoryInfo.of(each)

    async def pools(self, prefix: str = "", after: str = "", contains: str = "") -> AsyncIterator[RepositoryInfo]:
        """Yields the pools, ordered by name and chosen as `repositories` chooses them."""
        async for each in self.repositories(prefix, after, contains):
            if each.kind == "pool":
                yield each

    @property
    def id(self) -> str:
        """The id of the lake, which is unique."""
        return self._session.lake.id

    @property
    def url(self) -> str:
        return self._session.lake.url

    @property
    def access(self) -> Access:
        """Its users, access keys and policies."""
        return Access(self._session)

    @property
    def frames(self) -> Frames:
        """Its pools and files as frames of Spark."""
        from lochan.api.frames import Frames

        return Frames(self._session)

    async def create_repository(
        self,
        name: str,
        *,
        default_branch: str = "main",
        metadata: Mapping[str, str] | None = None,
        dotted: bool = False,
        storage: str | None = None,
        credentials: str = "",
        bare: bool = False,
        key: str = "",
    ) -> Repository:
        """Creates a repository of files. With `dotted`, its name may have dots, as the name of a bucket may. `storage`
        is a URL or a folder outside the lake, where its data, trees and journal lie; `credentials` is the name of a
        profile that opens it, and by default the lake's own are used. With `bare`, it has no branch and no commit until
        `Repository.restore_history` brings some. Raises AlreadyExists, Invalid, Refused for a storage that cannot be
        used or is another's."""
        await self._session.lake.create_repository(
            name,
            default_branch=default_branch,
            metadata=metadata,
            dotted=dotted,
            storage=storage_name(storage, credentials),
            bare=bare,
            actor=self._session.actor,
            key=key,
        )
        return self.repository(name)

    async def create_pool(
        self,
        name: str,
        *,
        key: str | Sequence[str] = (),
        times: Sequence[str] = (),
        primary_key: Sequence[str] = (),
        nulls: str = "last",
        size_bytes: int | None = None,
        default_branch: str = "main",
        metadata: Mapping[str, str] | None = None,
        storage: str | None = None,
        credentials: str = "",
        request_key: str = "",
    ) -> Pool:
        """Creates a pool. `key` is what rows are sorted by, such as `ts:time` or `["region", "id:desc"]`; without one,
        they are sorted by the whole row. `times` are fields whose texts are times, and `primary_key` are those by which
        merges and `diff_rows` recognize a changed row. `nulls` (first, last) is where rows without the key stand, and
        `size_bytes` is how large data objects are to be. `storage` and `credentials` mean the same as for
        `create_repository`. Raises AlreadyExists, Invalid, Refused."""
        from lochan.pools.settings import parse

        keys = [key] if isinstance(key, str) else list(key)
        size = {} if size_bytes is None else {"size_bytes": size_bytes}
        await self._session.lake.create_pool(
            name,
            parse(keys, nulls=nulls, times=times, primary_key=primary_key, **size),
            default_branch=default_branch,
            metadata=metadata,
            storage=storage_name(storage, credentials),
            actor=self._session.actor,
            key=request_key,
        )
        return self.pool(name)

    async def deleted_repositories(self) -> AsyncIterator[DeletedInfo]:
        """Yields deleted repositories and pools whose files still exist, the last deleted one first."""
        from lochan.api.deleted import deleted_info
        from lochan.versioning.collection.deleted import ages

        for age in await ages(self._session.lake, stamps=False):
            yield deleted_info(age)

    async def restore_repository(self, name: str, to: str = "", *, key: str = "") -> Repository:
        """Brings back the repository or pool of that name that was deleted last, or the one with that id: its branches,
        tags and history, and what was staged. With `to`, it gets another name. Raises NotFound, AlreadyExists if the
        name is taken, Gone if it has expired."""
        return self.repository(
            await self._session.lake.restore_repository(name, to, actor=self._session.actor, key=key)
        )

    @property
    def deleted(self) -> DeletedCollection:
        """The removal of the files of deleted repositories."""
        from lochan.api.deleted import DeletedCollection

        return DeletedCollection(self._session)

    async def query(
        self,
        text: str,
        options: EngineOptions = DEFAULT_ENGINE,
        *,
        pool: str = "",
        key: str = "",
        progress: Listener | None = None,
    ) -> Result:
        """Runs a query in the pipe language or SQL, at the snapshot of this moment. `.to_pandas()`, `.to_arrow()`,
        `.rows()` and `.ndjson()` of the result give its rows. `pool` is read if the query names none. `key` is the
        idempotency key of a query that ends in `load`. `progress` is called with the progress of Spark. Raises
        QueryError, whose text shows the place, Gone, Refused."""
        from lochan.api.queries import run_options, run_query

        return await run_query(self._session.lake, text, run_options(self._session, text, options, pool, key, progress))

    async def load_sources(
        self, sources: Sequence[Given], *, follow_links: bool = False, report: Report = ignore_report
    ) -> list[LoadSource]:
        """Finds what is to be loaded: files, folders, globs, URLs such as s3://bucket/logs/, open files. All are found
        before the first is read; `Pool.load_files` takes them. Links in a folder that lead out of it are left out
        unless `follow_links` is set; `report` is called with what is left out. Raises NotFound, Invalid."""
        return await find_sources(self._session.lake, sources, follow_links=follow_links, report=report)

    async def preview_load(self, body: Body, *, name: str = "", format: str = "", rows: int = 20) -> LoadPreview:
        """Shows what a load would make of the beginning of a text, or of a whole file of up to 8 MiB: its format, its
        first `rows`, their fields, and a key that suits them. `name` is the name of the file, whose ending may decide
        the format. Values of CSV are texts here; a load gives them types. Raises Invalid."""
        from lochan.api.load_preview import preview_load

        return await preview_load(body, name, format, rows)

    async def explain(self, text: str, options: EngineOptions = DEFAULT_ENGINE, *, pool: str = "") -> dict[str, Any]:
        """Returns what the query would read, why it would not read more, and the SQL that the engine gets. Raises
        QueryError."""
        from lochan.api.queries import run_options
        from lochan.engines.explain import explain

        chosen = run_options(self._session, text, options, pool)
        return await explain(self._session.lake.queries(), text, chosen)

    async def saved_queries(self) -> list[SavedQueryInfo]:
        """Lists the saved queries of the caller, by name."""
        from lochan.api.saved_queries import saved_queries

        return await saved_queries(self._session)

    async def save_query(self, name: str, text: str, *, key: str = "") -> None:
        """Saves a query of the caller under a name, and replaces the one that has it. Raises Invalid, Refused if the
        caller has too many."""
        from lochan.api.saved_queries import save_query

        await save_query(self._session, name, text, key)

    async def delete_query(self, name: str, *, key: str = "") -> None:
        """Deletes a saved query of the caller. Raises NotFound."""
        from lochan.api.saved_queries import delete_query

        await delete_query(self._session, name, key)

    async def diff_rows(
        self,
        left: str,
        right: str,
        options: EngineOptions = DEFAULT_ENGINE,
        *,
        on: str | Sequence[str] | None = None,
        sample: int = 20,
        three_dot: bool = False,
        progress: Listener | None = None,
    ) -> RowDiff:
        """Compares the rows of two refs of a pool (`logs@main`, `logs@dev`), or of files of a repository
        (`demo@main/data/a.csv`). The result has the counts, a sample, and all rows that differ by `.to_arrow()` or
        `.to_pandas()`; close it after use. `on` are the fields that identify a row, by default the pool's primary
        key; with none, whole rows are compared. With `three_dot`, only what the right has changed since the two
        parted counts. `progress` is called with the progress of Spark. Raises Invalid if the fields do not identify
        each row."""
        from lochan.engines.row_diff.sides import row_diff_request
        from lochan.jobs.diff_rows import DiffOptions

        if not 0 <= sample <= _SAMPLE_MAX:
            raise Invalid(
                f"a sample has 0 to {_SAMPLE_MAX:,} rows, not {sample}", hint="all of them are in `.to_arrow()`"
            )
        repository, request = row_diff_request(left, right, [on] if isinstance(on, str) else on, three_dot=three_dot)
        spark = self._session.spark(options.master)
        chosen = DiffOptions(options.engine, options.limits, spark, sample, self._session.actor, progress)
        for ref in (request.left, request.right):
            await self._session.note_read(SCAN, repository, ref, request.path)
        with about(repository):
            return await compare_rows(self._session.lake, repository, request, chosen)

    async def events(
        self,
        repository: str | None = None,
        *,
        last: int | None = None,
        after: int | str | None = None,
        follow: bool = False,
    ) -> AsyncIterator[EventLine]:
        """Yields who did what, when and from where, in one repository or in all; the newest come last. Yields either
        the `last` so many, or those `after` the cursor of an event or after a record of one repository. With `follow`,
        future ones are yielded too. Raises NotFound, Invalid."""
        async for line in read_events(self._session.lake, repository, last=last, after=after, follow=follow):
            yield line

    async def subscriptions(self) -> AsyncIterator[SubscriptionInfo]:
        """Yields the subscriptions to events and how their deliveries go, the oldest first."""
        from lochan.api.subscriptions import subscriptions_of

        async for each in subscriptions_of(self._session):
            yield each

    async def create_subscription(
        self,
        url: str,
        repository: str | None = None,
        choice: EventChoice = ALL_EVENTS,
        *,
        note: str = "",
        key: str = "",
    ) -> SubscriptionSecret:
        """Creates a subscription: from now on, a server of the lake sends events to `url`, signed with the secret that
        this returns and that is never shown again. They are the events of one repository, of the lake's own journal
        (`_lake`), or of all. Raises Invalid, NotFound, Refused if there are too many, and for an access key with
        limits."""
        from lochan.api.subscriptions import create

        return await create(self._session, url, repository, choice, note, key)

    async def delete_subscription(self, id: str, *, key: str = "") -> None:
        """Deletes a subscription and its dead letters. Raises NotFound."""
        from lochan.api.subscriptions import delete

        await delete(self._session, id, key)

    async def dead_letters(self, id: str) -> AsyncIterator[DeadLetter]:
        """Yields the events that the receiver did not accept after many attempts, the oldest first. Raises NotFound."""
        from lochan.api.subscriptions import dead_letters_of

        async for each in dead_letters_of(self._session, id):
            yield each

    async def redeliver(self, id: str, letters: Sequence[str] = (), *, key: str = "") -> int:
        """Sends these dead letters, or all of them, once more, and returns how many they are. Raises NotFound."""
        from lochan.api.subscriptions import redeliver

        return await redeliver(self._session, id, letters, key)

    async def jobs(self, limit: int = 20) -> list[JobInfo]:
        """Returns the jobs that ran or now run on Spark for this lake, the newest first."""
        from lochan.jobs.record import jobs

        lake = self._session.lake
        return [JobInfo.of(each) for each in await jobs(lake.store, lake.clock.wall(), limit)]

    async def job(self, id: str) -> JobInfo:
        """Returns the job with this id, or with an id that begins with it. Raises NotFound, Ambiguous."""
        from lochan.jobs.record import job

        return JobInfo.of(await job(self._session.lake.store, id, self._session.lake.clock.wall()))

    async def upkeep(
        self,
        policy: UpkeepPolicy | None = None,
        pools: Sequence[str] = (),
        options: EngineOptions = DEFAULT_ENGINE,
        *,
        key: str = "",
    ) -> AsyncIterator[Step]:
        """Runs one round of upkeep over these pools, or over the whole lake, and yields its steps. Journals are
        trimmed, and branches are compacted where the policy (`lochan.api.upkeep.read_policy`) allows no more overlaps
        or small objects. A failure does not stop the rest: its step holds the error."""
        actor = self._session.acting(key, "upkeep", list(pools))
        async for step in keep_up(self._session, policy or read_policy(None), pools, options, actor):
            yield step

    async def upkeep_status(self, options: UpkeepOptions = STANDARD_OPTIONS) -> list[TaskStatus]:
        """Returns every task of upkeep: when it last began, how that ended, and when it is due."""
        from lochan.api.schedule import status

        return await status(self._session, options)

    async def run_upkeep(
        self, tasks: Sequence[str] = (), options: UpkeepOptions = STANDARD_OPTIONS
    ) -> AsyncIterator[TaskStep]:
        """Does these tasks now; without any, those that are on and due. Each thing that was done is a step. A failure
        does not stop the rest: its step holds the error. Raises NotFound for an unknown task."""
        from lochan.api.schedule import find_tasks, run_due, run_now

        if not tasks:
            async for step in run_due(self._session, options):
                yield step
        for task in find_tasks(tasks):
            async for step in run_now(self._session, task, options):
                yield step

    async def default_rules(self) -> RetentionInfo:
        """Returns the retention rules of repositories that have none of their own."""
        from lochan.api.default_rules import shown_default_rules

        return await shown_default_rules(self._session)

    async def set_default_rules(self, rules: RetentionInfo, *, key: str = "") -> RetentionInfo:
        """Replaces the default rules. A repository without rules of its own follows them as far as they fit it. Raises
        Invalid for rules that contradict each other or are never used."""
        from lochan.api.default_rules import set_default_rules

        actor = self._session.acting(key, "set default retention", rules.as_json())
        return await set_default_rules(self._session, rules, actor=actor)

    async def usage(self, days: float = 30) -> UsageStatus:
        """Returns what the usage log covers: how much was noted in the last days, and up to when reads may have gone
        unnoticed."""
        from lochan.api.usage import usage_status

        return await usage_status(self._session, days)

    async def compact_usage(self, keep_days: float | None = None) -> UsageCompactResult:
        """Makes one file of each past day of the usage log, and deletes days that are older than `keep_days`, by
        default none. Days that a last-read rule of a repository needs are kept. A repeated call continues where the
        last one stopped."""
        from lochan.api.usage import compact_usage

        return await compact_usage(self._session, keep_days)

    async def audit(
        self,
        days: float = 7,
        *,
        user: str = "",
        repository: str = "",
        outcome: str = "",
        limit: int = 100,
        after: str = "",
    ) -> AuditPage:
        """Returns a page of who did what in the last days, when, from where, and whether it was `allowed`, `denied`
        or `failed`: the newest first, or the page behind `after`. Queries read the same as `from :audit`. Raises
        Invalid."""
        from lochan.api.audit import audit_page

        return await audit_page(self._session, days, user, repository, outcome, limit, after)

    async def doctor(self, *, spark: bool = False) -> list[DoctorCheck]:
        """Checks whether this machine and this store can carry the lake: versions, disks, the store, the lake. The
        store and the lake are opened anew, as another process would open them. With `spark`, it also starts Spark and
        runs a small job."""
        from lochan.api.doctor import examine

        return await examine(self._session.doctor(), spark=spark)

    async def fsck(
        self,
        repositories: Sequence[str] = (),
        *,
        data: bool = False,
        repair: bool = False,
        progress: Progress | None = None,
    ) -> FsckResult:
        """Checks every file of these repositories, or of the whole lake. With `data`, it also reads all data and
        compares it with its hashes. With `repair`, it makes derived files again, and moves aside what it replaces.
        `progress` is called with the number of files that were listed or read since its last call. Raises NotFound for
        a repository that does not exist."""
        from lochan.api.recovery import fsck

        lake = self._session.lake
        files = await lake.storages.current_files()
        return await fsck(files, lake.clock, repositories, data=data, repair=repair, progress=progress)

    async def rebuild(
        self,
        repositories: Sequence[str] = (),
        *,
        check: bool = False,
        missing: bool = False,
        to: str = "",
        engine: str = "",
        master: str = "",
    ) -> RebuildResult:
        """Makes the derived files of these repositories, or of the whole lake, again from the primary ones, and writes
        those that are missing or damaged. `check` writes nothing, `missing` does not compare the rest, and `to` writes
        all of them to that place instead. With the `engine` `spark`, journals are checked on Spark, at that master or
        where it is configured. Raises Corrupt where a journal breaks off."""
        from lochan.api.recovery import rebuild

        return await rebuild(
            self._session, repositories, check=check, missing=missing, to=to, engine=engine, master=master
        )

    async def scrub(
        self, repositories: Sequence[str] = (), *, rate: int = 50_000_000, seconds: float = 0
    ) -> tuple[ScrubResult, ...]:
        """Reads the data of these repositories, or of all, and compares it with its hashes. It reads `rate` bytes in a
        second, for so many seconds, or to the end if that is 0. The next call continues where this one ended. It is a
        job; its findings are in the events."""
        from lochan.api.recovery import scrub_as_job

        return await scrub_as_job(self._session, repositories, rate=rate, seconds=seconds)

    async def backup(self, destination: str, *, verify: bool = False) -> BackupResult:
        """Copies the lake to a folder or a URL while others go on writing. A second backup to the same place copies
        only what is new. With `verify`, the whole backup is read again. Raises Refused for a place that holds something
        else."""
        from lochan.api.recovery import backup

        return await backup(self._session, destination, verify=verify)

    async def lakefs_repositories(self, source: LakefsSource) -> list[str]:
        """Returns the names of the repositories of a lakeFS. Raises Refused, Transient, Invalid."""
        from lochan.api.migration import lakefs_repositories

        return await lakefs_repositories(source)

    async def import_lakefs(
        self,
        source: LakefsSource,
        repository: str,
        *,
        to: str = "",
        bodies: str = "auto",
        link_also: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> MigrationResult:
        """Brings a repository of a lakeFS with its branches, tags and commits. A repeated call continues, and brings
        what was committed there since. `bodies` is `link`, which leaves the bytes in the bucket of the lakeFS, `copy`,
        which brings them through its API, or `auto`, which links them if the bucket can be read from here. Only files
        in the storage of that repository are linked, and files below `link_also`. Raises AlreadyExists, Conflict for a
        branch that was changed here, Refused, Transient, Corrupt."""
        from lochan.api.migration import migrate_from_lakefs

        return await migrate_from_lakefs(self._session, source, repository, to, bodies, link_also, progress)

    def new_key(self) -> str:
        """Returns an idempotency key, which begins with the time it was made."""
        return self._session.lake.ids.idempotency_key(self._session.lake.clock.wall())

    async def close(self) -> None:
        await self._session.close()


def storage_name(storage: str | None, credentials: str) -> StorageName | None:
    """Returns the storage of a repository, or None. Raises Invalid if it is not possible."""
    from lochan.store.routed import StorageName

    if not storage:
        if credentials or storage is not None:
            raise Invalid("credentials are for a storage, and none is named", hint="name both, or neither")
        return None
    scheme, found, _ = storage.partition("://")
    if not found:
        scheme, storage = "file", Path(storage).absolute().as_uri()
    if scheme not in ("s3", "gs", "az", "file"):
        raise Invalid(f"{storage}: {scheme}:// cannot be the storage of a repository", hint="choose s3, gs, az or file")
    if credentials and scheme != "s3":
        raise Invalid(f"{storage}: credentials are profiles of S3", hint="leave them out: the lake's own are used")
    return StorageName(storage.rstrip("/"), credentials)


async def compare_rows(
    lake: OpenLake, name: str, request: RowDiffRequest, options: DiffOptions | None = None
) -> RowDiff:
    """Compares the rows of two commits of a pool, or of files of a repository. The caller closes the result. Raises
    NotFound, Invalid for a key that is not unique, Gone."""
    from lochan.jobs.diff_rows import DEFAULT_DIFF, diff_rows

    repository = await lake.open_repository(name)
    try:
        return await diff_rows(repository, lake.queries(), request, options or DEFAULT_DIFF)
    finally:
        await repository.close()


async def read_events(
    lake: OpenLake,
    repository: str | None = None,
    *,
    last: int | None = None,
    after: int | str | None = None,
    follow: bool = False,
) -> AsyncIterator[EventLine]:
    """Yields who did what, when, from where: in one repository, in the lake's own journal (`_lake`), or in all of them.
    The newest come last. Yields either the `last` so many, or those `after` the cursor of an event, or of records
    `after` a number, for which one journal must be named; with `follow`, future ones too."""
    from lochan.journal.feed import read_events as read

    if isinstance(after, int) and repository is None:
        raise Invalid("records are numbered in each repository", hint="name one to begin after a record of it")
    opened: dict[str, Journal] = {}  # kept open while they are followed
    open = partial(_journals, lake, repository, opened)
    async for line in read(open, lake.clock, last=last, after=after, follow=follow):
        yield line


async def _journals(lake: OpenLake, repository: str | None, opened: dict[str, Journal]) -> list[Journal]:
    from lochan.lake import LAKE_JOURNAL

    if repository == LAKE_JOURNAL:
        ids = [LAKE_JOURNAL]
    elif repository is not None:
        ids = [(await lake.repository(repository)).id]
    else:
        ids = [LAKE_JOURNAL, *(each.id for each in await lake.repositories())]
    for id in ids:
        if id not in opened:
            opened[id] = await lake.journal(id)
    return [opened[id] for id in ids]
