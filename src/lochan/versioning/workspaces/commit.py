"""Commits a workspace: it becomes one commit of its branch, and is closed by the same event (S8).

    list the folder, read each file once ──▶ fork tree with the changes ──▶ three ways with the branch's head ──▶ moved

The base of the three is the commit that the workspace was opened on, never the head: a path that was changed on the
branch since is a conflict and not overwritten. If the head has moved, the commit is computed again. If the workspace or
its folder has changed meanwhile, the folder is listed again."""

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from shlex import quote

import msgspec
import pyarrow as pa

from lochan.errors import ConcurrentCommit, LochanError, NothingToDo, Refused
from lochan.failpoints import fp
from lochan.formats.collection_events import Abandoned
from lochan.formats.commit import Commit
from lochan.formats.entry_table import table_of
from lochan.formats.events import Event
from lochan.formats.record import Actor
from lochan.formats.repository_events import Moved
from lochan.formats.workspace_events import WorkspaceSealed, WorkspaceStaged
from lochan.journal.keys import KeyedActor, without_key
from lochan.staging.merge import merge_tables as newest
from lochan.store.protocol import Stat
from lochan.tree import merge as trees_merge
from lochan.tree.merge import MergeResult
from lochan.tree.tree import Tree
from lochan.versioning.bodies.outside_files import check_names
from lochan.versioning.bulk import puts
from lochan.versioning.heads.commit import CommitRequest, commit_record
from lochan.versioning.heads.land import FinalConflict, PathTest, PreparedMove, land
from lochan.versioning.heads.moves import changed_paths
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.branch import BranchState
from lochan.versioning.state.refs import Refs
from lochan.versioning.state.workspaces import WorkspaceState
from lochan.versioning.workspaces.folder import FileVanished, WorkspaceFiles
from lochan.versioning.workspaces.selection import check, fits
from lochan.versioning.workspaces.write import find

_LISTINGS_MAX = 10  # a folder that changes more often is still being written to


class BothChanged(FinalConflict):
    """The workspace and the branch have changed the same paths differently since the workspace was opened."""

    def __init__(
        self, workspace: WorkspaceState, merged: MergeResult, every: Callable[[], AsyncIterator[pa.Table]]
    ) -> None:
        paths = merged.first["path"].to_pylist()
        shown = ", ".join(map(repr, paths[:3])) + (" …" if merged.conflicts > 3 else "")
        super().__init__(
            f"{merged.conflicts} of the paths that workspace {workspace.id!r} changes were changed on branch "
            f"{workspace.branch!r} since: {shown}",
            hint=f"nothing was moved; `lochan workspace revert REPO {quote(workspace.id)} PATH` takes one out, and "
            f"`lochan workspace drop REPO {quote(workspace.id)}` drops the workspace",
        )
        self.paths = tuple(paths)  # only the first paths
        self.count = merged.conflicts
        self.merged = merged
        self.every = every  # all conflicts as tables, while the repository is open


async def commit(
    repository: OpenRepository,
    workspace: str,
    request: CommitRequest,
    *,
    actor: Actor,
    everything: bool | None = False,
    key: str = "",
) -> tuple[str, Commit]:
    """Commits the changes that the request's paths name. Without any, commits those that were added, or everything; if
    `everything` is None, those that were added, if any. Raises BothChanged, PathsInTheWay for changes that are staged
    on the branch, NothingToDo, and Refused for a workspace that is closed. A request that is sent again with the same
    idempotency key gets the first one's commit."""
    if request.paths:
        check(request.paths)
    fingerprint = _fingerprint(workspace, request, everything)
    if isinstance(actor, KeyedActor) and not key:
        key, fingerprint = actor.key, actor.fingerprint
    actor = without_key(actor)
    made = _Commit(repository, workspace, request, everything, actor)
    try:
        branch = (await find(repository, workspace)).branch
        id: str = await land(repository, branch, made.prepare, actor=actor, key=key, fingerprint=fingerprint)
    except Refused as refused:
        if not key:
            raise
        id = await _earlier_result(repository, refused, actor, key, fingerprint)
    fp("workspace.landed")
    await _lock(repository, workspace, id)
    return id, repository.folded().commit(id)


async def _earlier_result(
    repository: OpenRepository, refused: Refused, actor: Actor, key: str, fingerprint: bytes
) -> str:
    """Returns the result of an earlier request with the key, or raises `refused`. The journal looks the key up before
    it decides anything."""

    def decide(refs: Refs) -> Sequence[Event]:
        raise refused

    id: str = await repository.submit_decided(actor, decide, key=key, fingerprint=fingerprint)
    return id


async def _lock(repository: OpenRepository, workspace: str, commit: str) -> None:
    """Writes the lock, for programs that write to the folder themselves and want to check it. The journal has closed
    the workspace already."""
    with suppress(LochanError):
        await repository.store.put_if_absent(repository.folder(workspace).lock, f"{commit}\n".encode())
    fp("workspace.locked")


def _fingerprint(workspace: str, request: CommitRequest, everything: bool | None) -> bytes:
    metadata = sorted(request.metadata.items())
    fields = "workspace-commit", workspace, request.message, metadata, request.author, everything, *request.paths
    return hashlib.sha256(msgspec.msgpack.encode(fields)).digest()


class _Commit:
    def __init__(
        self, repository: OpenRepository, workspace: str, request: CommitRequest, everything: bool | None, actor: Actor
    ) -> None:
        self._repository = repository
        self._id = workspace
        self._request = request
        self._everything = everything
        self._actor = actor
        self._folder = repository.folder(workspace)
        self._files = WorkspaceFiles(repository, self._folder)

    async def prepare(self, turn: str) -> PreparedMove:
        """Computes the commit. The folder is the same before the files are read and after the trees are written."""
        for _ in range(_LISTINGS_MAX):
            refs, mint = await self._refs()
            workspace = refs.workspaces.get(self._id)
            branch, fork = _branch(refs, workspace), refs.commit(workspace.fork)
            head, against_fork = refs.commit(branch.head), refs.rules.workspaces_merge_against_their_fork()
            files = await self._listing(workspace)
            fp("workspace.listed")
            try:
                theirs = await self._theirs(workspace, fork, files, mint)
            except FileVanished:
                continue
            ours, base = await self._repository.tree(head), await self._repository.tree(fork)
            tree = await self._merge_trees(workspace, base if against_fork else ours, ours, theirs, mint)
            test = PathTest(branch.name, await changed_paths(self._repository, ours, tree))
            await test.look(await self._repository.view_of(head, branch.layers), branch.layers)
            fp("workspace.computed")
            upto = await self._seal(workspace)
            fp("workspace.sealed")
            if await self._listing(workspace) == files:
                made = commit_record(
                    tree, {branch.head: head}, self._request, self._actor, self._repository.clock.wall()
                )
                return PreparedMove(_event(workspace, branch, made, mint, turn, upto), test)
        raise FinalConflict(
            f"the folder of workspace {self._id!r} is still being written to",
            hint="commit it when all its writers have ended",
        )

    async def _refs(self) -> tuple[Refs, int]:
        """Returns the current refs. Older versions deleted files of a workspace, and kept it from being committed
        meanwhile. If they were killed, their leftovers are abandoned here."""
        refs, number = await self._repository.refs()
        if refs.collection.removals(self._id):
            await self._repository.submit_decided(self._actor, self._abandon_removals)
            refs, number = await self._repository.refs()
        return refs, number

    def _abandon_removals(self, refs: Refs) -> Sequence[Event]:
        """Abandons those removals. This changes the workspace's last event, so a commit that is under way is computed
        again."""
        removals = tuple(id for id, _ in refs.collection.removals(self._id))
        return [WorkspaceStaged(self._id), *([Abandoned(removals)] if removals else [])]

    async def _seal(self, workspace: WorkspaceState) -> int:
        """Seals the workspace. A later put through Lochan then makes the commit list the folder again, and the last
        listing sees everything that was put before."""

        def decide(refs: Refs) -> Sequence[Event]:
            if refs.workspaces.get(workspace.id).last != workspace.last:
                raise ConcurrentCommit(f"workspace {workspace.id!r} was written to while it was committed")
            return [WorkspaceSealed(workspace.id)]

        number: int = await self._repository.submit_decided(self._actor, decide)
        return number

    async def _listing(self, workspace: WorkspaceState) -> list[Stat]:
        """Returns the files that are to be committed."""
        if self._folder.is_local:  # a listing skips such names, so a commit would lose the files
            await self._repository.trees.threads.run(check_names, self._folder.place().strip("/"))
        folder = self._repository.shown_folder(workspace)
        found = [stat async for stats in folder.stats() for stat in stats]
        if self._takes_all(workspace) or not found:
            return found
        paths = pa.array([stat.path[len(self._folder.root) :] for stat in found], pa.string())
        fitting = fits(paths, self._patterns(workspace)).to_pylist()
        return [stat for stat, fit in zip(found, fitting, strict=True) if fit]

    async def _theirs(self, workspace: WorkspaceState, fork: Commit, files: Sequence[Stat], mint: int) -> Tree:
        """Returns the fork with all changes. A file that is not hidden wins over a staged change."""
        staged = await (await self._repository.view_of(fork, workspace.layers)).changes()
        if not self._takes_all(workspace):
            staged = staged.filter(fits(staged["path"], self._patterns(workspace)))
        if not files and not len(staged):
            raise self._nothing(workspace)
        changes = newest([puts(table_of(await self._files.entries(files))), staged])
        base = await self._repository.tree(fork)
        tree = await self._repository.trees.apply(base, changes, mint)
        if tree.ref.id == base.ref.id:
            raise NothingToDo(f"what is in workspace {workspace.id!r} changes nothing", hint="it can be dropped")
        return tree

    def _takes_all(self, workspace: WorkspaceState) -> bool:
        return not self._patterns(workspace) if self._everything is None else self._everything

    def _patterns(self, workspace: WorkspaceState) -> Sequence[str]:
        """Returns the patterns of what is to be committed, if not everything: those of the request, or those that were
        added."""
        return self._request.paths or workspace.added

    def _nothing(self, workspace: WorkspaceState) -> NothingToDo:
        if self._request.paths:
            patterns = ", ".join(self._request.paths)
            return NothingToDo(f"nothing in workspace {workspace.id!r} matches {patterns}")
        if self._takes_all(workspace):
            return NothingToDo(f"nothing was written to workspace {workspace.id!r}", hint="there is nothing to commit")
        what = "nothing fits what was added" if workspace.added else "nothing was added"
        return NothingToDo(
            f"{what} to workspace {workspace.id!r}",
            hint=f"`lochan workspace add REPO {quote(workspace.id)} PATH` adds a path, --all commits all of it",
        )

    async def _merge_trees(self, workspace: WorkspaceState, base: Tree, ours: Tree, theirs: Tree, mint: int) -> Tree:
        merged = await trees_merge.merge(self._repository.trees, base, ours, theirs, mint=mint)
        if merged.tree is None:
            trees, sides = self._repository.trees, (base, ours, theirs)
            raise BothChanged(workspace, merged, lambda: trees_merge.conflicts(trees, *sides))
        if merged.tree.ref.id == ours.ref.id:
            raise NothingToDo(
                f"all that workspace {workspace.id!r} changes is on branch {workspace.branch!r} already",
                hint="it can be dropped",
            )
        return merged.tree


def _event(workspace: WorkspaceState, branch: BranchState, made: Commit, mint: int, turn: str, upto: int) -> Moved:
    return Moved(
        branch.name,
        branch.incarnation,
        branch.head,
        made.id,
        "workspace",
        (made,),
        read_at=mint,
        turn=turn,
        workspace=workspace.id,
        upto=upto,
    )


def _branch(refs: Refs, workspace: WorkspaceState) -> BranchState:
    """Returns the workspace's branch. Raises FinalConflict if it was deleted, or deleted and made again, which makes it
    another branch."""
    found = refs.find_branch(workspace.branch)
    strict = refs.rules.workspace_commits_need_the_incarnation()
    if found is None or (found.incarnation != workspace.incarnation and strict):
        became = "deleted" if found is None else "deleted and made again"
        raise FinalConflict(
            f"branch {workspace.branch!r} was {became} since workspace {workspace.id!r} was opened",
            hint="open a new workspace, and write there what is wanted of this one",
        )
    return found
