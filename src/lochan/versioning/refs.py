"""A repository's refs: branches with their staging, tags, and the commits they name: what its journal folds to.

Every rule of the form "valid only while …" is a test here, made by the writer before the append and again by whoever
folds the record. What needs the store to be read (does this head move touch a staged path?) is the writer's alone.
"""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

import msgspec

from lochan.errors import AlreadyExists, Conflict, Invalid, NotFound, Refused
from lochan.formats.commit import Commit
from lochan.formats.entry import Tombstone
from lochan.formats.events import Event
from lochan.formats.refs_events import (
    BranchCreated,
    BranchDeleted,
    BranchRestored,
    Committed,
    Compacted,
    Moved,
    RunsStaged,
    Sealed,
    Staged,
    TagCreated,
    TagDeleted,
)
from lochan.formats.repository_events import RepositoryOpened
from lochan.journal.state import At, Part
from lochan.journal.table import Table
from lochan.staging.layers import EMPTY, Dumped, Inputs, Layers, load

SEALS_MAX = 8  # a ninth commit of one branch waits: to evict the oldest would let them evict each other for ever
CLEAN = ("merge", "revert", "cherry-pick", "rebase")  # refused on a branch with anything staged (S5)


class Branch(msgspec.Struct, frozen=True):
    name: str
    incarnation: int  # number of the event that made it: one deleted and made again is another
    head: str
    layers: Layers = EMPTY

    def moved(self, head: str, layers: Layers) -> "Branch":
        """S1: any head move removes the branch's seals."""
        return msgspec.structs.replace(self, head=head, layers=layers.unsealed())


class Refs(Part):
    name: ClassVar[str] = "refs"
    events: ClassVar[tuple[type[Event], ...]] = (
        RepositoryOpened,
        Staged,
        RunsStaged,
        Compacted,
        Sealed,
        Committed,
        Moved,
        BranchCreated,
        BranchDeleted,
        BranchRestored,
        TagCreated,
        TagDeleted,
    )

    def __init__(self) -> None:
        self._commits: Table[str, Commit] = Table()
        self._branches: Table[str, Branch] = Table()
        self._tags: Table[str, str] = Table()
        self._deleted: Table[tuple[str, int], Branch] = Table()

    # --- reading -----------------------------------------------------------------------------------------------------
    def commit(self, id: str) -> Commit:
        found = self._commits.get(id)
        if found is None:
            raise NotFound(f"no commit {id}")
        return found

    def branch(self, name: str) -> Branch:
        found = self._branches.get(name)
        if found is None:
            raise NotFound(f"no branch {name!r}", hint="`lochan branch list` shows those there are")
        return found

    def find_branch(self, name: str) -> Branch | None:
        return self._branches.get(name)

    def find_tag(self, name: str) -> str | None:
        return self._tags.get(name)

    def branches(self) -> list[Branch]:
        return sorted((branch for _, branch in self._branches.items()), key=lambda b: b.name.encode())

    def tags(self) -> list[tuple[str, str]]:
        return sorted(self._tags.items())

    def deleted(self, name: str) -> list[Branch]:
        """Deleted branches of that name that can be restored, the last one first."""
        found = (branch for (of, _), branch in self._deleted.items() if of == name)
        return sorted(found, key=lambda b: -b.incarnation)

    def commits_with(self, prefix: str) -> list[str]:
        return sorted(id for id, _ in self._commits.items() if id.startswith(prefix))

    # --- folding -----------------------------------------------------------------------------------------------------
    def apply(self, event: Any, at: At) -> Any:
        return _HANDLERS[type(event)](self, event, at)

    def _opened(self, event: RepositoryOpened, at: At) -> str:
        if any(True for _ in self._branches.items()):
            raise AlreadyExists("this repository was opened before")
        id = event.commit.id
        self._commits.put(id, event.commit)
        self._branches.put(event.default_branch, Branch(event.default_branch, at.number, id))
        return id

    def _staged(self, event: Staged, at: At) -> int:
        paths = [*(entry.path for entry in event.puts), *event.deletes]
        if len(set(paths)) != len(paths):
            raise Invalid("a path stands twice in one request")
        self._stage(event.branch, lambda layers: layers.put(*event.puts, *map(Tombstone, event.deletes)))
        return at.number

    def _runs_staged(self, event: RunsStaged, at: At) -> int:
        self._stage(event.branch, lambda layers: layers.append(*event.runs))
        return at.number

    def _compacted(self, event: Compacted, at: At) -> None:
        branch = self.branch(event.branch)
        if branch.incarnation != event.incarnation or (event.head and branch.head != event.head):
            raise Refused(f"branch {branch.name!r} is not as it was when its staging was compacted")
        self._stage(event.branch, lambda layers: layers.replace(Inputs(event.spans, event.runs), event.outputs))

    def _sealed(self, event: Sealed, at: At) -> int:
        branch = self.branch(event.branch)
        if at.number in branch.layers.seals:
            return at.number  # two commits began in one record: they share the seal, and one of them will land
        if len(branch.layers.seals) >= SEALS_MAX:
            raise Conflict(f"{SEALS_MAX} commits of branch {branch.name!r} are under way", hint="try again in a moment")
        self._stage(event.branch, lambda layers: layers.seal(at.number))
        return at.number

    def _committed(self, event: Committed, at: At) -> str:
        branch = self.branch(event.branch)
        if event.seal not in branch.layers.seals:
            raise moved_underneath(branch.name)
        self._add((event.commit,), onto=branch.head)
        layers = branch.layers.drop_below(event.seal, event.leftovers)
        self._branches.put(branch.name, branch.moved(event.commit.id, layers))
        return event.commit.id

    def _moved(self, event: Moved, at: At) -> str:
        branch = self.branch(event.branch)
        if branch.incarnation != event.incarnation or branch.head != event.source:
            raise moved_underneath(branch.name)
        if event.why in CLEAN and not event.discard and not branch.layers.empty:
            raise dirty(branch.name)
        if event.commits and event.commits[-1].id != event.target:
            raise Invalid("the last of the new commits is not where the branch is to go")
        self._add(event.commits)
        self.commit(event.target)
        layers = branch.layers.cleared() if event.discard else branch.layers
        self._branches.put(branch.name, branch.moved(event.target, layers))
        return event.target

    def _branch_created(self, event: BranchCreated, at: At) -> str:
        self._check_free(event.name)
        self.commit(event.commit)
        self._branches.put(event.name, Branch(event.name, at.number, event.commit))
        return event.commit

    def _branch_deleted(self, event: BranchDeleted, at: At) -> None:
        branch = self.branch(event.name)
        if branch.incarnation != event.incarnation:
            raise moved_underneath(branch.name)
        self._branches.drop(branch.name)
        self._deleted.put((branch.name, branch.incarnation), branch)

    def _branch_restored(self, event: BranchRestored, at: At) -> str:
        branch = self._deleted.get((event.name, event.incarnation))
        if branch is None:
            raise NotFound(f"no deleted branch {event.name!r} is kept")
        self._check_free(event.name)
        self._deleted.drop((event.name, event.incarnation))
        again = msgspec.structs.replace(branch, incarnation=at.number)
        self._branches.put(event.name, again.moved(branch.head, branch.layers))
        return branch.head

    def _tag_created(self, event: TagCreated, at: At) -> str:
        self._check_free(event.name)
        self.commit(event.commit)
        self._tags.put(event.name, event.commit)
        return event.commit

    def _tag_deleted(self, event: TagDeleted, at: At) -> None:
        if event.name not in self._tags:
            raise NotFound(f"no tag {event.name!r}")
        self._tags.drop(event.name)

    def _stage(self, name: str, change: Callable[[Layers], Layers]) -> None:
        branch = self.branch(name)
        self._branches.put(name, msgspec.structs.replace(branch, layers=change(branch.layers)))

    def _add(self, commits: Iterable[Commit], onto: str = "") -> None:
        """New commits, each with its parents here before it. Raises before anything is changed."""
        new: dict[str, Commit] = {}
        for commit in commits:
            if onto and commit.parents[:1] != (onto,):
                raise Invalid("the commit's first parent is not the head")
            known = [new.get(parent) or self.commit(parent) for parent in commit.parents]
            if commit.generation != 1 + max((parent.generation for parent in known), default=-1):
                raise Invalid("the commit's generation does not follow from its parents'")
            new[commit.id] = commit
        for id, commit in new.items():
            self._commits.put(id, commit)

    def _check_free(self, name: str) -> None:
        if name in self._branches:
            raise AlreadyExists(f"there is a branch {name!r} already")
        if name in self._tags:
            raise AlreadyExists(f"there is a tag {name!r} already")

    # --- forks and checkpoints ---------------------------------------------------------------------------------------
    def fork(self) -> Self:
        fork = type(self)()
        fork._commits, fork._branches = self._commits.fork(), self._branches.fork()
        fork._tags, fork._deleted = self._tags.fork(), self._deleted.fork()
        return fork

    def join(self) -> None:
        for table in (self._commits, self._branches, self._tags, self._deleted):
            table.join()

    def dump(self) -> "_Dumped":
        return _Dumped(
            [commit for _, commit in self._commits.items()],
            [_dumped(branch) for branch in self.branches()],
            self.tags(),
            [_dumped(branch) for _, branch in self._deleted.items()],
        )

    def load(self, dumped: msgspec.Raw) -> None:
        state = _decoder.decode(dumped)
        for commit in state.commits:
            self._commits.put(commit.id, commit)
        for name, commit_id in state.tags:
            self._tags.put(name, commit_id)
        for branch in map(_loaded, state.branches):
            self._branches.put(branch.name, branch)
        for branch in map(_loaded, state.deleted):
            self._deleted.put((branch.name, branch.incarnation), branch)


def moved_underneath(branch: str) -> Conflict:
    return Conflict(f"branch {branch!r} was moved by somebody else meanwhile", hint="look at it, then try again")


def dirty(branch: str) -> Refused:
    return Refused(f"branch {branch!r} has uncommitted changes", hint="commit them or reset them first")


class _Branch(msgspec.Struct, frozen=True, array_like=True):
    """On somebody's disk, in checkpoints: fields are only ever added at the end."""

    name: str
    incarnation: int
    head: str
    layers: Dumped


class _Dumped(msgspec.Struct, frozen=True, array_like=True):
    commits: list[Commit]
    branches: list[_Branch]
    tags: list[tuple[str, str]]
    deleted: list[_Branch]


def _dumped(branch: Branch) -> _Branch:
    return _Branch(branch.name, branch.incarnation, branch.head, branch.layers.dump())


def _loaded(branch: _Branch) -> Branch:
    return Branch(branch.name, branch.incarnation, branch.head, load(branch.layers))


_HANDLERS: dict[type[Event], Callable[[Refs, Any, At], Any]] = {
    RepositoryOpened: Refs._opened,
    Staged: Refs._staged,
    RunsStaged: Refs._runs_staged,
    Compacted: Refs._compacted,
    Sealed: Refs._sealed,
    Committed: Refs._committed,
    Moved: Refs._moved,
    BranchCreated: Refs._branch_created,
    BranchDeleted: Refs._branch_deleted,
    BranchRestored: Refs._branch_restored,
    TagCreated: Refs._tag_created,
    TagDeleted: Refs._tag_deleted,
}
_decoder = msgspec.msgpack.Decoder(_Dumped)
