"""The nouns of a remote lake. Each has the verbs of the noun of the same name in `lochan.api`, made from the table of
verbs; the methods written here make handles, or run on this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

from lochan.api.access import ActionInfo, actions
from lochan.api.download import Progress as DownloadProgress
from lochan.api.given_rows import given_files
from lochan.api.load import DEFAULT_LOAD, BytesProgress, LoadOptions
from lochan.api.load_sources import Given, LoadSource
from lochan.api.local_files import Report, ignore_report
from lochan.api.object_results import DownloadResult, FolderResult, ObjectTable, UploadResult
from lochan.api.options import DEFAULT_COMMIT, DEFAULT_ENGINE, CommitOptions, EngineOptions
from lochan.api.results import LoadResult, WorkspaceInfo
from lochan.api.upload import Progress
from lochan.api.verbs import VERBS
from lochan.api.wire.call import wire_calls
from lochan.errors import LochanError, Refused
from lochan.remote.request import RemoteCall
from lochan.remote.server import RemoteServer

if TYPE_CHECKING:
    from lochan.api.checkout import Checkout, PullResult

Noun = TypeVar("Noun", bound=type)


class RemoteNoun:
    """A handle. Making one sends no request, and it can be pickled."""

    def __init__(self, server: RemoteServer) -> None:
        self._server = server

    @property
    def names(self) -> dict[str, str]:
        """The names for the paths of its verbs."""
        return {}


def with_verbs(noun: str) -> Callable[[Noun], Noun]:
    """Gives the class a method for each row of that noun."""

    def add(cls: Noun) -> Noun:
        for verb in VERBS:
            if verb.noun == noun and verb.name not in vars(cls):
                call = wire_calls().get((noun, verb.name))
                setattr(cls, verb.name, _refuse(noun, verb.name) if call is None else RemoteCall(call).method())
        return cls

    return add


def _refuse(noun: str, name: str) -> Any:
    """Returns the method for a verb that needs the lake itself."""

    def refuse(self: RemoteNoun, *args: Any, **kwargs: Any) -> Any:
        raise Refused(
            f"{noun}.{name} is not served by a server: it works on the lake itself, or on files of its machine",
            hint="open the lake by its own path or URL",
        )

    refuse.__name__ = name
    return refuse


@with_verbs("Access")
class RemoteAccess(RemoteNoun):
    def __repr__(self) -> str:
        return f"<Access {self._server.url}>"

    def actions(self) -> list[ActionInfo]:
        return actions()


@with_verbs("DeletedCollection")
class RemoteDeleted(RemoteNoun):
    def __repr__(self) -> str:
        return f"<DeletedCollection {self._server.url}>"


class _OfRepository(RemoteNoun):
    def __init__(self, server: RemoteServer, name: str) -> None:
        super().__init__(server)
        self.name = name

    @property
    def names(self) -> dict[str, str]:
        return {"repository": self.name, "pool": self.name}

    def __repr__(self) -> str:
        return f"<{type(self).__name__.removeprefix('Remote')} {self.name}>"


@with_verbs("GarbageCollection")
class RemoteGarbageCollection(_OfRepository):
    pass


@with_verbs("Storage")
class RemoteStorage(_OfRepository):
    pass


@with_verbs("Ref")
class RemoteRef(RemoteNoun):
    def __init__(self, server: RemoteServer, repository: str, name: str, made_at: str = "") -> None:
        super().__init__(server)
        self.repository_name = repository
        self.name = name
        self.made_at = made_at

    @property
    def names(self) -> dict[str, str]:
        return {"repository": self.repository_name, "ref": self.name, "branch": self.name, "workspace": self.name}

    def __repr__(self) -> str:
        kind, at = type(self).__name__.removeprefix("Remote"), "@" if self.name else ""
        return f"<{kind} {self.repository_name}{at}{self.name}>"

    async def list_table(
        self, prefix: str = "", *, delimiter: str = "", after: str = "", limit: int = 1_000
    ) -> ObjectTable:
        from lochan.remote.files import objects_table

        page = await self.list_page(prefix, delimiter=delimiter, after=after, limit=limit)  # type: ignore[attr-defined]
        return ObjectTable(objects_table(page.objects), page.prefixes, page.next)

    async def download(
        self,
        path: str,
        to: str | PathLike[str] = ".",
        *,
        force: bool = False,
        progress: DownloadProgress | None = None,
    ) -> FolderResult:
        from lochan.remote.files import download

        return await download(self, path, to, force, progress)

    async def download_folder(
        self,
        prefix: str,
        to: str | PathLike[str] = ".",
        *,
        force: bool = False,
        progress: DownloadProgress | None = None,
        report: Report = ignore_report,
    ) -> DownloadResult:
        from lochan.remote.files import download_folder

        return await download_folder(self, prefix, to, force, progress, report)

    async def checkout(
        self,
        to: str | PathLike[str],
        *,
        prefix: str = "",
        cache: str | PathLike[str] = "",
        progress: DownloadProgress | None = None,
        report: Report = ignore_report,
    ) -> PullResult:
        from lochan.api.checkout import check_out

        lake: Any = RemoteLake(self._server)
        ref: Any = self
        return await check_out(lake, ref, to, prefix=prefix, cache=str(cache), progress=progress, report=report)


@with_verbs("Upload")
class RemoteUpload(RemoteNoun):
    def __init__(self, server: RemoteServer, repository: str, ref: str, path: str, id: str) -> None:
        super().__init__(server)
        self.repository_name = repository
        self.ref_name = ref
        self.path = path
        self.id = id

    @property
    def names(self) -> dict[str, str]:
        return {"repository": self.repository_name, "ref": self.ref_name, "upload": self.id, "object": self.path}

    def __repr__(self) -> str:
        return f"<Upload {self.id} of {self.repository_name}@{self.ref_name}/{self.path}>"


@with_verbs("WritableRef")
class RemoteWritable(RemoteRef):
    def open_upload(self, path: str, id: str) -> RemoteUpload:
        return RemoteUpload(self._server, self.repository_name, self.name, path, id)

    async def upload(
        self,
        source: Any,
        to: str = "",
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
        follow_links: bool = False,
        resume: bool = False,
        key: str = "",
        progress: Progress | None = None,
        report: Report = ignore_report,
    ) -> UploadResult:
        from lochan.remote.files import RemoteFileUpload, upload_sources

        files = upload_sources(source, to, follow_links, report)
        return await RemoteFileUpload(self, content_type, metadata, key, progress).run(files, resume=resume)


@with_verbs("Workspace")
class RemoteWorkspace(RemoteWritable):
    def __init__(
        self, server: RemoteServer, repository: str, name: str, made_at: str = "", opened: WorkspaceInfo | None = None
    ) -> None:
        super().__init__(server, repository, name, made_at)
        self.opened = opened

    @property
    def id(self) -> str:
        return self.name.rpartition("+")[2]


@with_verbs("Branch")
class RemoteBranch(RemoteWritable):
    @asynccontextmanager
    async def transaction(
        self, message: str, options: CommitOptions = DEFAULT_COMMIT
    ) -> AsyncIterator[RemoteWorkspace]:
        workspace: Any = await self.workspace(message)  # type: ignore[attr-defined]
        try:
            yield workspace
            await workspace.commit(message, options)
        except BaseException:
            with suppress(LochanError):  # the first error is the one that counts
                await workspace.drop()
            raise


@with_verbs("PullRequest")
class RemotePullRequest(RemoteNoun):
    def __init__(self, server: RemoteServer, repository: str, id: str, made_at: str = "") -> None:
        super().__init__(server)
        self.repository_name = repository
        self.id = id

    @property
    def name(self) -> str:
        return self.id

    @property
    def names(self) -> dict[str, str]:
        return {"repository": self.repository_name, "pull": self.id}

    def __repr__(self) -> str:
        return f"<PullRequest {self.repository_name} {self.id}>"


@with_verbs("Repository")
class RemoteRepository(_OfRepository):
    def ref(self, name: str = "") -> RemoteRef:
        return RemoteRef(self._server, self.name, name)

    def branch(self, name: str = "") -> RemoteBranch:
        return RemoteBranch(self._server, self.name, name)

    def workspace(self, name: str) -> RemoteWorkspace:
        return RemoteWorkspace(self._server, self.name, name)

    def pull(self, id: str) -> RemotePullRequest:
        return RemotePullRequest(self._server, self.name, id)

    @property
    def gc(self) -> RemoteGarbageCollection:
        return RemoteGarbageCollection(self._server, self.name)

    @property
    def storage(self) -> RemoteStorage:
        return RemoteStorage(self._server, self.name)


@with_verbs("Pool")
class RemotePool(RemoteRepository):
    def lake(self) -> RemoteLake:
        return RemoteLake(self._server)

    async def load(
        self, rows: Any, message: str = "", options: CommitOptions = DEFAULT_COMMIT, *, branch: str = ""
    ) -> Any:
        from lochan.remote.loads import load_paths
        from lochan.remote.rows import load

        if given_files(rows):
            return await load_paths(self, rows, message, options, branch)
        return await load(self, rows, message, options, branch)

    async def load_engine(self, sources: Sequence[LoadSource], engine: EngineOptions = DEFAULT_ENGINE) -> str:
        return "duckdb"  # the server uses this engine for any size

    async def load_files(
        self,
        sources: Sequence[LoadSource],
        load_options: LoadOptions = DEFAULT_LOAD,
        options: CommitOptions = DEFAULT_COMMIT,
        engine: EngineOptions = DEFAULT_ENGINE,
        *,
        branch: str = "",
        progress: BytesProgress | None = None,
        stages: Any = None,
    ) -> LoadResult:
        from lochan.remote.loads import load_files

        return await load_files(self, sources, load_options, options, branch, progress)

    async def query(self, *args: Any, **kwargs: Any) -> Any:
        from lochan.remote.rows import query

        return await query("Pool", self, *args, **kwargs)


@with_verbs("Lake")
class RemoteLake(RemoteNoun):
    def __repr__(self) -> str:
        return f"<Lake {self._server.url}>"

    @property
    def id(self) -> str:
        return self._server.id

    @property
    def url(self) -> str:
        return self._server.url

    def repository(self, name: str) -> RemoteRepository:
        return RemoteRepository(self._server, name)

    def pool(self, name: str) -> RemotePool:
        return RemotePool(self._server, name)

    def checkout(self, folder: str | PathLike[str]) -> Checkout:
        from lochan.api.checkout import Checkout

        lake: Any = self
        return Checkout(lake, folder)

    @property
    def access(self) -> RemoteAccess:
        return RemoteAccess(self._server)

    @property
    def deleted(self) -> RemoteDeleted:
        return RemoteDeleted(self._server)

    async def query(self, *args: Any, **kwargs: Any) -> Any:
        from lochan.remote.rows import query

        return await query("Lake", self, *args, **kwargs)

    async def diff_rows(self, *args: Any, **kwargs: Any) -> Any:
        from lochan.remote.rows import diff_rows

        return await diff_rows(self, *args, **kwargs)

    async def load_sources(
        self, sources: Sequence[Given], *, follow_links: bool = False, report: Report = ignore_report
    ) -> list[LoadSource]:
        from lochan.remote.loads import load_sources

        return await load_sources(sources, follow_links, report)

    @property
    def frames(self) -> Any:
        return _refuse("Lake", "frames")(self)

    def new_key(self) -> str:
        return self._server.new_key()

    async def close(self) -> None:
        await self._server.close()


HANDLES: dict[str, type[RemoteNoun]] = {
    "Repository": RemoteRepository,
    "Pool": RemotePool,
    "Ref": RemoteRef,
    "Branch": RemoteBranch,
    "Workspace": RemoteWorkspace,
    "PullRequest": RemotePullRequest,
}
