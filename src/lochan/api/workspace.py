"""A workspace: a private layer over a branch, whose objects are plain files that other programs can write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from lochan.api.object_results import WorkspaceChange
from lochan.api.options import DEFAULT_COMMIT, CommitOptions
from lochan.api.results import Commit, WorkspaceInfo
from lochan.api.session import Session
from lochan.api.writable import WritableRef
from lochan.errors import Invalid

if TYPE_CHECKING:
    from pyarrow import Table

    from lochan.versioning.open_repository import OpenRepository
    from lochan.versioning.state.workspaces import WorkspaceState as StoredWorkspace


class Workspace(WritableRef):
    """A workspace over a branch. Its name is `branch+id`."""

    def __init__(self, session: Session, repository: str, name: str, *, opened: WorkspaceInfo | None = None) -> None:
        super().__init__(session, repository, name)
        self.opened = opened  # its details when `Branch.workspace` opened it; None for a handle made from a name

    @property
    def id(self) -> str:
        return self.name.rpartition("+")[2]

    async def show(self) -> WorkspaceInfo:
        """Returns the workspace's details. Raises NotFound for one that was committed or dropped."""
        from lochan.versioning.workspaces.write import find

        async with self._session.opened(self.repository_name) as repository:
            return info_of(repository, await find(repository, self.id))

    async def changes(self, prefix: str = "", after: str = "") -> AsyncIterator[WorkspaceChange]:
        """Yields what it changes behind the path `after`, compared with the commit that it was opened on, in path
        order, and whether it was added."""
        import pyarrow.compute as pc

        table = await self.changes_table(prefix)
        if after:
            table = table.filter(pc.greater(table["path"], after))
        for row in table.to_pylist():
            yield WorkspaceChange(**row)

    async def changes_table(self, prefix: str = "") -> Table:
        """Returns the same as an Arrow table, which may have millions of rows: path, kind, before and after (sizes, or
        null), and whether it was added."""
        from lochan.versioning.workspaces.selection import diff_columns

        async with self._session.opened(self.repository_name) as repository:
            return (await diff_columns(repository, self.id, prefix)).rename_columns({"selected": "added"})

    async def add(self, *globs: str, key: str = "") -> tuple[str, ...]:
        """Adds what matches one of the globs, now or when it is written, to what will be committed. In a glob, * and ?
        stay within a folder and ** goes across. Returns all globs that were added. Raises Invalid."""
        from lochan.versioning.workspaces.selection import add
        from lochan.versioning.workspaces.write import find

        actor = self._session.acting(key, "add", self.repository_name, self.id, globs)
        async with self._session.opened(self.repository_name) as repository:
            await add(repository, self.id, globs, actor=actor)
            return tuple((await find(repository, self.id)).added)

    async def all(self, *, key: str = "") -> tuple[str, ...]:
        """Adds everything in it, now or later, to what will be committed, even if something else was added before.
        Returns all globs that were added."""
        from lochan.versioning.workspaces.selection import EVERYTHING

        return await self.add(*EVERYTHING, key=key)

    async def revert(self, *globs: str, key: str = "") -> int | None:
        """Takes back what matches one of the globs, or everything: files are hidden, deletions forgotten. Returns how
        many paths, or None if it was done before under the same key."""
        from lochan.versioning.workspaces.selection import EVERYTHING, revert

        actor = self._session.acting(key, "revert workspace", self.repository_name, self.id, globs)
        async with self._session.opened(self.repository_name) as repository:
            return await revert(repository, self.id, globs or EVERYTHING, actor=actor)

    async def path(self, path: str = "") -> str:
        """Returns where other programs write and read: a path of this machine, or a URL. Raises NotFound for a
        workspace that was committed or dropped."""
        async with self._session.opened(self.repository_name) as repository:
            found = (await repository.resolve(self.name, workspaces=True)).workspace
            if found is None:
                raise Invalid(f"{self.name!r} names no workspace", hint="it has a branch, a plus and an id")
            return repository.folder(found.id).place(path)

    async def commit(
        self,
        message: str = "",
        options: CommitOptions = DEFAULT_COMMIT,
        *,
        paths: Sequence[str] = (),
        added: bool | None = None,
    ) -> Commit:
        """Commits what was added, or everything in it if nothing was; or what these paths and globs name. The commit
        goes onto its branch, and the workspace is closed: every verb refuses it from then on. `added` is true for only
        what was added, false for everything. Raises ConcurrentCommit if the branch has changed the same paths
        meanwhile."""
        from lochan.versioning.heads.commit import CommitRequest
        from lochan.versioning.workspaces.commit import commit

        if message:
            options = msgspec.structs.replace(options, message=message)
        request = CommitRequest(options.message, options.metadata, options.author, options.date_us, paths=paths)
        async with self._session.opened(self.repository_name) as repository:
            made = await commit(
                repository,
                self.id,
                request,
                actor=self._session.actor,
                everything=False if paths else None if added is None else not added,
                key=options.key,
            )
            return Commit.of(*made)

    async def drop(self, *, key: str = "") -> None:
        """Drops the workspace with all that is in it."""
        from lochan.versioning.workspaces.write import drop

        actor = self._session.acting(key, "drop workspace", self.repository_name, self.id)
        async with self._session.opened(self.repository_name) as repository:
            await drop(repository, self.id, actor=actor)


def info_of(repository: OpenRepository, workspace: StoredWorkspace) -> WorkspaceInfo:
    return WorkspaceInfo.of(workspace, repository.folder(workspace.id).place())


def workspace_id(name: str) -> str:
    """Returns the id in a workspace's name, `branch+id`. Raises Invalid for another text."""
    from lochan.versioning.uri import parse_ref

    return parse_ref(name).workspace
