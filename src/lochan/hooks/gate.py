"""Judges a change of a repository by its hooks before it lands, and runs the hooks for afterwards.

The hook files are those under `_lochan/hooks/` at the head that the move was computed on, so a change is judged by the
hooks that existed before it. Branches and tags that are created or deleted are judged by the default branch's head. A
repository whose metadata has `lochan.hooks: NAME` is also judged by the default branch of that repository; a pool,
which has no files of its own, has its hooks there.

A hook that cannot be run refuses the change, just as a hook that refuses it does."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from lochan.errors import HookRefused, NotFound
from lochan.formats import hook_run
from lochan.formats.hook_run import HookResultRecord, HookRunRecord
from lochan.formats.metarange import TreeRef
from lochan.hooks.hook_file import (
    FOLDER,
    MOVE,
    QUERY,
    HookConditions,
    HookFile,
    HookFileError,
    is_hook_file,
    parse_hook_file,
)
from lochan.hooks.run_hook import HookEvent, HookLake, HookRunner, RunningHook
from lochan.hooks.runs import delete_old_runs, put_run
from lochan.versioning.gate import SHARED_HOOKS, UNJUDGED, HeadMove, Judged, RefChange
from lochan.versioning.heads.commit import CommitRequest, commit_record
from lochan.versioning.names import fitting_paths, regex
from lochan.versioning.repositories import POOL

if TYPE_CHECKING:
    from lochan.formats.commit import Commit
    from lochan.formats.entry import Entry
    from lochan.formats.record import Actor
    from lochan.tree.tree import Tree
    from lochan.versioning.open_repository import OpenRepository

_FILES_MAX = 200
_CACHED_MAX = 64


class HookSet(NamedTuple):
    """The hook files of one commit."""

    commit: str
    files: tuple[HookFile, ...]
    broken: tuple[str, ...] = ()  # paths of files that are none: from before their folder had a meaning


class HookGate:
    def __init__(self, repository: OpenRepository, lake: HookLake) -> None:
        self._repository = repository
        self._lake = lake
        self._cached: dict[str, HookSet] = {}  # by tree
        self.runner = HookRunner(repository, lake)

    async def judge_move(self, move: HeadMove, actor: Actor) -> Judged:
        repository = self._repository
        own = HookSet(move.base, ())
        if repository.repository.kind != POOL:
            base = repository.folded().recorded(move.base)
            own = await self._files(repository, move.base, base)
            await self._check_new_files(own.broken, base, move.commit)
        sets = [each for each in (own, await self._shared()) if each is not None and each.files]
        if not sets:
            return UNJUDGED
        event = HookEvent(move.verb, move.branch, move.base, move.commit_id, move.commit, actor, move.source)
        return await self._judge(sets, event)

    async def judge_ref(self, change: RefChange, actor: Actor) -> Judged:
        sets = [each for each in (await self.default_files(), await self._shared()) if each is not None and each.files]
        if not sets:
            return UNJUDGED
        commit = self._repository.folded().recorded(change.commit_id) if change.commit_id else None
        base = change.base or change.commit_id
        event = HookEvent(change.verb, change.name, base, change.commit_id, commit, actor, change.source, change.pull)
        return await self._judge(sets, event)

    # --- which hooks -------------------------------------------------------------------------------------------------
    async def default_files(self) -> HookSet | None:
        repository = self._repository
        if repository.repository.kind == POOL:
            return None
        refs, _ = await repository.refs()
        branch = refs.find_branch(repository.repository.default_branch)
        if branch is None:
            return None
        return _whole(await self._files(repository, branch.head, refs.commit(branch.head)))

    async def branch_files(self, branch: str) -> list[HookSet]:
        """Returns the hooks that judge the next move of that branch."""
        refs, _ = await self._repository.refs()
        head = refs.branch(branch).head
        is_pool = self._repository.repository.kind == POOL
        own = HookSet(head, ()) if is_pool else await self._files(self._repository, head, refs.commit(head))
        return [each for each in (own, await self._shared()) if each is not None]

    async def _shared(self) -> HookSet | None:
        """Returns the hooks of the repository that the metadata names. Raises HookRefused if it does not exist: a
        change does not pass because its hooks are gone."""
        name = self._repository.repository.metadata.get(SHARED_HOOKS)
        if not name or name == self._repository.repository.name:
            return None
        try:
            other = await self._lake.open_repository(name)
        except NotFound:
            raise HookRefused(
                f"the hooks of this repository are in {name!r}, which does not exist",
                hint=f"`lochan repo describe REPO --remove {quote(SHARED_HOOKS)}` goes without them",
            ) from None
        try:
            refs, _ = await other.refs()
            head = refs.branch(other.repository.default_branch).head
            return _whole(await self._files(other, head, refs.commit(head)))
        finally:
            await other.close()

    async def _files(self, repository: OpenRepository, id: str, commit: Commit) -> HookSet:
        if commit.tree not in self._cached:
            found, broken = [], []
            for entry in await _entries(await _tree(repository, commit)):
                try:
                    found.append(parse_hook_file(await repository.reader.read_all(entry), entry.path))
                except HookFileError:
                    broken.append(entry.path)
            while len(self._cached) >= _CACHED_MAX:
                del self._cached[next(iter(self._cached))]
            self._cached[commit.tree] = HookSet("", tuple(found), tuple(broken))
        return self._cached[commit.tree]._replace(commit=id)

    async def _check_new_files(self, broken: Sequence[str], base: Commit, commit: Commit) -> None:
        """Checks the hook files of a change. A hook file with a mistake is refused, in whatever way it comes to the
        branch; a broken one that was there already is refused until it is changed. Raises HookFileError."""
        if base.tree == commit.tree:
            return
        repository = self._repository
        before = {entry.path: entry for entry in await _entries(await _tree(repository, base))}
        for entry in await _entries(await _tree(repository, commit)):
            known = before.get(entry.path)
            is_new = known is None or known.etag != entry.etag or known.size != entry.size
            if is_new or entry.path in broken:
                parse_hook_file(await repository.reader.read_all(entry), entry.path)

    # --- what they decide --------------------------------------------------------------------------------------------
    async def _judge(self, sets: Sequence[HookSet], event: HookEvent) -> Judged:
        before = await self.applying(sets, "pre", event)
        after = await self.applying(sets, "post", event)
        if before:
            record = await self.run(sets, f"pre-{event.verb}", event, before)
            refusals = [each for each in record.results if each.state != hook_run.PASSED]
            if refusals:
                words = "; ".join(f"{each.hook}: {each.reason}" for each in refusals)
                raise HookRefused(
                    f"hooks have refused the {event.verb}: {words}",
                    hint=f"`lochan hooks show REPO {quote(record.id)}` has more",
                )
        return _After(self, sets, event, after) if after else UNJUDGED

    async def applying(self, sets: Sequence[HookSet], when: str, event: HookEvent) -> list[RunningHook]:
        names = [f"{when}-{event.verb}"] + ([f"{when}-{MOVE}"] if event.moves_a_head else [])
        found = []
        for each in sets:
            for file in each.files:
                given = next((file.events[name] for name in names if name in file.events), None)
                if given is None or not await self._hold((given, file.conditions), event):
                    continue
                found += [RunningHook(file, hook) for hook in file.hooks if await self._hold((hook.conditions,), event)]
        return found

    async def _hold(self, all: Sequence[HookConditions], event: HookEvent) -> bool:
        for each in all:
            if each.branches and not _matches(event.branch, each.branches):
                return False
            metadata = {} if event.commit is None else event.commit.metadata
            if any(metadata.get(name) != value for name, value in each.metadata):
                return False
            if each.paths and not await self._changes(event, each.paths):
                return False
        return True

    async def _changes(self, event: HookEvent, patterns: Sequence[str]) -> bool:
        """Returns whether the change touches a path that matches. Creating or deleting branches and tags changes no
        path."""
        import pyarrow.compute as pc

        from lochan.tree.diff import diff

        if event.commit is None or event.base == event.commit_id:
            return False
        base = await _tree(self._repository, self._repository.folded().recorded(event.base))
        async for table in diff(self._repository.trees, base, await _tree(self._repository, event.commit)):
            if pc.any(pc.match_substring_regex(table["path"], regex(patterns))).as_py():
                return True
        return False

    async def run_by_hand(self, name: str, branch: str, actor: Actor, *, dry: bool) -> HookRunRecord:
        """Runs the hooks for this event on the branch: for a commit on what is staged, else on its head. A dry run
        skips webhooks and modules, and stores nothing."""
        when, _, verb = name.partition("-")
        sets = await self.branch_files(branch)
        refs, mint = await self._repository.refs()
        found = refs.branch(branch)
        head = refs.commit(found.head)
        base, commit_id, commit = (head.parents or (found.head,))[0], found.head, head
        if name in ("pre-commit", "pre-move") and not found.layers.empty:
            base, view = found.head, await self._repository.view_of(head, found.layers)
            tree = await self._repository.trees.apply(await _tree(self._repository, head), view.scan_changes(), mint)
            text = CommitRequest("")
            commit = commit_record(tree, {found.head: head}, text, actor, self._repository.clock.wall())
            commit_id = commit.id
        event = HookEvent(verb, branch, base, commit_id, commit, actor)
        hooks = await self.applying(sets, when, event)
        return await self.run(sets, name, event, hooks, manual=True, dry=dry)

    async def run(
        self,
        sets: Sequence[HookSet],
        name: str,
        event: HookEvent,
        hooks: Sequence[RunningHook],
        *,
        manual: bool = False,
        dry: bool = False,
    ) -> HookRunRecord:
        """Runs all of the hooks, one after another, so that one answer reports everything that is wrong."""
        clock = self._repository.clock
        started = clock.wall()
        id = hook_run.new_id(started, self._repository.ids.ksuid(started))
        results: list[HookResultRecord] = []
        for each in hooks:
            if dry and each.hook.kind != QUERY:
                results.append(skipped_result(each))
            else:
                results.append(await self.runner.run(each, name, event, id))
        fine = (hook_run.PASSED, hook_run.SKIPPED)
        state = hook_run.PASSED if all(each.state in fine for each in results) else hook_run.FAILED
        record = HookRunRecord(
            hook_run.FORMAT,
            id,
            name,
            event.branch,
            event.commit_id,
            event.base,
            sets[0].commit if sets else "",
            event.actor.user,
            event.actor.client,
            event.actor.source,
            started,
            clock.wall(),
            state,
            tuple(results),
            manual,
        )
        if not dry:
            store, repository = self._repository.store, self._repository.repository.id
            await put_run(store, repository, record)
            await delete_old_runs(store, repository, clock.wall(), self._lake.options.keep_days)
        return record


def skipped_result(running: RunningHook) -> HookResultRecord:
    file, hook = running
    return HookResultRecord(file.path, hook.id, hook.kind, hook_run.SKIPPED, "a dry run", name=file.name)


class _After:
    """Hooks that run after the change has landed. Their results no longer change anything, but are stored."""

    def __init__(self, gate: HookGate, sets: Sequence[HookSet], event: HookEvent, hooks: Sequence[RunningHook]) -> None:
        self._gate = gate
        self._sets = sets
        self._event = event
        self._hooks = hooks

    async def landed(self) -> None:
        try:
            await self._gate.run(self._sets, f"post-{self._event.verb}", self._event, self._hooks)
        except Exception:
            import logging

            logging.getLogger("lochan.hooks").warning("a record of hooks could not be kept", exc_info=True)


def _whole(found: HookSet) -> HookSet:
    """Returns the hook files. Raises HookRefused if one cannot be parsed: no change passes because its hook cannot be
    read."""
    if found.broken:
        raise HookRefused(f"{found.broken[0]} is no hook file", hint="put a right one in its place, or delete it")
    return found


async def _tree(repository: OpenRepository, commit: Commit) -> Tree:
    return await repository.trees.open(TreeRef(commit.tree, commit.tree_file))


async def _entries(tree: Tree) -> list[Entry]:
    page = await tree.list(FOLDER, limit=_FILES_MAX + 1)
    if not len(page.entries):
        return []
    if len(page.entries) > _FILES_MAX:
        raise HookRefused(f"there are more than {_FILES_MAX} files under {FOLDER}", hint="put them together")
    from lochan.formats.entry_table import EntryRows, as_batch

    rows = EntryRows(as_batch(page.entries))
    found = [rows.entry(row) for row in range(len(page.entries))]
    return [entry for entry in found if is_hook_file(entry.path)]


def _matches(text: str, patterns: Sequence[str]) -> bool:
    return bool(fitting_paths([text], patterns))
