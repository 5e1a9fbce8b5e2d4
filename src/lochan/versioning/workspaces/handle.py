"""A workspace as a program holds it in its hand: write to `path`, then commit, or revert.

    ws = await open_handle(repository, "main", actor=me)
    frame.write.parquet(ws.path("another/location"))
    await ws.all().commit("everything")
    # or: await ws.add("**/*.parquet").commit("some of it")
    # or: await ws.revert()

Once it is committed or dropped, all its operations are refused.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Generator
from contextlib import aclosing
from typing import Any

from lochan.errors import Refused
from lochan.formats.commit import Commit
from lochan.formats.entry import Entry
from lochan.formats.record import Actor
from lochan.staging.listing import ViewPage
from lochan.versioning import objects
from lochan.versioning.heads.commit import CommitRequest
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.workspaces import WorkspaceState
from lochan.versioning.workspaces import commit as workspace_commit
from lochan.versioning.workspaces import selection, write
from lochan.versioning.workspaces import selection as workspace_selection
from lochan.versioning.workspaces import write as registry
from lochan.versioning.workspaces.selection import SelectedChange

Paths = list[str]
Changes = list[SelectedChange]


async def open_handle(repository: OpenRepository, branch: str, note: str = "", *, actor: Actor) -> "WorkspaceHandle":
    return WorkspaceHandle(repository, await registry.open_workspace(repository, branch, note, actor=actor), actor)


async def handle_of(repository: OpenRepository, id: str, *, actor: Actor) -> "WorkspaceHandle":
    """Of a workspace that somebody else has opened. Raises NotFound, Refused."""
    return WorkspaceHandle(repository, await registry.find(repository, id), actor)


class WorkspaceHandle:
    def __init__(self, repository: OpenRepository, workspace: WorkspaceState, actor: Actor) -> None:
        self.id = workspace.id
        self.branch = workspace.branch
        self.ref = workspace.ref
        self._repository = repository
        self._actor = actor
        self._became = ""

    def path(self, path: str = "") -> str:
        """Where to write and to read what was written here: a path of this machine, or a URL. It knows nothing of what
        lies below the workspace; `get` and `read` do."""
        self._check_open()
        return self._repository.folder(self.id).place(path)

    # --- objects -----------------------------------------------------------------------------------------------------
    async def put(self, path: str, chunks: AsyncIterable[bytes], **told: Any) -> Entry:
        self._check_open()
        return await write.put(self._repository, self.id, path, chunks, actor=self._actor, **told)

    async def get(self, path: str) -> Entry:
        """Raises NotFound."""
        self._check_open()
        return await objects.stat(self._repository, self.ref, path)

    async def read(self, path: str, start: int = 0, stop: int | None = None) -> AsyncGenerator[bytes, None]:
        entry = await self.get(path)
        async with aclosing(self._repository.reader.read(entry, start, stop)) as pieces:
            async for piece in pieces:
                yield piece

    async def list(self, prefix: str = "", after: str = "", delimiter: str = "", limit: int = 1_000) -> ViewPage:
        self._check_open()
        return await objects.list_objects(self._repository, self.ref, prefix, after, delimiter, limit)

    async def delete(self, *paths: str) -> Paths:
        self._check_open()
        return await write.delete(self._repository, self.id, paths, actor=self._actor)

    async def diff(self, prefix: str = "") -> Changes:
        self._check_open()
        return await workspace_selection.diff(self._repository, self.id, prefix)

    # --- what becomes of it ------------------------------------------------------------------------------------------
    def all(self) -> "WorkspaceSelection":
        self._check_open()
        return WorkspaceSelection(self, ())

    def add(self, *patterns: str) -> "WorkspaceSelection":
        """To be committed, or awaited: then it is remembered for a later commit, by anybody."""
        self._check_open()
        selection.check(patterns)
        return WorkspaceSelection(self, patterns)

    async def commit(self, message: str, *, everything: bool = False, key: str = "", **said: Any) -> tuple[str, Commit]:
        """What was added; the commit's id, and the commit. `said` is what else a `CommitRequest` can say."""
        self._check_open()
        made = await workspace_commit.commit(
            self._repository, self.id, CommitRequest(message, **said), actor=self._actor, everything=everything, key=key
        )
        self._became = f"was committed as {made[0][:12]}"
        return made

    async def revert(self, *patterns: str) -> int:
        """What fits, or everything, is as it was in the commit below. How many paths that were."""
        self._check_open()
        reverted = await selection.revert(
            self._repository, self.id, patterns or selection.EVERYTHING, actor=self._actor
        )
        return reverted or 0

    async def drop(self) -> None:
        self._check_open()
        await registry.drop(self._repository, self.id, actor=self._actor)
        self._became = "was dropped"

    async def remember(self, patterns: tuple[str, ...]) -> None:
        self._check_open()
        await selection.add(self._repository, self.id, patterns, actor=self._actor)

    def _check_open(self) -> None:
        if self._became:
            raise Refused(f"workspace {self.id!r} {self._became}", hint="open a new one")


class WorkspaceSelection:
    """What of a workspace is to be committed: these patterns and those added before, or, without any, everything."""

    def __init__(self, handle: WorkspaceHandle, patterns: tuple[str, ...]) -> None:
        self._handle = handle
        self._patterns = patterns

    async def commit(self, message: str, *, key: str = "", **said: Any) -> tuple[str, Commit]:
        try:
            await self._remember()
        except Refused:
            if not key:  # else it may be asked for once more, and the commit will know
                raise
        return await self._handle.commit(message, everything=not self._patterns, key=key, **said)

    def __await__(self) -> Generator[Any, None, WorkspaceHandle]:
        return self._remember().__await__()

    async def _remember(self) -> WorkspaceHandle:
        if self._patterns:
            await self._handle.remember(self._patterns)
        return self._handle
