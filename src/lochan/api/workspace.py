"""A workspace: a private layer over a branch, whose objects are plain files that other programs can write."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lochan.api.options import DEFAULT_COMMIT, CommitOptions
from lochan.api.results import Commit, WorkspaceInfo
from lochan.api.writable import WritableRef


class Workspace(WritableRef):
    """Its name is `branch+id`."""

    @property
    def id(self) -> str:
        return self.name.rpartition("+")[2]

    async def show(self) -> WorkspaceInfo:
        """Raises NotFound for one that was committed or dropped."""
        from lochan.versioning.workspaces.registry import find

        async with self._session.opened(self.repository_name) as repository:
            return WorkspaceInfo.of(await find(repository, self.id))

    async def path(self, path: str = "") -> str:
        """Where other programs write and read: a path of this machine, or a URL."""
        from lochan.versioning.workspaces.handle import handle_of

        async with self._session.opened(self.repository_name) as repository:
            return (await handle_of(repository, self.id, actor=self._session.actor)).path(path)

    async def commit(
        self, message: str = "", options: CommitOptions = DEFAULT_COMMIT, *, paths: Sequence[str] = ()
    ) -> Commit:
        """Everything in it, or what these paths and globs name, onto its branch; then it is
        closed. Raises ConcurrentCommit where the branch has changed the same paths meanwhile."""
        from lochan.versioning.commit import CommitRequest
        from lochan.versioning.workspaces.commit import commit

        if message:
            options = msgspec.structs.replace(options, message=message)
        wish = CommitRequest(options.message, options.metadata, options.author, options.date_us, paths=paths)
        async with self._session.opened(self.repository_name) as repository:
            made = await commit(
                repository, self.id, wish, actor=self._session.actor, everything=not paths, key=options.key
            )
            return Commit.of(*made)

    async def drop(self, *, key: str = "") -> None:
        """With all that is in it."""
        from lochan.versioning.workspaces.registry import drop

        actor = self._session.acting(key, "drop workspace", self.repository_name, self.id)
        async with self._session.opened(self.repository_name) as repository:
            await drop(repository, self.id, actor=actor)
