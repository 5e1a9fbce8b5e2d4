"""A repository: files under branches, tags and commits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING

from lochan.api.branch import Branch
from lochan.api.bucket_rules import BucketRules
from lochan.api.collection import GarbageCollection
from lochan.api.object_results import UploadInfo
from lochan.api.pull_request import PullRequest
from lochan.api.pull_results import PullRequestSummary
from lochan.api.ref import NamedRef, Ref, files_only, full_name, name_of
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
from lochan.versioning.name_filter import NameFilter

if TYPE_CHECKING:
    from lochan.api.hooks import HookInfo, HookRunInfo
    from lochan.api.overview import BranchComparison, RepositoryOverview
    from lochan.api.snapshot import RefSnapshot
    from lochan.formats.repository_events import Protection
    from lochan.versioning.open_repository import OpenRepository

_TEXTS_AT_ONCE = 100
PROTECTED = ("stage", "commit", "revert", "rewrite")  # what a rule blocks unless it says otherwise


class Repository:
    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self.name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    async def show(self) -> RepositoryInfo:
        """Returns the repository's details. Raises NotFound."""
        return RepositoryInfo.of(await self._session.repository(self.name))

    def ref(self, name: str = "") -> Ref:
        """Returns a ref for reading: a branch, a tag, a commit id or its beginning, `main~2`, `main@{yesterday}`.
        Without a name, it is the default branch."""
        return Ref(self._session, self.name, name)

    def branch(self, name: str = "") -> Branch:
        """Returns a branch; without a name, the default branch."""
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
        """Renders rules of the lake's bucket for the bytes of objects under a folder, and lists what they would break.
        Sets nothing. Raises Refused for a lake whose files are not tagged with their paths, or that is in no bucket;
        Invalid."""
        from lochan.api.bucket_rules import lifecycle
        from lochan.versioning.bucket_rules import LifecycleAction

        action, lake = LifecycleAction(expire_days, transition_days, storage_class), self._session.lake
        async with self._session.opened(self.name) as repository:
            return await lifecycle(repository, lake.url, lake.body_settings, prefix, action)

    async def render_policy(self, prefixes: Sequence[str], *, allow: str = "read", principal: str = "") -> BucketRules:
        """Renders a policy of the store for the bytes of objects under some folders, and lists what it leaves open.
        Sets nothing. Raises Refused for a lake whose addresses do not hold the paths, or that is in no bucket;
        Invalid."""
        from lochan.api.bucket_rules import policy

        lake = self._session.lake
        async with self._session.opened(self.name) as repository:
            return await policy(repository, lake.url, lake.body_settings, tuple(prefixes), allow, principal)

    @property
    def storage(self) -> Storage:
        """How its bytes are stored: equal blocks, sparse files, objects of many blocks."""
        return Storage(self._session, self.name)

    def workspace(self, name: str) -> Workspace:
        """Returns the workspace with the name that `Branch.workspace` and `workspaces` give it: `branch+id`."""
        return Workspace(self._session, self.name, name)

    async def branches(
        self, prefix: str = "", after: str = "", contains: str = "", *, show_hidden: bool = False
    ) -> AsyncIterator[BranchInfo]:
        """Yields branches, ordered by name: those that begin with `prefix`, come after the name `after`, and contain
        the text `contains`, in any case. Those that were created as hidden are yielded only with `show_hidden`."""
        async with self._session.opened(self.name) as repository:
            refs, _ = await repository.refs()
            wanted = NameFilter(prefix, after, contains)
            for each in refs.branches(wanted) if show_hidden else refs.shown_branches(wanted):
                yield BranchInfo.of(each, refs.commit(each.head), repository.repository.default_branch)

    async def overview(self, days: int = 30) -> RepositoryOverview:
        """Returns what its default branch holds, and how many commits of all branches were made on each of the last
        days. Raises NotFound, Invalid."""
        from lochan.api.overview import overview

        async with self._session.opened(self.name) as repository:
            return await overview(repository, self._session.lake.clock.wall(), days)

    async def compare_branches(
        self, base: NamedRef | str = "", prefix: str = "", after: str = "", contains: str = ""
    ) -> AsyncIterator[BranchComparison]:
        """Yields how far each branch is ahead of `base` and behind it, and what it holds; `base` is the default branch
        unless it is named. They are ordered by name, as `branches` yields them. Raises NotFound."""
        from lochan.api.overview import compare_branches

        async with self._session.opened(self.name) as repository:
            wanted = NameFilter(prefix, after, contains)
            async for each in compare_branches(repository, full_name(base, repository), wanted):
                yield each

    async def create_branch(
        self, name: str, source: NamedRef | str = "", *, hidden: bool = False, key: str = ""
    ) -> Branch:
        """Creates a branch at the commit that `source` names now, or at the head of the default branch. Nothing is
        copied. With `hidden`, lists of branches leave it out. Raises AlreadyExists, NotFound, Invalid."""
        from lochan.versioning.branches import create_branch

        async with self._session.opened(self.name) as repository:
            start = full_name(source, repository)
            actor = self._session.acting(key, "create branch", self.name, name, start, *([hidden] if hidden else []))
            head = await create_branch(repository, name, start, hidden=hidden, actor=actor)
        return Branch(self._session, self.name, name, head)

    async def delete_branch(self, name: str, *, key: str = "") -> None:
        """Deletes a branch with what is staged on it; `restore_branch` brings it back. Raises NotFound, Refused for the
        default branch."""
        from lochan.versioning.branches import delete_branch

        actor = self._session.acting(key, "delete branch", self.name, name)
        async with self._session.opened(self.name) as repository:
            await delete_branch(repository, name, repository.repository.default_branch, actor=actor)

    async def restore_branch(self, name: str, *, key: str = "") -> Branch:
        """Restores the last deleted branch of this name. Raises NotFound, AlreadyExists."""
        from lochan.versioning.branches import restore_branch

        actor = self._session.acting(key, "restore branch", self.name, name)
        async with self._session.opened(self.name) as repository:
            head = await restore_branch(repository, name, actor=actor)
        return Branch(self._session, self.name, name, head)

    async def is_bare(self) -> bool:
        """Returns whether it has no branch and no tag. Raises NotFound."""
        async with self._session.opened(self.name) as repository:
            refs, _ = await repository.refs()
            return refs.is_bare

    async def restore_history(
        self, source: str, branches: Mapping[str, str], tags: Mapping[str, str] | None = None, *, key: str = ""
    ) -> None:
        """Brings branches and tags into a bare repository, by name, from commits of the repository `source`, with all
        commits behind them. Bytes are copied; a commit that is equal has the same id. Raises Refused for a repository
        that is not bare, NotFound, Gone for commits that have expired."""
        from lochan.versioning.history_copy import copy_history

        named = dict(branches), dict(tags or {})
        actor = self._session.acting(key, "restore history", self.name, source, *map(sorted, map(dict.items, named)))
        async with self._session.opened(self.name) as repository, self._session.opened(source) as other:
            files_only(repository)
            files_only(other)
            await copy_history(other, repository, *named, actor=actor)

    async def tags(self, prefix: str = "", after: str = "", contains: str = "") -> AsyncIterator[TagInfo]:
        """Yields tags, ordered by name: those that begin with `prefix`, come after the name `after`, and contain the
        text `contains`, in any case."""
        async with self._session.opened(self.name) as repository:
            refs, _ = await repository.refs()
            for name, id in refs.tags(NameFilter(prefix, after, contains)):
                commit = refs.commit(id)
                yield TagInfo(name=name, commit=id, date=moment(commit.date), message=commit.message)

    async def show_tag(self, name: str) -> TagInfo:
        """Returns a tag. Raises NotFound."""
        async with self._session.opened(self.name) as repository:
            refs, _ = await repository.refs()
            id = refs.tag(name)
            commit = refs.commit(id)
            return TagInfo(name=name, commit=id, date=moment(commit.date), message=commit.message)

    async def create_tag(self, name: str, target: NamedRef | str = "", *, key: str = "") -> Ref:
        """Creates a tag for the commit that `target` names now, by default the head of the default branch. Raises
        AlreadyExists, NotFound, Invalid."""
        from lochan.versioning.branches import create_tag

        async with self._session.opened(self.name) as repository:
            there = full_name(target, repository)
            actor = self._session.acting(key, "create tag", self.name, name, there)
            id = await create_tag(repository, name, there, actor=actor)
        return Ref(self._session, self.name, name, id)

    async def delete_tag(self, name: str, *, key: str = "") -> None:
        """Deletes a tag. Raises NotFound."""
        from lochan.versioning.branches import delete_tag

        actor = self._session.acting(key, "delete tag", self.name, name)
        async with self._session.opened(self.name) as repository:
            await delete_tag(repository, name, actor=actor)

    async def merge_base(self, left: NamedRef | str, right: NamedRef | str) -> Commit | None:
        """Returns their best common ancestor, the first if there are several. Returns None if their histories have
        nothing in common."""
        found = await self.merge_bases(left, right)
        return found[0] if found else None

    async def merge_bases(self, left: NamedRef | str, right: NamedRef | str) -> list[Commit]:
        """Returns all of the best common ancestors. There are several where the two have merged each other, and there
        may be none."""
        from lochan.versioning.revisions.graph import merge_bases

        async with self._session.opened(self.name) as repository:
            names = [full_name(each, repository) for each in (left, right)]
            one, other = [(await repository.resolve(name)).commit_id for name in names]
            refs, _ = await repository.refs()
            return [Commit.of(id, refs.recorded(id)) for id in merge_bases(refs.recorded, one, other)]

    async def bisect(self, good: Sequence[str], bad: str, skipped: Sequence[str] = ()) -> BisectStep:
        """Returns which commit to test next for the one that broke something, by what is known so far: some good ones,
        a bad one, and some that cannot be tested. Raises NotFound, Invalid for marks that contradict each other."""
        async with self._session.opened(self.name) as repository:
            return await _bisect_step(repository, good, bad, skipped)

    async def protections(self) -> list[ProtectionRule]:
        """Returns the rules that protect branches."""
        from lochan.versioning.branches import protections

        async with self._session.opened(self.name) as repository:
            rules = await protections(repository)
        return [ProtectionRule.of(each) for each in rules]

    async def protect(
        self,
        pattern: str,
        blocked: Sequence[str] = PROTECTED,
        *,
        mergers: Sequence[str] = (),
        linear: bool = False,
        pull: bool = False,
        approvals: int = 0,
        checks: Sequence[str] = (),
        keep_stale: bool = False,
        key: str = "",
    ) -> list[ProtectionRule]:
        """Protects branches whose names fit the pattern, in which * and ? stand for any letters. `blocked` is any of
        `stage`: no writes; `commit`: no commits, imports, loads and workspaces' commits; `revert`: no reverts and
        cherry-picks; `merge`: no merges; `rewrite`: no reset to another commit, no rebase, no new name, no deletion.
        With `mergers`, only these users may merge. With `linear`, no commit with two parents is added. With `pull`, the
        branches change only by pull requests, which may need so many `approvals` and the success of these `checks`. An
        approval does not count once the source has other commits, unless `keep_stale` is set. Returns all rules. Raises
        Invalid."""
        from lochan.versioning.branches import PullNeeds, protect

        needs = PullNeeds(pull or approvals != 0 or bool(checks) or keep_stale, approvals, tuple(checks), keep_stale)
        request = pattern, blocked, mergers, linear, *([needs] if needs.pull else [])
        actor = self._session.acting(key, "protect", self.name, *request)
        async with self._session.opened(self.name) as repository:
            rules = await protect(repository, pattern, tuple(blocked), tuple(mergers), linear, needs, actor=actor)
        return [ProtectionRule.of(each) for each in rules]

    async def set_protections(
        self, rules: Sequence[ProtectionRule], *, expected: Sequence[ProtectionRule] | None = None, key: str = ""
    ) -> list[ProtectionRule]:
        """Replaces all rules at once, and returns them. With `expected`, replaces them only if these are the rules
        until then. Raises PreconditionFailed, Invalid."""
        from lochan.versioning.branches import set_protections

        stored = _stored_rules(rules)
        before = None if expected is None else _stored_rules(expected)
        actor = self._session.acting(key, "set protections", self.name, stored, before)
        async with self._session.opened(self.name) as repository:
            found = await set_protections(repository, stored, before, actor=actor)
        return [ProtectionRule.of(each) for each in found]

    async def unprotect(self, pattern: str, *, key: str = "") -> list[ProtectionRule]:
        """Removes the rule of exactly that pattern, and returns those that are left. Raises NotFound."""
        from lochan.versioning.branches import unprotect

        actor = self._session.acting(key, "unprotect", self.name, pattern)
        async with self._session.opened(self.name) as repository:
            rules = await unprotect(repository, pattern, actor=actor)
        return [ProtectionRule.of(each) for each in rules]

    async def is_read_only(self) -> bool:
        """Returns whether every change is refused. Raises NotFound."""
        async with self._session.opened(self.name) as repository:
            refs, _ = await repository.refs()
            return refs.guard.read_only

    async def set_read_only(self, on: bool = True, *, key: str = "") -> None:
        """Refuses every change of its branches, tags and objects from now on, or allows them again."""
        from lochan.versioning.branches import set_read_only

        actor = self._session.acting(key, "read-only", self.name, on)
        async with self._session.opened(self.name) as repository:
            await set_read_only(repository, on, actor=actor)

    async def set_metadata(
        self, values: Mapping[str, str], removed: Sequence[str] = (), *, key: str = ""
    ) -> dict[str, str]:
        """Sets these of its metadata, removes others, and returns all. What is removed need not exist. Raises NotFound,
        Invalid."""
        lake, actor = self._session.lake, self._session.actor
        return await lake.describe_repository(self.name, values, removed, actor=actor, key=key)

    def pull(self, id: str) -> PullRequest:
        """Returns a pull request, by the id that `create_pull` and `pulls` give it."""
        return PullRequest(self._session, self.name, id)

    async def pulls(
        self,
        status: str = "open",
        *,
        author: str = "",
        source: str = "",
        target: str = "",
        after: str = "",
        texts: bool = False,
    ) -> AsyncIterator[PullRequestSummary]:
        """Yields pull requests, the newest first. `status` is open, closed, merged, ended (both of these) or all.
        `author`, `source` and `target` filter by who opened them, and by their branches. With `after`, only those are
        yielded that were opened before the one with this id. With `texts`, they have their descriptions, which are read
        from the journal. Raises Invalid."""
        from lochan.versioning.pulls import PullFilter, find_pulls, read_texts

        async with self._session.opened(self.name) as repository:
            found = await find_pulls(repository, PullFilter(status, author, source, target, after))
            for at in range(0, len(found), _TEXTS_AT_ONCE):
                several = found[at : at + _TEXTS_AT_ONCE]
                descriptions = await read_texts(repository, (each.text for each in several)) if texts else {}
                for each in several:
                    text = "" if each.text is None else descriptions.get(each.text, "")
                    yield PullRequestSummary.of(each, text if texts else None)

    async def create_pull(
        self,
        source: NamedRef | str,
        target: NamedRef | str = "",
        *,
        title: str,
        description: str = "",
        reviewers: Sequence[str] = (),
        key: str = "",
    ) -> PullRequest:
        """Proposes to merge the branch `source` into `target`, or into the default branch. Raises AlreadyExists if such
        a request is open, NotFound, Invalid."""
        from lochan.versioning.pulls import open_pull

        async with self._session.opened(self.name) as repository:
            branches = name_of(source), full_name(target, repository)
            request = *branches, title, description, tuple(reviewers)
            actor = self._session.acting(key, "create pull", self.name, *request)
            id = await open_pull(repository, *request, actor=actor)
        return PullRequest(self._session, self.name, id)

    async def stashes(self, branch: str = "") -> AsyncIterator[StashInfo]:
        """Lists the stashes of one branch, or of all, the newest first."""
        from lochan.versioning.stash import list_stashes

        async with self._session.opened(self.name) as repository:
            for each in await list_stashes(repository, branch):
                yield StashInfo.of(each)

    async def workspaces(self, branch: str = "") -> AsyncIterator[WorkspaceInfo]:
        """Lists the open workspaces of one branch, or of all."""
        from lochan.versioning.workspaces.write import open_workspaces

        async with self._session.opened(self.name) as repository:
            for each in await open_workspaces(repository, branch):
                yield info_of(repository, each)

    async def hooks(self, branch: str = "") -> AsyncIterator[HookInfo]:
        """Lists the hooks that will judge the next change of the branch, by default the default branch. Raises
        NotFound."""
        from lochan.api.hooks import hooks_of

        async for each in hooks_of(self._session, self.name, branch):
            yield each

    async def check_hooks(self, text: str, path: str = "hooks.yaml") -> list[HookInfo]:
        """Checks the hooks of a file that is not committed yet, and returns them; errors call it `path`. Raises
        HookFileError, with the line and the column."""
        from lochan.api.hooks import checked_file

        await self._session.repository(self.name)
        return checked_file(text, path)

    async def run_hooks(self, event: str, branch: str = "", *, dry_run: bool = False, key: str = "") -> HookRunInfo:
        """Runs the hooks for an event such as `pre-commit`, about what is staged on the branch, or about its head where
        nothing is. Nothing is changed. A dry run skips webhooks and modules, and is not recorded. Raises Invalid."""
        from lochan.api.hooks import run_by_hand

        return await run_by_hand(self._session, self.name, event, branch, dry_run)

    async def hook_runs(self, branch: str = "", after: str = "") -> AsyncIterator[HookRunInfo]:
        """Yields runs of hooks, the newest first: those of one branch or tag, and those that began before the run
        `after`."""
        from lochan.api.hooks import runs_of

        async for each in runs_of(self._session, self.name, branch, after):
            yield each

    async def hook_run(self, id: str) -> HookRunInfo:
        """Returns a run of hooks. Raises NotFound."""
        from lochan.api.hooks import run_of

        return await run_of(self._session, self.name, id)

    async def hook_secret(self, url: str) -> str:
        """Returns the secret with which requests to the host of this address are signed, for its receiver. Raises
        Invalid."""
        from lochan.api.hooks import secret_of

        return await secret_of(self._session, self.name, url)

    async def uploads(self) -> AsyncIterator[UploadInfo]:
        """Yields open uploads in parts, to branches and workspaces that exist, ordered by path and then by when they
        were created."""
        async with self._session.opened(self.name) as repository:
            refs, _ = await repository.refs()
            for each in refs.uploads.all():
                if refs.find_branch(each.opened.branch) is not None:
                    yield UploadInfo.of(each)

    async def snapshots(self) -> list[RefSnapshot]:
        """Returns every branch as it is at this one moment, ordered by name."""
        from lochan.api.snapshot import RefSnapshot

        async with self._session.opened(self.name) as repository:
            refs, _ = await repository.refs()
            return [RefSnapshot.of_branch(self._session, repository, each) for each in refs.branches()]

    async def is_empty(self) -> bool:
        """Returns whether no branch holds an object, committed or staged."""
        for each in await self.snapshots():
            if (await each.list_page(limit=1)).objects:
                return False
        return True

    async def rename(self, to: str, *, key: str = "") -> None:
        """Renames the repository. When it returns, nobody finds it by its old name, and this handle continues with the
        new one. Raises AlreadyExists, NotFound."""
        await self._session.lake.rename_repository(self.name, to, actor=self._session.actor, key=key)
        self.name = to

    async def delete(self, *, force: bool = False, key: str = "") -> None:
        """Deletes the repository. When it returns, nobody can write to it any more. With `force`, it is deleted even if
        it is read-only. Raises NotFound, ReadOnly."""
        await self._session.lake.delete_repository(self.name, force=force, actor=self._session.actor, key=key)


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


def _stored_rules(rules: Sequence[ProtectionRule]) -> list[Protection]:
    from lochan.versioning.branches import PullNeeds, new_rule

    def needs(rule: ProtectionRule) -> PullNeeds:
        asked = rule.approvals != 0 or bool(rule.checks) or rule.keep_stale
        return PullNeeds(rule.pull or asked, rule.approvals, rule.checks, rule.keep_stale)

    return [new_rule(each.pattern, each.blocked, each.mergers, each.linear, needs(each)) for each in rules]
