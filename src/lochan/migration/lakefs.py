"""Migrates a repository of a lakeFS, with its branches, tags and commits. When it runs again, it continues where it
stopped, and transfers what has been committed there since.

Each commit here has the id of its original in its metadata; a migration stores nothing else.

    there  r ─ a ─ b ─ m   main       here  o ─ a' ─ b' ─ m'  main     o is the empty first commit that every
                ╲ c ─ d    dev               ╲ c' ─ d'        dev      repository has; r, as empty, is the same
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from lochan.errors import AlreadyExists, Conflict, NotFound
from lochan.formats.entry_table import table_of
from lochan.migration.foreign_objects import BodiesWay, ForeignObjects
from lochan.migration.lakefs_server import ServerRef
from lochan.versioning import bulk
from lochan.versioning.branches import create_branch, create_tag, delete_branch, hard_reset
from lochan.versioning.heads.foreign_history import ForeignCommit, groups, land_group
from lochan.versioning.heads.moves import CommitMessage

if TYPE_CHECKING:
    import pyarrow as pa

    from lochan.formats.record import Actor
    from lochan.lake import Lake
    from lochan.migration.lakefs_server import LakefsServer, ServerCommit, ServerObject, ServerRepository
    from lochan.tree.tree import Tree
    from lochan.versioning.open_repository import OpenRepository
    from lochan.versioning.state.refs import Refs

SOURCE = "lakefs.repository"  # in the metadata of a repository
COMMIT = "lakefs.commit"  # in that of a commit
_TAG_BRANCH = "lakefs-migration"  # for commits that only a tag names
_PIECE = 1_000  # objects that become one table
NO_COMMIT = ""  # below a first commit: the empty one here
_STATS = 16  # objects that are requested separately before a whole page is tried

T = TypeVar("T")

Landed = Callable[[int], None]  # called with the number of further commits that are here


class MigrationCounts(NamedTuple):
    repository: str
    branches: int
    tags: int
    commits: int  # that are new here
    linked: int  # objects
    copied: int
    bytes_copied: int
    uncommitted: tuple[str, ...]  # branches that have uncommitted changes there, which stay there


def _ignore(count: int) -> None:
    pass


async def migrate(
    lake: Lake,
    server: LakefsServer,
    name: str,
    *,
    actor: Actor,
    to: str = "",
    way: BodiesWay,
    landed: Landed = _ignore,
) -> MigrationCounts:
    """Migrates a repository. Raises AlreadyExists for a name that is already used here for something else, Conflict for
    a branch that was changed here since, and the errors of the server and of `ForeignObjects`. What has landed before
    an error stays."""
    source = await server.repository(name)
    repository = await _target(lake, f"{server.url}/{source.id}", to or source.id, source, actor)
    try:
        return await _Migration(server, source, repository, actor, way, landed).run()
    finally:
        await repository.close()


async def _target(lake: Lake, url: str, name: str, source: ServerRepository, actor: Actor) -> OpenRepository:
    try:
        repository = await lake.open_repository(name)
    except NotFound:
        await lake.create_repository(
            name, default_branch=source.default_branch, metadata={SOURCE: url}, dotted=False, actor=actor, key=""
        )
        return await lake.open_repository(name)
    if repository.repository.metadata.get(SOURCE) != url:
        await repository.close()
        raise AlreadyExists(f"there is a repository or pool {name!r} already", hint="give another name: --to NAME")
    return repository


class _Migration:
    def __init__(
        self,
        server: LakefsServer,
        source: ServerRepository,
        repository: OpenRepository,
        actor: Actor,
        way: BodiesWay,
        landed: Landed,
    ) -> None:
        self._server = server
        self._source = source
        self._repository = repository
        self._actor = actor
        self._objects = ForeignObjects(server, source, repository, way)
        self._report = landed
        self._known: dict[str, str] = {}  # commits here, by their ids there
        self._landed = 0
        self._listed: set[str] = set()  # commits of the branch that is brought
        self._first = ""  # the empty commit of the repository here

    async def run(self) -> MigrationCounts:
        server, name = self._server, self._source.id
        refs, _ = await self._repository.refs()
        self._known, self._first = _earlier_commits(refs)
        branches = await server.branches(name)
        branches.sort(key=lambda branch: branch.id != self._source.default_branch)  # it has most of the history
        for branch in branches:
            await self._bring(branch)
        tags = await server.tags(name)
        for tag in tags:
            await self._tag(tag)
        uncommitted = [branch.id for branch in branches if await server.has_uncommitted(name, branch.id)]
        return MigrationCounts(
            self._repository.repository.name,
            len(branches),
            len(tags),
            self._landed,
            self._objects.linked,
            self._objects.copied,
            self._objects.bytes_copied,
            tuple(uncommitted),
        )

    async def _bring(self, branch: ServerRef) -> None:
        """Transfers the branch with its commits that are not here yet, and sets its head to the same commit as there.
        Raises Conflict."""
        order = await self._unknown(branch.commit_id)
        refs, _ = await self._repository.refs()
        if branch.id in refs.branch_names():
            at = self._there(refs, branch.id)
        else:
            at = self._start(order, branch.commit_id)
            await create_branch(self._repository, branch.id, self._here(at), actor=self._actor)
        for group in groups([self._as_foreign(commit) for commit in order], at):
            known = ChainMap(self._known, {NO_COMMIT: self._first})  # not a copy: there may be a group for each commit
            self._known |= await land_group(self._repository, branch.id, group, known, self._changes, actor=self._actor)
            self._landed += len(group)
            self._report(len(group))
        refs, _ = await self._repository.refs()
        if refs.branch(branch.id).head != self._here(branch.commit_id):  # it was moved there to what is here already
            await hard_reset(self._repository, branch.id, self._here(branch.commit_id), actor=self._actor)

    def _there(self, refs: Refs, branch: str) -> str:
        """Returns the lakeFS commit that the branch's head was made from. Raises Conflict if the branch was changed
        here."""
        found = refs.branch(branch)
        by_id = {id: there for there, id in self._known.items()}
        if not found.layers.empty or (found.head != self._first and found.head not in by_id):
            raise Conflict(
                f"branch {branch!r} was changed here since it was brought",
                hint="keep the changes on a branch of their own, and reset this one",
            )
        return by_id.get(found.head, NO_COMMIT)

    async def _tag(self, tag: ServerRef) -> None:
        refs, _ = await self._repository.refs()
        order = await self._unknown(tag.commit_id)
        if order:
            await self._bring(ServerRef(_TAG_BRANCH, tag.commit_id))
        target = self._here(tag.commit_id)
        tags = dict(refs.tags())
        if tag.id in tags:
            if tags[tag.id] != target:
                raise Conflict(f"tag {tag.id!r} is another commit there than here", hint="delete it here first")
        else:
            await create_tag(self._repository, tag.id, target, actor=self._actor)
        if order:
            default = self._repository.repository.default_branch
            await delete_branch(self._repository, _TAG_BRANCH, default, actor=self._actor)

    def _here(self, commit: str) -> str:
        return self._known.get(commit, self._first)

    def _start(self, order: Sequence[ServerCommit], head: str) -> str:
        """Returns where a new branch begins: at its head if that is here, else below the first commit that is not."""
        if not order:
            return head
        return next((parent for parent in order[0].parents if parent in self._known), NO_COMMIT)

    async def _unknown(self, head: str) -> list[ServerCommit]:
        """Returns the commits that are not here yet, parents before children."""
        if head in self._known:
            return []
        found = {head: await self._server.commit(self._source.id, head)}
        ahead = {head}  # named and not listed yet; a log has children before their parents
        async for commit in self._server.log(self._source.id, head):
            found[commit.id] = commit
            ahead.discard(commit.id)
            ahead.update(each for each in commit.parents if each not in found and each not in self._known)
            if not ahead:
                break
        self._listed = set(found)
        order = [found[id] for id in _parents_first(found, head) if id not in self._known]
        if order and not order[0].parents and not await self._has_objects(order[0].id):
            self._known[order[0].id] = self._first
            order = order[1:]
        return order

    async def _has_objects(self, commit: str) -> bool:
        return bool(await self._server.objects_after(self._source.id, commit, ""))

    def _as_foreign(self, commit: ServerCommit) -> ForeignCommit:
        """Converts a commit. Parents that the server does not list have expired there."""
        metadata = {**(commit.metadata or {}), COMMIT: commit.id}
        text = CommitMessage(commit.message, metadata, commit.committer, commit.creation_date * 1_000_000)
        parents = tuple(parent for parent in commit.parents if parent in self._known or parent in self._listed)
        return ForeignCommit(commit.id, parents or (NO_COMMIT,), text)

    # --- what a commit changed ---
    async def _changes(self, commit: ForeignCommit, parents: Sequence[Tree], mint: int) -> AsyncIterator[pa.Table]:
        first, others = commit.parents[0], parents[1:]
        if first == NO_COMMIT or self._known.get(first) == self._first:
            async for objects in _pieces(self._server.objects(self._source.id, commit.id)):
                yield bulk.puts(table_of(await self._objects.entries(commit.id, objects, others, mint)))
            return
        import pyarrow as pa

        async for changes in _pieces(self._server.changes(self._source.id, first, commit.id)):
            gone = [each.path for each in changes if each.type == "removed"]
            objects = await self._stats(commit.id, [each.path for each in changes if each.type != "removed"])
            entries = await self._objects.entries(commit.id, objects, others, mint)
            yield bulk.together(table_of(entries), pa.array(gone, pa.string()))

    async def _stats(self, commit: str, paths: Sequence[str]) -> list[ServerObject]:
        """Returns the server's data about these objects, which are in order. If they are close together, a page of the
        tree has many of them; otherwise each is requested separately."""
        from lochan.concurrency import map_concurrently

        name = self._source.id
        found: list[ServerObject] = []
        at, alone = 0, _STATS
        while at < len(paths):
            some = paths[at : at + alone]
            found += await map_concurrently(lambda path: self._server.stat(name, commit, path), some, _STATS)
            at += len(some)
            wanted = set(paths[at:])
            if len(wanted) > _STATS:
                page = [
                    each for each in await self._server.objects_after(name, commit, some[-1]) if each.path in wanted
                ]
                found += page
                at += len(page)
                alone = _STATS if len(page) >= _STATS else 4 * alone
        return found


def _earlier_commits(refs: Refs) -> tuple[dict[str, str], str]:
    """Returns the commits that are here, by their ids there, and the empty first one."""
    known: dict[str, str] = {}
    first = ""
    ahead = {*(branch.head for branch in refs.branches()), *(commit for _, commit in refs.tags())}
    seen = set(ahead)
    while ahead:
        id = ahead.pop()
        commit = refs.recorded(id)
        if COMMIT in commit.metadata:
            known[commit.metadata[COMMIT]] = id
        if not commit.parents:
            first = id
        ahead.update(each for each in commit.parents if each not in seen)
        seen.update(commit.parents)
    return known, first


def _parents_first(commits: Mapping[str, ServerCommit], head: str) -> Iterator[str]:
    """Yields the commits depth first, with the first parent before the others."""
    done: set[str] = set()
    ahead = [(head, False)]
    while ahead:
        id, visited = ahead.pop()
        if visited:
            yield id
        elif id not in done and id in commits:
            done.add(id)
            ahead.append((id, True))
            ahead += [(parent, False) for parent in reversed(commits[id].parents)]


async def _pieces(items: AsyncIterator[T]) -> AsyncIterator[list[T]]:
    held: list[T] = []
    async for item in items:
        held.append(item)
        if len(held) == _PIECE:
            yield held
            held = []
    if held:
        yield held
