"""A branch: what is put there is staged until `commit`, which moves its head."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from lochan.api.options import DEFAULT_COMMIT, CommitOptions
from lochan.api.ref import NamedRef, name_of
from lochan.api.results import Commit, StagedChange
from lochan.api.workspace import Workspace
from lochan.api.writable import WritableRef
from lochan.errors import LochanError

if TYPE_CHECKING:
    from lochan.versioning.head_moves import CommitMessage
    from lochan.versioning.open_repository import OpenRepository


class Branch(WritableRef):
    async def status(self, prefix: str = "") -> AsyncIterator[StagedChange]:
        """What is staged and not committed, in path order."""
        from lochan.versioning.diff import staged

        async with self._session.opened(self.repository_name) as repository:
            for change in await staged(repository, self.name, prefix=prefix):
                yield StagedChange.of(change)

    async def commit(
        self,
        message: str = "",
        options: CommitOptions = DEFAULT_COMMIT,
        *,
        paths: Sequence[str] = (),
        allow_empty: bool = False,
    ) -> Commit:
        """All that is staged, or what these paths and globs name. Raises NothingToDo, Protected, Invalid without a
        message."""
        from lochan.versioning.commit import CommitRequest, commit

        options = _with(options, message)
        wish = CommitRequest(
            options.message, options.metadata, options.author, options.date_us, allow_empty=allow_empty, paths=paths
        )
        actor = self._session.acting(options.key, "commit", self.repository_name, self.name, wish)
        async with self._session.opened(self.repository_name) as repository:
            return Commit.of(*await commit(repository, self.name, wish, actor=actor))

    async def reset(self, to: NamedRef | str | None = None, *, key: str = "") -> Commit:
        """Drops all that is staged; with `to`, the branch also stands there afterwards. Raises NotFound, Protected."""
        from lochan.versioning.branches import hard_reset, reset_staged

        target = None if to is None else name_of(to)
        actor = self._session.acting(key, "reset", self.repository_name, self.name, target)
        async with self._session.opened(self.repository_name) as repository:
            if target is None:
                await reset_staged(repository, self.name, actor=actor)
            else:
                await hard_reset(repository, self.name, target, actor=actor)
        return await self.resolve()

    async def merge(
        self,
        source: NamedRef | str,
        options: CommitOptions = DEFAULT_COMMIT,
        *,
        strategy: str = "default",
        prefixes: Mapping[str, str] | None = None,
        squash: bool = False,
    ) -> Commit:
        """Brings in what `source` has changed. `strategy` decides conflicts (source-wins, dest-wins, base-wins), and
        `prefixes` for paths that begin so. Raises PathsInTheWay with the conflicts, Dirty, NothingToDo, SameRef."""
        from lochan.tree.merge import Strategy
        from lochan.versioning.head_moves import merge

        name = name_of(source)
        said, chosen = _said(options), Strategy(strategy, prefixes or {})
        request = name, said, strategy, dict(prefixes or {}), squash
        actor = self._session.acting(options.key, "merge", self.repository_name, self.name, *request)
        async with self._session.opened(self.repository_name) as repository:
            id = await merge(repository, name, self.name, said, actor=actor, strategy=chosen, squash=squash)
            return await _commit(repository, id)

    async def revert(self, ref: NamedRef | str, options: CommitOptions = DEFAULT_COMMIT, *, parent: int = 1) -> Commit:
        """A commit that takes back what that one changed; of a merge, against which parent. Raises PathsInTheWay,
        Dirty, NothingToDo."""
        from lochan.versioning.head_moves import revert

        name, said = name_of(ref), _said(options)
        actor = self._session.acting(options.key, "revert", self.repository_name, self.name, name, said, parent)
        async with self._session.opened(self.repository_name) as repository:
            return await _commit(
                repository, await revert(repository, self.name, name, said, actor=actor, parent=parent)
            )

    async def cherry_pick(
        self, ref: NamedRef | str, options: CommitOptions = DEFAULT_COMMIT, *, parent: int = 1
    ) -> Commit:
        """What that commit changed, once more here. Raises PathsInTheWay, Dirty, NothingToDo."""
        from lochan.versioning.head_moves import cherry_pick

        name, said = name_of(ref), _said(options)
        actor = self._session.acting(options.key, "cherry-pick", self.repository_name, self.name, name, said, parent)
        async with self._session.opened(self.repository_name) as repository:
            return await _commit(
                repository, await cherry_pick(repository, self.name, name, said, actor=actor, parent=parent)
            )

    async def rebase(self, onto: NamedRef | str, *, key: str = "") -> Commit:
        """Its own commits once more, on top of `onto`. Raises PathsInTheWay, Dirty, NothingToDo."""
        from lochan.versioning.rebase import rebase

        name = name_of(onto)
        actor = self._session.acting(key, "rebase", self.repository_name, self.name, name)
        async with self._session.opened(self.repository_name) as repository:
            return await _commit(repository, (await rebase(repository, self.name, name, actor=actor)).head)

    async def rename(self, to: str, *, key: str = "") -> Branch:
        """Raises AlreadyExists, Refused for the default branch."""
        from lochan.versioning.branches import rename_branch

        actor = self._session.acting(key, "rename branch", self.repository_name, self.name, to)
        async with self._session.opened(self.repository_name) as repository:
            default = repository.repository.default_branch
            await rename_branch(repository, self.name, to, default, actor=actor)
        return Branch(self._session, self.repository_name, to)

    @asynccontextmanager
    async def transaction(self, message: str, options: CommitOptions = DEFAULT_COMMIT) -> AsyncIterator[Workspace]:
        """A workspace that is committed when the block ends, and dropped when it raises: one commit, or nothing.

            async with branch.transaction("first data") as tx:
                await tx.put("README.md", "# Shop")

        Raises ConcurrentCommit where the branch has changed the same paths meanwhile; what was put is dropped then."""
        workspace = await self.workspace(message)
        try:
            yield workspace
            await workspace.commit(message, options)
        except BaseException:
            with suppress(LochanError):  # what went wrong first is what counts
                await workspace.drop()
            raise

    async def workspace(self, note: str = "", *, key: str = "") -> Workspace:
        """A new one over the branch as it is now."""
        from lochan.versioning.workspaces.registry import open_workspace

        actor = self._session.acting(key, "open workspace", self.repository_name, self.name, note)
        async with self._session.opened(self.repository_name) as repository:
            found = await open_workspace(repository, self.name, note, actor=actor)
        return Workspace(self._session, self.repository_name, found.ref)


def _with(options: CommitOptions, message: str) -> CommitOptions:
    return msgspec.structs.replace(options, message=message) if message else options


def _said(options: CommitOptions) -> CommitMessage:
    from lochan.versioning.head_moves import CommitMessage

    return CommitMessage(options.message, options.metadata, options.author, options.date_us)


async def _commit(repository: OpenRepository, id: str) -> Commit:
    refs, _ = await repository.refs()
    return Commit.of(id, refs.commit(id))
