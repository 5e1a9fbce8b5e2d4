"""Reads a lake as a state of the model."""

from datetime import UTC, datetime, timedelta

from lochan.errors import NotFound
from lochan.formats.entry import Entry
from lochan.formats.run import changes_of
from lochan.staging.layers import Layers
from lochan.versioning import objects
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions import diff
from lochan.versioning.revisions.graph import log
from lochan.versioning.state import workspaces
from lochan.versioning.state.refs import Refs
from tests.model.versioned.state import (
    Branch,
    Changes,
    Commit,
    Files,
    Stash,
    State,
    Workspace,
    applied,
    without_idle,
)
from tests.model.versioned.verbs import Answer, NewCommit
from tests.sim.versioning.three_way import ancestors


class LakeReader:
    """Remembers what never changes: commits and bytes."""

    def __init__(self) -> None:
        self.commits: dict[str, Commit] = {}
        self._names: dict[str, str] = {}  # the lake's ids -> ours
        self._bodies: dict[object, str] = {}

    async def state(self, at: OpenRepository) -> tuple[State, int]:
        refs, number = await at.refs()
        branches = {each.name: each for each in refs.branches()}
        deleted = {name: refs.deleted(name) for name in {name for (name, _), _ in refs.deleted_table.items()}}
        stashes, tags = refs.stashes.all(), dict(refs.tags())
        rules = {rule.pattern: rule.blocked for rule in refs.guard.rules}
        read_only, opened = refs.guard.read_only, refs.workspaces.all()
        return State(
            self.commits,
            {name: await self._branch(at, refs, each.head, each.layers) for name, each in branches.items()},
            {name: await self.name(at, refs, id) for name, id in tags.items()},
            {
                name: tuple([await self._branch(at, refs, each.head, each.layers) for each in reversed(found)])
                for name, found in deleted.items()
            },
            tuple(
                [
                    Stash(each.branch, *await self._branch(at, refs, each.head, each.layers), each.message)
                    for each in reversed(stashes)
                ]
            ),
            tuple([await self._workspace(at, refs, each) for each in opened]),
            rules,
            read_only,
        ), number

    async def _workspace(self, at: OpenRepository, refs: Refs, found: workspaces.WorkspaceState) -> Workspace:
        folder = at.shown_folder(found)
        files = {stat.path[len(folder.root) :]: stat.path async for stats in folder.stats() for stat in stats}
        staged = await self._staged(at, refs, found.fork, found.layers)
        below = await self.files(at, found.fork)
        branch = refs.find_branch(found.branch)
        return Workspace(
            found.note,
            found.branch,
            branch is None or branch.incarnation != found.incarnation,
            await self.name(at, refs, found.fork),
            {
                **{path: data for path, data in staged.items() if data is not None or path in below},
                **{path: (await at.store.get(address)).decode() for path, address in files.items()},
            },
        )

    async def answer(self, at: OpenRepository, answer: Answer) -> Answer:
        """With our name for a new commit."""
        if not isinstance(answer.value, NewCommit):
            return answer
        return Answer(answer.kind, await self.name(at, (await at.refs())[0], answer.value))

    async def name(self, at: OpenRepository, refs: Refs, id: str) -> str:
        """Parents first, and not by recursion: histories grow long."""
        if id not in self._names:
            for each, commit in reversed(list(log(refs.commit, id))):
                if each not in self._names:
                    parents = tuple(self._names[parent] for parent in commit.parents)
                    ours = Commit(commit.message, parents, await self.files(at, each))
                    self._names[each] = ours.id
                    self.commits[ours.id] = ours
        return self._names[id]

    async def files(self, at: OpenRepository, ref: str) -> Files:
        """The files of a ref, as its readers list and read them."""
        page = await objects.list_objects(at, ref)
        assert page.next is None
        return {entry.path: await self._body(at, entry) for entry in page.entries}

    async def _branch(self, at: OpenRepository, refs: Refs, head: str, layers: Layers) -> Branch:
        return Branch(await self.name(at, refs, head), await self._staged(at, refs, head, layers))

    async def _staged(self, at: OpenRepository, refs: Refs, head: str, layers: Layers) -> Changes:
        table = await (await at.view_of(refs.commit(head), layers)).changes()
        return {
            change.path: await self._body(at, change) if isinstance(change, Entry) else None
            for change in changes_of(table)
        }

    async def _body(self, at: OpenRepository, entry: Entry) -> str:
        if entry.blocks not in self._bodies:
            chunks = [chunk async for chunk in objects.read(at, entry)]
            self._bodies[entry.blocks] = b"".join(chunks).decode()
        return self._bodies[entry.blocks]


async def check_readers(
    at: OpenRepository, reader: LakeReader, state: State, ref: str, other: str, prefix: str
) -> None:
    """Everything that one may ask without changing anything, of one ref or two."""
    files = state.view(ref)
    assert await reader.files(at, ref) == files
    under = {path: data for path, data in files.items() if path.startswith(prefix)}
    for delimiter in ("", "/"):
        assert await _pages(at, ref, prefix, delimiter) == _rolled_up(under, prefix, delimiter)
    for path in ("a", "a/b", "nowhere"):
        assert (await _there(at, ref, path)) == (path in files)
    left, right = state.files(state.resolve(ref)), state.files(state.resolve(other))
    found = {each.path: each.kind async for each in diff.diff(at, ref, other, prefix=prefix)}
    assert found == _kinds(left, right, prefix)
    refs, _ = await at.refs()
    seen = [await reader.name(at, refs, id) for id, _ in log(refs.commit, (await at.resolve(ref)).commit_id)]
    assert len(set(seen)) == len(seen)
    assert set(seen) == _history(state, state.resolve(ref))
    if ref in state.branches:
        staged = {each.path: each.kind for each in await diff.staged_changes(at, ref, prefix=prefix)}
        assert staged == _staged_kinds(left, state.branches[ref].staged, prefix)


async def check_workspaces(at: OpenRepository, reader: LakeReader, state: State) -> None:
    """As their readers see them: the files over the staged changes over the commit below."""
    refs, _ = await at.refs()
    refs_of = {each.note: each.ref for each in refs.workspaces.all()}
    for each in state.workspaces:
        page = await objects.list_objects(at, refs_of[each.note])
        seen = {
            entry.path: b"".join([part async for part in objects.read(at, entry)]).decode() for entry in page.entries
        }
        assert seen == applied(state.files(each.fork), each.changes)


async def check_moment(at: OpenRepository, reader: LakeReader, name: str, time: int, head: str) -> None:
    """An empty head: there was no such branch."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time)
    try:
        found = await at.resolve(f"{name}@{{{moment.isoformat()}}}")
    except NotFound:
        assert not head, f"{name} was there at {moment}"
        return
    refs, _ = await at.refs()
    assert await reader.name(at, refs, found.commit_id) == head, f"{name} was elsewhere at {moment}"


async def _pages(at: OpenRepository, ref: str, prefix: str, delimiter: str) -> list[str]:
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await objects.list_objects(at, ref, prefix, after, delimiter, limit=2)
        found += sorted([*(entry.path for entry in page.entries), *page.prefixes], key=str.encode)
        after = page.next
    return found


def _rolled_up(files: Files, prefix: str, delimiter: str) -> list[str]:
    if not delimiter:
        return sorted(files, key=str.encode)
    cut = {path: path.find(delimiter, len(prefix)) for path in files}
    return sorted({path if end < 0 else path[: end + 1] for path, end in cut.items()}, key=str.encode)


async def _there(at: OpenRepository, ref: str, path: str) -> bool:
    try:
        return (await objects.stat(at, ref, path)).path == path
    except NotFound:
        return False


def _kinds(left: Files, right: Files, prefix: str) -> dict[str, str]:
    changed = {path for path in {*left, *right} if left.get(path) != right.get(path) and path.startswith(prefix)}
    return {path: "added" if path not in left else "changed" if path in right else "removed" for path in changed}


def _staged_kinds(head: Files, staged: Changes, prefix: str) -> dict[str, str]:
    changed = {path: data for path, data in without_idle(head, staged).items() if path.startswith(prefix)}
    return {
        path: "removed" if data is None else "changed" if path in head else "added" for path, data in changed.items()
    }


def _history(state: State, id: str) -> set[str]:
    return ancestors(state.parents, id)
