"""A repository: files under branches, tags and commits."""

from __future__ import annotations

from collections.abc import AsyncIterator

from lochan.api.branch import Branch
from lochan.api.ref import NamedRef, Ref, name_of
from lochan.api.results import BranchInfo, Commit, RepositoryInfo, TagInfo, WorkspaceInfo
from lochan.api.session import Session
from lochan.api.workspace import Workspace


class Repository:
    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self.name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    async def show(self) -> RepositoryInfo:
        """Raises NotFound."""
        return RepositoryInfo.of(await self._session.lake.repository(self.name))

    def ref(self, name: str) -> Ref:
        """A branch, a tag, a commit id or its beginning, `main~2`, `main@{yesterday}`, for reading."""
        return Ref(self._session, self.name, name)

    def branch(self, name: str) -> Branch:
        return Branch(self._session, self.name, name)

    def workspace(self, name: str) -> Workspace:
        """By the name that `Branch.workspace` and `workspaces` give it: `branch+id`."""
        return Workspace(self._session, self.name, name)

    async def branches(self) -> AsyncIterator[BranchInfo]:
        """In the order of their names."""
        async with self._session.opened(self.name) as repository:
            refs, _ = await repository.refs()
            for each in refs.branches():
                yield BranchInfo(name=each.name, head=each.head)

    async def create_branch(self, name: str, source: NamedRef | str, *, key: str = "") -> Branch:
        """At the commit that `source` names now; nothing is copied. Raises AlreadyExists, NotFound, Invalid."""
        from lochan.versioning.branches import create_branch

        start = name_of(source)
        actor = self._session.acting(key, "create branch", self.name, name, start)
        async with self._session.opened(self.name) as repository:
            await create_branch(repository, name, start, actor=actor)
        return self.branch(name)

    async def delete_branch(self, name: str, *, key: str = "") -> None:
        """With what is staged on it. `restore_branch` brings it back. Raises NotFound, Refused for the default one."""
        from lochan.versioning.branches import delete_branch

        actor = self._session.acting(key, "delete branch", self.name, name)
        async with self._session.opened(self.name) as repository:
            await delete_branch(repository, name, repository.repository.default_branch, actor=actor)

    async def restore_branch(self, name: str, *, key: str = "") -> Branch:
        """The last one of this name that was deleted. Raises NotFound, AlreadyExists."""
        from lochan.versioning.branches import restore_branch

        actor = self._session.acting(key, "restore branch", self.name, name)
        async with self._session.opened(self.name) as repository:
            await restore_branch(repository, name, actor=actor)
        return self.branch(name)

    async def tags(self) -> AsyncIterator[TagInfo]:
        """In the order of their names."""
        async with self._session.opened(self.name) as repository:
            refs, _ = await repository.refs()
            for name, commit in refs.tags():
                yield TagInfo(name=name, commit=commit)

    async def create_tag(self, name: str, target: NamedRef | str, *, key: str = "") -> Ref:
        """Raises AlreadyExists, NotFound, Invalid."""
        from lochan.versioning.branches import create_tag

        there = name_of(target)
        actor = self._session.acting(key, "create tag", self.name, name, there)
        async with self._session.opened(self.name) as repository:
            await create_tag(repository, name, there, actor=actor)
        return self.ref(name)

    async def delete_tag(self, name: str, *, key: str = "") -> None:
        """Raises NotFound."""
        from lochan.versioning.branches import delete_tag

        actor = self._session.acting(key, "delete tag", self.name, name)
        async with self._session.opened(self.name) as repository:
            await delete_tag(repository, name, actor=actor)

    async def merge_base(self, left: NamedRef | str, right: NamedRef | str) -> Commit | None:
        """Their best common ancestor; the first of several; None where their histories have nothing in common."""
        from lochan.versioning.graph import merge_bases

        names = [name_of(each) for each in (left, right)]
        async with self._session.opened(self.name) as repository:
            one, other = [(await repository.resolve(name)).commit_id for name in names]
            refs, _ = await repository.refs()
            found = merge_bases(refs.commit, one, other)
            return Commit.of(found[0], refs.commit(found[0])) if found else None

    async def workspaces(self, branch: str = "") -> AsyncIterator[WorkspaceInfo]:
        """Those that are open, of one branch or of all."""
        from lochan.versioning.workspaces.registry import opened

        async with self._session.opened(self.name) as repository:
            for each in await opened(repository, branch):
                yield WorkspaceInfo.of(each)

    async def rename(self, to: str, *, key: str = "") -> None:
        """When it returns, nobody finds it by its old name. This handle goes on with the new one. Raises AlreadyExists,
        NotFound."""
        await self._session.lake.rename_repository(self.name, to, actor=self._session.actor, key=key)
        self.name = to

    async def delete(self, *, key: str = "") -> None:
        """When it returns, nobody writes to it any more. Raises NotFound."""
        await self._session.lake.delete_repository(self.name, actor=self._session.actor, key=key)
