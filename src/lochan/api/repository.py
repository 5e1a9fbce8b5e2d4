"""A repository: files under branches, tags and commits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from lochan.api.branch import Branch
from lochan.api.bucket_rules import BucketRules
from lochan.api.collection import GarbageCollection
from lochan.api.object_results import UploadInfo
from lochan.api.ref import NamedRef, Ref, full_name
from lochan.api.results import (
    BisectStep,
    BranchInfo,
    Commit,
    ProtectionRule,
    RepositoryInfo,
    StashInfo,
    TagInfo,
    WorkspaceInfo,
    moment,
)
from lochan.api.session import Session
from lochan.api.storage import Storage
from lochan.api.workspace import Workspace, info_of

if TYPE_CHECKING:
    from lochan.api.snapshot import RefSnapshot
    from lochan.versioning.open_repository import OpenRepository

PROTECTED = ("stage", "commit", "rewrite")  # what a rule can block


class Repository:
    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self.name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    async def show(self) -> RepositoryInfo:
        """Raises NotFound."""
        return RepositoryInfo.of(await self._session.repository(self.name))

    def ref(self, name: str = "") -> Ref:
        """A branch, a tag, a commit id or its beginning, `main~2`, `main@{yesterday}`, for reading. Without a name, the
        default branch."""
        return Ref(self._session, self.name, name)

    def branch(self, name: str = "") -> Branch:
        """Without a name, the default branch."""
        return Branch(self._session, self.name, name)

    @property
    def gc(self) -> GarbageCollection:
        """Its retention rules, and the collection of its garbage."""
        return GarbageCollection(self._session, self.name)

    async def render_lifecycle(
        self,
        prefix: str,
        *,
        expire_days: int | None = None,
        transition_days: int | None = None,
        storage_class: str = "",
    ) -> BucketRules:
        """Rules of the lake's bucket for the bytes of objects under a folder, and what they would break. Sets nothing.
        Raises Refused for a lake whose files are not tagged with their paths, or that is in no bucket; Invalid."""
        from lochan.api.bucket_rules import lifecycle
        from lochan.versioning.bucket_rules import LifecycleAction

        action, lake = LifecycleAction(expire_days, transition_days, storage_class), self._session.lake
        async with self._session.opened(self.name) as repository:
            return await lifecycle(repository, lake.url, lake.body_settings, prefix, action)

    async def render_policy(self, prefixes: Sequence[str], *, allow: str = "read", principal: str = "") -> BucketRules:
        """A policy of the store for the bytes of objects under some folders, and what it leaves open. Sets nothing.
        Raises Refused for a lake whose addresses do not hold the paths, or that is in no bucket; Invalid."""
        from lochan.api.bucket_rules import policy

        lake = self._session.lake
        async with self._session.opened(self.name) as repository:
            return await policy(repository, lake.url, lake.body_settings, tuple(prefixes), allow, principal)

    @property
    def storage(self) -> Storage:
        """How its bytes are stored: equal blocks, sparse files, objects of many blocks."""
        return Storage(self._session, self.name)

    def workspace(self, name: str) -> Workspace:
        """By the name that `Branch.workspace` and `workspaces` give it: `branch+id`."""
        return Workspace(self._session, self.name, name)

    async def branches(self) -> AsyncIterator[BranchInfo]:
        """In the order of their names."""
        async with self._session.opened(self.name) as repository:
            refs, _ = await repository.refs()
            for each in refs.branches():
                yield BranchInfo.of(each, refs.commit(each.head), repository.repository.default_branch)

    async def create_branch(self, name: str, source: NamedRef | str = "", *, key: str = "") -> Branch:
        """At the commit that `source` names now, or that of the default branch; nothing is copied. Raises
        AlreadyExists, NotFound, Invalid."""
        from lochan.versioning.branches import create_branch

        async with self._session.opened(self.name) as repository:
            start = full_name(source, repository)
            actor = self._session.acting(key, "create branch", self.name, name, start)
            head = await create_branch(repository, name, start, actor=actor)
        return Branch(self._session, self.name, name, head)

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
            head = await restore_branch(repository, name, actor=actor)
        return Branch(self._session, self.name, name, head)

    async def tags(self) -> AsyncIterator[TagInfo]:
        """In the order of their names."""
        async with self._session.opened(self.name) as repository:
            refs, _ = await repository.refs()
            for name, id in refs.tags():
                commit = refs.commit(id)
                yield TagInfo(name=name, commit=id, date=moment(commit.date), message=commit.message)

    async def create_tag(self, name: str, target: NamedRef | str = "", *, key: str = "") -> Ref:
        """Of the commit that `target` names now, or that of the default branch. Raises AlreadyExists, NotFound,
        Invalid."""
        from lochan.versioning.branches import create_tag

        async with self._session.opened(self.name) as repository:
            there = full_name(target, repository)
            actor = self._session.acting(key, "create tag", self.name, name, there)
            id = await create_tag(repository, name, there, actor=actor)
        return Ref(self._session, self.name, name, id)

    async def delete_tag(self, name: str, *, key: str = "") -> None:
        """Raises NotFound."""
        from lochan.versioning.branches import delete_tag

        actor = self._session.acting(key, "delete tag", self.name, name)
        async with self._session.opened(self.name) as repository:
            await delete_tag(repository, name, actor=actor)

    async def merge_base(self, left: NamedRef | str, right: NamedRef | str) -> Commit | None:
        """Their best common ancestor; the first of several; None where their histories have nothing in common."""
        found = await self.merge_bases(left, right)
        return found[0] if found else None

    async def merge_bases(self, left: NamedRef | str, right: NamedRef | str) -> list[Commit]:
        """All of them, where the two have merged each other; perhaps none."""
        from lochan.versioning.revisions.graph import merge_bases

        async with self._session.opened(self.name) as repository:
            names = [full_name(each, repository) for each in (left, right)]
            one, other = [(await repository.resolve(name)).commit_id for name in names]
            refs, _ = await repository.refs()
            return [Commit.of(id, refs.recorded(id)) for id in merge_bases(refs.recorded, one, other)]

    async def bisect(self, good: Sequence[str], bad: str, skipped: Sequence[str] = ()) -> BisectStep:
        """Which commit to test next for the one that broke something, by what is known so far: some good ones, a bad
        one, and some that cannot be tested. Raises NotFound, Invalid for marks that contradict each other."""
        async with self._session.opened(self.name) as repository:
            return await _bisect_step(repository, good, bad, skipped)

    async def protections(self) -> list[ProtectionRule]:
        """The rules that protect branches."""
        from lochan.versioning.branches import protections

        async with self._session.opened(self.name) as repository:
            rules = await protections(repository)
        return [ProtectionRule(pattern=each.pattern, blocked=each.blocked) for each in rules]

    async def protect(self, pattern: str, blocked: Sequence[str] = PROTECTED, *, key: str = "") -> list[ProtectionRule]:
        """Branches whose names fit the pattern, in which * and ? stand for any letters. `stage`: no writes; `commit`:
        no commits, imports and workspaces' commits; `rewrite`: no reset to another commit, no rebase, no new name, no
        deletion. Gives all rules. Raises Invalid."""
        from lochan.versioning.branches import protect

        actor = self._session.acting(key, "protect", self.name, pattern, blocked)
        async with self._session.opened(self.name) as repository:
            rules = await protect(repository, pattern, tuple(blocked), actor=actor)
        return [ProtectionRule(pattern=each.pattern, blocked=each.blocked) for each in rules]

    async def unprotect(self, pattern: str, *, key: str = "") -> list[ProtectionRule]:
        """Removes the rule of exactly that pattern, and gives those that are left. Raises NotFound."""
        from lochan.versioning.branches import unprotect

        actor = self._session.acting(key, "unprotect", self.name, pattern)
        async with self._session.opened(self.name) as repository:
            rules = await unprotect(repository, pattern, actor=actor)
        return [ProtectionRule(pattern=each.pattern, blocked=each.blocked) for each in rules]

    async def is_read_only(self) -> bool:
        """Whether every change is refused. Raises NotFound."""
        async with self._session.opened(self.name) as repository:
            refs, _ = await repository.refs()
            return refs.guard.read_only

    async def set_read_only(self, on: bool = True, *, key: str = "") -> None:
        """From now on every change of its branches, tags and objects is refused, or allowed again."""
        from lochan.versioning.branches import set_read_only

        actor = self._session.acting(key, "read-only", self.name, on)
        async with self._session.opened(self.name) as repository:
            await set_read_only(repository, on, actor=actor)

    async def stashes(self, branch: str = "") -> AsyncIterator[StashInfo]:
        """Those of one branch or of all, the newest first."""
        from lochan.versioning.stash import stashed

        async with self._session.opened(self.name) as repository:
            for each in await stashed(repository, branch):
                yield StashInfo.of(each)

    async def workspaces(self, branch: str = "") -> AsyncIterator[WorkspaceInfo]:
        """Those that are open, of one branch or of all."""
        from lochan.versioning.workspaces.write import opened

        async with self._session.opened(self.name) as repository:
            for each in await opened(repository, branch):
                yield info_of(repository, each)

    async def uploads(self) -> AsyncIterator[UploadInfo]:
        """Uploads in parts that are open, to branches and workspaces that are there; by path, and then as they were
        created."""
        async with self._session.opened(self.name) as repository:
            refs, _ = await repository.refs()
            for each in refs.uploads.all():
                if refs.find_branch(each.opened.branch) is not None:
                    yield UploadInfo.of(each)

    async def snapshots(self) -> list[RefSnapshot]:
        """Every branch as it is at this one moment, in the order of their names."""
        from lochan.api.snapshot import RefSnapshot

        async with self._session.opened(self.name) as repository:
            refs, _ = await repository.refs()
            return [RefSnapshot.of_branch(self._session, repository, each) for each in refs.branches()]

    async def is_empty(self) -> bool:
        """Whether there is no object on any branch, committed or staged."""
        for each in await self.snapshots():
            if (await each.list_page(limit=1)).objects:
                return False
        return True

    async def rename(self, to: str, *, key: str = "") -> None:
        """When it returns, nobody finds it by its old name. This handle goes on with the new one. Raises AlreadyExists,
        NotFound."""
        await self._session.lake.rename_repository(self.name, to, actor=self._session.actor, key=key)
        self.name = to

    async def delete(self, *, key: str = "") -> None:
        """When it returns, nobody writes to it any more. Raises NotFound."""
        await self._session.lake.delete_repository(self.name, actor=self._session.actor, key=key)


async def _bisect_step(repository: OpenRepository, good: Sequence[str], bad: str, skipped: Sequence[str]) -> BisectStep:
    from lochan.versioning.revisions.bisect import BisectMarks, rounds, step

    refs, _ = await repository.refs()
    ids = {name: (await repository.resolve(name)).commit_id for name in dict.fromkeys((*good, bad, *skipped))}
    untestable = {ids[name] for name in skipped} | refs.collection.expired()
    marks = BisectMarks(ids[bad], frozenset(ids[name] for name in good), frozenset(untestable))
    now = step(refs.recorded, marks)
    return BisectStep(
        test=Commit.of(now.test, refs.commit(now.test)) if now.test else None,
        rounds=rounds(len(now.candidates)) if now.test else 0,
        candidates=tuple(now.candidates),
        found=() if now.test else tuple(Commit.of(id, refs.recorded(id)) for id in now.candidates),
    )
