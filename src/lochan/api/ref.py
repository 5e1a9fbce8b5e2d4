"""Any commit, for reading: a branch, a tag, a commit id, `main~2`, `main@{yesterday}`, `branch+workspace`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lochan.api.download import Download, RefObjects
from lochan.api.download import Progress as DownloadProgress
from lochan.api.export import ExportResult
from lochan.api.export import Progress as ExportProgress
from lochan.api.local_files import Report, ignore_report
from lochan.api.object_results import (
    Change,
    ChangeCount,
    DownloadResult,
    FolderResult,
    ObjectDetails,
    ObjectInfo,
    ObjectPage,
    ObjectTable,
    PresignedUrl,
)
from lochan.api.open_object import OpenObject
from lochan.api.options import DEFAULT_ENGINE, EngineOptions
from lochan.api.results import BlameResult, Commit, LogEntry, microseconds, moment
from lochan.api.session import OpenedRepository, Session
from lochan.errors import Invalid, NotFound, Refused
from lochan.formats.usage import READ, READ_FOLDER

if TYPE_CHECKING:
    from types import TracebackType

    from pyarrow import Table

    from lochan.api.checkout import PullResult
    from lochan.api.snapshot import RefSnapshot
    from lochan.formats.entry import Entry
    from lochan.formats.pool_settings import PoolSettings
    from lochan.staging.listing import ViewPage
    from lochan.staging.view import View
    from lochan.versioning.open_repository import OpenRepository
    from lochan.versioning.revisions.log import LogRequest

_PAGE = 1_000
_COLUMNS = ["path", "size", "mtime", "checksum", "etag", "content_type"]
_BLAME_PAGE = 100_000  # each is a walk through history


class NamedRef(Protocol):
    """The attributes of another ref that a verb needs. Any handle of a ref has them."""

    @property
    def repository_name(self) -> str: ...

    @property
    def name(self) -> str: ...


def name_of(ref: NamedRef | str) -> str:
    return ref if isinstance(ref, str) else ref.name


def full_name(ref: NamedRef | str, repository: OpenRepository) -> str:
    """Returns the full name of a ref. A ref without a name is the default branch."""
    return name_of(ref) or repository.repository.default_branch


def pool_settings(repository: OpenRepository) -> PoolSettings:
    """Raises Refused for a repository of files."""
    from lochan.pools.settings import settings_of

    if repository.repository.kind != "pool":
        name = repository.repository.name
        raise Refused(f"{name!r} holds files, and is no pool", hint="`lochan create POOL` makes a pool")
    return settings_of(repository.repository)


def files_only(repository: OpenRepository) -> None:
    """Raises Refused for a pool, on which nothing is ever staged. It is for verbs that stage."""
    if repository.repository.kind == "pool":
        from lochan.versioning.state.refs import no_staging

        raise no_staging()


class OpenedRef:
    """A repository while it is used, and the full name of a ref in it. Raises Refused for a pool where `files` are
    meant."""

    __slots__ = ("_files", "_name", "_opened")

    def __init__(self, opened: OpenedRepository, name: str, *, files: bool = False) -> None:
        self._opened = opened
        self._name = name
        self._files = files

    async def __aenter__(self) -> tuple[OpenRepository, str]:
        repository = await self._opened.__aenter__()
        if self._files:
            try:
                files_only(repository)
            except Refused as error:
                await self._opened.__aexit__(Refused, error, error.__traceback__)
                raise
        return repository, self._name or repository.repository.default_branch

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._opened.__aexit__(kind, error, at)


class Ref:
    """A commit, for reading. For a branch, staged changes are read too; `main$` reads only what is committed. An empty
    name is the default branch at the time of each call."""

    def __init__(self, session: Session, repository: str, name: str = "", made_at: str = "") -> None:
        self._session = session
        self.repository_name = repository
        self.name = name
        self.made_at = made_at  # the commit where the verb that gave this handle has put it; empty: no verb did

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.repository_name}{'@' if self.name else ''}{self.name}>"

    def _opened(self) -> OpenedRef:
        """The repository, and the ref's name there."""
        return OpenedRef(self._session.opened(self.repository_name), self.name)

    async def _view(self, repository: OpenRepository, name: str) -> View:
        """Returns the view of a reader of the ref. Raises NotFound if there is no such ref."""
        return await repository.view(await repository.resolve(name, workspaces=True))

    def _traced(self, repository: OpenRepository, name: str, path: str) -> AbstractAsyncContextManager[str]:
        """Notes a read in the trace, see `Session.traced`."""
        return self._session.traced(repository, name, path)

    async def _entry(self, repository: OpenRepository, name: str, path: str) -> Entry:
        """The object at that path. Raises NotFound."""
        from lochan.versioning.names import check_key

        check_key(path)
        entry = await (await self._view(repository, name)).get(path)
        if entry is None:
            raise NotFound(f"no object {path!r} at {name}").named(path)
        return entry

    async def snapshot(self, *, stale: bool = False) -> RefSnapshot:
        """What it names at this moment, as a ref that goes on naming that. A branch that this process has seen before
        may be a `stale` one, without a look at the journal: enough for a writer, since the write decides. Raises
        NotFound, Invalid."""
        from lochan.api.snapshot import RefSnapshot

        async with self._opened() as (repository, name):
            return await RefSnapshot.taken(self._session, repository, name, stale=stale)

    async def resolve(self) -> Commit:
        """The commit that it names now. Raises NotFound, Ambiguous, Invalid, Gone."""
        async with self._opened() as (repository, name):
            found = await repository.resolve(name, workspaces=True)
            return Commit.of(found.commit_id, found.commit)

    async def log(
        self,
        *,
        path: str | Sequence[str] = (),
        prefix: str | Sequence[str] = (),
        author: str = "",
        grep: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        first_parent: bool = False,
    ) -> AsyncIterator[Commit]:
        """Commits behind it, the youngest first, as they are asked for; with paths or prefixes, those that changed one
        of them. Raises NotFound."""
        from lochan.versioning.revisions.log import history

        request = _log_request(path, prefix, author, grep, since, until, first_parent)
        async with self._opened() as (repository, name), aclosing(history(repository, name, request)) as found:
            async for id, commit in found:
                yield Commit.of(id, commit)

    async def log_graph(
        self,
        *,
        path: str | Sequence[str] = (),
        prefix: str | Sequence[str] = (),
        author: str = "",
        grep: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        first_parent: bool = False,
    ) -> AsyncIterator[LogEntry]:
        """Every commit behind it, one line of history after the other, for a drawing; each tells whether `log` would
        give it. Raises NotFound."""
        from lochan.versioning.revisions.log import walk

        request = _log_request(path, prefix, author, grep, since, until, first_parent)._replace(by_line=True)
        async with self._opened() as (repository, name), aclosing(walk(repository, name, request)) as found:
            async for id, commit, matches in found:
                yield LogEntry(commit=Commit.of(id, commit), matches=matches)

    async def diff(
        self, right: NamedRef | str, *, prefix: str = "", after: str = "", three_dot: bool = False
    ) -> AsyncIterator[Change]:
        """What is different at `right`, in path order; committed on both sides. `after`: only behind this path, to go
        on where a part ended. `three_dot`: only what the right has changed since the two parted. Raises NotFound."""
        from lochan.versioning.revisions.diff import diff

        async with self._opened() as (repository, name):
            other = full_name(right, repository)
            found = diff(repository, name, other, prefix=prefix, after=after, three_dot=three_dot)
            async with aclosing(found) as differences:
                async for difference in differences:
                    yield Change.of(difference)

    async def diff_tables(
        self, right: NamedRef | str, *, prefix: str = "", three_dot: bool = False
    ) -> AsyncIterator[Table]:
        """`diff` as Arrow tables of path, kind, left and right: the sizes, null on a side that does not have the path.
        Quicker where much is different. Raises NotFound."""
        from lochan.versioning.revisions.diff import diff_tables

        async with self._opened() as (repository, name):
            other = full_name(right, repository)
            async with aclosing(diff_tables(repository, name, other, prefix=prefix, three_dot=three_dot)) as tables:
                async for table in tables:
                    yield table

    async def diff_count(self, right: NamedRef | str, *, prefix: str = "", three_dot: bool = False) -> ChangeCount:
        """How much is different there. Raises NotFound."""
        from lochan.versioning.revisions.diff import count

        async with self._opened() as (repository, name):
            other = full_name(right, repository)
            return ChangeCount.of(await count(repository, name, other, prefix=prefix, three_dot=three_dot))

    async def diff_folders(
        self,
        right: NamedRef | str,
        *,
        prefix: str = "",
        three_dot: bool = False,
        delimiter: str = "/",
        depth: int = 1,
    ) -> dict[str, ChangeCount]:
        """The same for each folder below the prefix, so many deep, by its path. Raises NotFound."""
        from lochan.versioning.revisions.diff import RollUp, roll_up

        by = RollUp(delimiter, depth)
        async with self._opened() as (repository, name):
            other = full_name(right, repository)
            found = await roll_up(repository, name, other, by, prefix=prefix, three_dot=three_dot)
            return {path: ChangeCount.of(counts) for path, counts in found.items()}

    async def diff_objects(self, right: NamedRef | str, *, three_dot: bool = False) -> AsyncIterator[dict[str, Any]]:
        """Lists the data objects of a pool that only one of the refs holds, with their rows, bytes and keys. Raises
        NotFound, and Refused for a repository of files."""
        from lochan.pools.objects import describe_object
        from lochan.versioning.revisions.diff import diff

        async with self._opened() as (repository, name):
            settings = pool_settings(repository)
            async for each in diff(repository, name, full_name(right, repository), three_dot=three_dot):
                entry = each.right or each.left
                assert entry is not None, "a difference has a side"
                yield {"kind": each.kind, **describe_object(entry, settings)}

    async def blame(self, path: str) -> Commit:
        """The commit that made the object what it is. Raises NotFound."""
        from lochan.versioning.revisions.log import blame

        async with self._opened() as (repository, name):
            found = await blame(repository, name, path)
            return Commit.of(found.commit_id, found.commit)

    async def blame_folder(self, prefix: str = "") -> AsyncIterator[BlameResult]:
        """The same for every object whose path begins with the prefix, all at one commit. Raises NotFound."""
        from lochan.versioning.revisions.log import blame_under

        async with self._opened() as (repository, name):
            at = (await repository.resolve(name)).commit_id
            after: str | None = ""
            while after is not None:
                page = await blame_under(repository, at, prefix, after, _BLAME_PAGE)
                for each in page.entries:
                    yield BlameResult(path=each.path, commit=Commit.of(each.commit_id, each.commit))
                after = page.next

    async def list(
        self, prefix: str = "", *, delimiter: str = "", after: str = "", limit: int | None = None
    ) -> AsyncIterator[ObjectInfo]:
        """Objects in path order, from a page to the next. With a delimiter, those that have none behind the prefix;
        `list_pages` tells the folders too. Raises NotFound if there is no such ref."""
        left = limit
        while True:
            size = _PAGE if left is None else min(left, _PAGE)
            page = await self.list_page(prefix, delimiter=delimiter, after=after, limit=size)
            for found in page.objects:
                yield found
            if left is not None:
                left -= len(page.objects)
            if page.next is None or left == 0:
                return
            after = page.next

    async def list_page(
        self, prefix: str = "", *, delimiter: str = "", after: str = "", limit: int = _PAGE
    ) -> ObjectPage:
        """Objects and common prefixes, together at most `limit`. Raises NotFound if there is no such ref."""
        async with self._opened() as (repository, name):
            view = await self._view(repository, name)
            return _object_page(await view.list(prefix, after, delimiter, limit))

    async def list_pages(self, prefix: str = "", *, delimiter: str = "") -> AsyncIterator[ObjectPage]:
        """All of them, page by page, as they were at one moment; at least one page, which may be empty. Raises
        NotFound if there is no such ref."""
        async with self._opened() as (repository, name):
            view = await self._view(repository, name)
            after: str | None = ""
            while after is not None:
                page = await view.list(prefix, after, delimiter, _PAGE)
                yield _object_page(page)
                after = page.next

    async def list_table(
        self, prefix: str = "", *, delimiter: str = "", after: str = "", limit: int = _PAGE
    ) -> ObjectTable:
        """`list_page` with the objects as an Arrow table, which is quicker where a page is large."""
        async with self._opened() as (repository, name):
            view = await self._view(repository, name)
            page = await view.list_columns(prefix, after, delimiter, limit)
            return ObjectTable(page.entries.select(_COLUMNS), page.prefixes, page.next)

    async def stat(self, path: str) -> ObjectInfo:
        """Raises NotFound."""
        async with self._opened() as (repository, name):
            return ObjectInfo.of(await self._entry(repository, name, path))

    async def stat_many(self, paths: Sequence[str]) -> tuple[ObjectInfo | None, ...]:
        """Returns the details of the object at each path, all at the same moment; None where there is no object. Raises
        NotFound if the ref does not exist, Invalid."""
        from lochan.versioning.names import check_key

        for path in paths:
            check_key(path)
        async with self._opened() as (repository, name):
            view = await self._view(repository, name)
            found = [await view.get(path) for path in paths]
        return tuple(None if entry is None else ObjectInfo.of(entry) for entry in found)

    async def details(self, path: str) -> ObjectDetails:
        """All that is known of an object, with the files that its bytes lie in. Raises NotFound."""
        async with self._opened() as (repository, name):
            return ObjectDetails.of(await repository.places.place(await self._entry(repository, name, path)))

    async def presign(self, path: str, *, expires_s: float = 900) -> PresignedUrl | None:
        """A URL that gives the object's bytes, from the store itself, to anybody who has it. None: the store cannot
        sign, or the object shares a file with others. Raises NotFound, Invalid."""
        from lochan.versioning.presigned import EXPIRES_S_MAX, url_to_read

        if not 0 < expires_s <= EXPIRES_S_MAX:
            raise Invalid(f"a URL cannot be valid for {expires_s:g} seconds", hint="give up to 7 days")
        async with self._opened() as (repository, name):
            entry = await self._entry(repository, name, path)
            url = await url_to_read(repository, entry, expires_s)
            expires = moment(repository.clock.wall() + int(expires_s * 1e6))
        return PresignedUrl(url=url, expires=expires) if url else None

    async def open(self, path: str) -> OpenObject:
        """The object of this moment: whatever comes to the path later, that one is read. Raises NotFound."""
        async with self._opened() as (repository, name):
            async with self._traced(repository, name, path) as at:
                found = OpenObject(repository.reader, await self._entry(repository, at, path))
            await self._session.note_read(READ, self.repository_name, name, path)
            return found

    async def stream(self, path: str, start: int = 0, stop: int | None = None) -> AsyncIterator[bytes]:
        """Its bytes in pieces, checked against what was stored. Raises NotFound, Gone, Corrupt."""
        found = await self.open(path)
        async with aclosing(found.stream(start, stop)) as pieces:
            async for piece in pieces:
                yield piece

    async def download(
        self,
        path: str,
        to: str | PathLike[str] = ".",
        *,
        force: bool = False,
        progress: DownloadProgress | None = None,
    ) -> FolderResult:
        """The object, to a file; to its own name in `to`, if that is a folder or ends with a slash. A file that is
        there is replaced only with `force`, and there is never half of one. Raises NotFound, AlreadyExists, Refused for
        what cannot be a file."""
        into_folder = str(to).endswith("/")
        async with self._opened() as (repository, name):
            await self._session.note_read(READ, self.repository_name, name, path)
            async with self._traced(repository, name, path) as at:
                work = Download(RefObjects(repository, at), Path(to), force, progress, ignore_report)
                objects, size = await work.one(path, into_folder=into_folder)
        return FolderResult(objects=objects, bytes=size)

    async def download_folder(
        self,
        prefix: str,
        to: str | PathLike[str] = ".",
        *,
        force: bool = False,
        progress: DownloadProgress | None = None,
        report: Report = ignore_report,
    ) -> DownloadResult:
        """All objects in a folder, into the folder `to`, as they were at one moment. What cannot be a file here (`..`,
        `a` beside `a/b`, a name that is too long) is skipped; `report` gets it. Raises NotFound, AlreadyExists."""
        async with self._opened() as (repository, name):
            await self._session.note_read(READ_FOLDER, self.repository_name, name, prefix)
            async with self._traced(repository, name, prefix) as at:
                work = Download(RefObjects(repository, at), Path(to), force, progress, report)
                objects, size = await work.folder(prefix)
        return DownloadResult(objects=objects, bytes=size, skipped=work.skipped)

    async def checkout(
        self,
        to: str | PathLike[str],
        *,
        prefix: str = "",
        cache: str | PathLike[str] = "",
        progress: DownloadProgress | None = None,
        report: Report = ignore_report,
    ) -> PullResult:
        """The committed objects under a prefix as the files of a new folder, which remembers where they are from:
        `Lake.checkout` pulls into it and commits from it. With a `cache`, a folder on the same disk, they are read-only
        hard links to files there. Called again after it was interrupted, it goes on. Raises NotFound, AlreadyExists,
        Refused for paths that cannot be files."""
        from lochan.api.checkout import check_out
        from lochan.api.lake import Lake

        lake = Lake(self._session)
        return await check_out(lake, self, to, prefix=prefix, cache=str(cache), progress=progress, report=report)

    async def export(
        self,
        url: str,
        *,
        prefix: str = "",
        since: NamedRef | str | None = None,
        delete: bool = False,
        engine: EngineOptions = DEFAULT_ENGINE,
        progress: ExportProgress | None = None,
    ) -> ExportResult:
        """The committed objects under a prefix, as plain files below a folder or a bucket's prefix; with `since`, only
        those that were added or changed since that ref. `delete` removes files that were removed since. Done again, it
        goes on where it was. Raises Refused for a place in a lake, and for paths that cannot be files there."""
        from lochan.api.export import ExportRequest, export

        async with self._opened() as (repository, name):
            await self._session.note_read(READ_FOLDER, self.repository_name, name, prefix)
            commit = (await repository.resolve(name, workspaces=True)).commit_id
            earlier = "" if since is None else (await repository.resolve(full_name(since, repository))).commit_id
            request = ExportRequest(self.repository_name, commit, earlier, prefix, url, delete)
            return await export(self._session, repository, request, engine, progress or _silent)

    async def read(self, path: str, start: int = 0, stop: int | None = None) -> bytes:
        """All of them at once. Raises as `stream` does."""
        return b"".join([piece async for piece in self.stream(path, start, stop)])


def _silent(_: int) -> None:
    pass


def _object_page(page: ViewPage) -> ObjectPage:
    objects = tuple(ObjectInfo.of(entry) for entry in page.entries)
    return ObjectPage(objects=objects, prefixes=tuple(page.prefixes), next=page.next)


def _log_request(
    path: str | Sequence[str],
    prefix: str | Sequence[str],
    author: str,
    grep: str,
    since: datetime | None,
    until: datetime | None,
    first_parent: bool,
) -> LogRequest:
    from lochan.versioning.revisions.log import LogRequest

    return LogRequest(
        paths=_several(path),
        prefixes=_several(prefix),
        since=None if since is None else microseconds(since),
        until=None if until is None else microseconds(until),
        first_parent=first_parent,
        author=author,
        grep=grep,
    )


def _several(given: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,) if given else ()
    return tuple(given)
