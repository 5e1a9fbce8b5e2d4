"""The oracle of bodies: what is named is on the store, byte for byte; and a workspace's commit holds what was written.

    bytes      every entry that a reader can come to is read from the true store, and has its SHA-256
    files      of each path of a committed workspace: what the commit holds is the last write, or one of several that
               were under way at the same time; never one that was refused, and never an older one

A write is known by its MD5, which is the checksum of its entry: no two bodies are the same.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from math import inf

from lochan.formats import metarange
from lochan.formats.commit import Commit
from lochan.formats.entry import Entry
from lochan.formats.entry_table import entries_of
from lochan.formats.metarange import TreeRef
from lochan.formats.run import RunRef
from lochan.staging.inline import Inline
from lochan.staging.layers import Layers
from lochan.versioning.state.refs import Refs
from tests.sim.store import SimStore
from tests.sim.versioning.model import Model
from tests.sim.versioning.model_values import Branch
from tests.sim.versioning.oracle import RepositoryOracle
from tests.sim.versioning.range_rows import range_rows
from tests.sim.versioning.request import FILE, ClientRequest
from tests.sim.world import World


@dataclass(slots=True, eq=False)
class FileWrite:
    """One write to a path of a workspace. Moments are counted: each question and each answer is one."""

    workspace: str
    path: str
    value: str | None  # None: a delete
    begun: int
    ended: float = inf
    how: str = "unknown"  # done, refused


class FilesModel(Model):
    """A workspace's commit is judged by its writes, not by its events: plain files have none."""

    def _land(self, commit: Commit, branch: Branch, request: ClientRequest) -> None:
        if request.verb != "workspace":
            super()._land(commit, branch, request)
            return
        self.forks[request.workspace] = self.trees[self.workspaces[request.workspace].fork]
        self._know(commit, self.tree_of(commit))
        self._go(branch, commit.id, request)

    @property
    def forks(self) -> dict[str, Mapping[str, str]]:
        """The commits on which committed workspaces were opened."""
        return self.__dict__.setdefault("_forks", {})  # type: ignore[no-any-return]


class FilesOracle(RepositoryOracle):
    def __init__(self, world: World, store: SimStore, prefix: str) -> None:
        super().__init__(world, store, prefix)
        self.model: FilesModel = FilesModel(self.files.tree, self.files.run)
        self.writes: list[FileWrite] = []
        self._moment = 0

    def moment(self) -> int:
        self._moment += 1
        return self._moment

    def acknowledged(self, tag: str, times: int = 1) -> None:
        if self._wishes[tag].verb == FILE:
            self.update()  # a plain file leaves no event; it is asked for at the end
            return
        super().acknowledged(tag, times)

    def judge(self) -> None:
        super().judge()
        self._judge_writes()
        self._judge_bodies()

    # --- files -------------------------------------------------------------------------------------------------------
    def _judge_writes(self) -> None:
        for workspace, commit in self.model.committed.items():
            fork, head = self.model.forks[workspace], self.model.trees[self.model.parents[commit][0]]
            for path in sorted({write.path for write in self.writes if write.workspace == workspace}):
                holds = self.model.trees[commit].get(path)
                self._judge_path(workspace, path, fork.get(path), head.get(path), holds)

    def _judge_path(self, workspace: str, path: str, below: str | None, ours: str | None, holds: str | None) -> None:
        first = FileWrite(workspace, path, below, -1, -1, "done")
        writes = [first, *(each for each in self.writes if (each.workspace, each.path) == (workspace, path))]
        for one in writes:
            expected = ours if one.value == below else one.value  # what the workspace left alone, the branch may change
            if expected == holds and one.how != "refused" and not any(_follows(other, one) for other in writes):
                return
        summary = ", ".join(f"{each.value}: {each.how}" for each in writes)
        self.world.fail(f"LOST: the commit of {workspace} holds {holds} at {path}, which is not the last of {summary}")

    # --- bytes -------------------------------------------------------------------------------------------------------
    def _judge_bodies(self) -> None:
        refs = self._state.of(Refs)
        self._judge_aliases(refs.collection.aliases())
        for where, entry in named_entries(refs, self.store, self.prefix):
            for block in entry.blocks:
                data = self.store.peek(refs.collection.alias(block.address))
                if data is None:
                    self.world.fail(f"DANGLING: {entry.path} of {where} is at {block.address}, which is gone")
                body = data[block.offset : block.offset + block.size]
                if block.sha256 and sha256(body).digest() != block.sha256:  # what is linked was not read
                    self.world.fail(f"DESTROYED: {entry.path} of {where} is not what was written")

    def _judge_aliases(self, aliases: dict[str, str]) -> None:
        """Readers follow one alias, so where it leads must be where the bytes are. The collector keeps what an alias
        leads to even then, so nothing need be lost."""
        for address, target in aliases.items():
            if target in aliases:
                self.world.fail(f"CHAINED: the alias of {address} leads to {target}, which is an alias itself")


def _follows(other: FileWrite, one: FileWrite) -> bool:
    return other.how == "done" and other.begun > one.ended


def named_entries(refs: Refs, store: SimStore, prefix: str) -> Iterator[tuple[str, Entry]]:
    """Every entry that a reader can reach, and where: through branches, tags, stashes, workspaces and their
    ancestors."""
    staged: list[tuple[str, Layers]] = [(branch.name, branch.layers) for branch in refs.branches()]
    heads = [branch.head for branch in refs.branches()] + [commit for _, commit in refs.tags()]
    for _, branch in refs.deleted_table.items():
        staged.append((branch.name, branch.layers))
        heads.append(branch.head)
    for workspace in refs.workspaces.all():
        staged.append((workspace.id, workspace.layers))
        heads.append(workspace.fork)
    for stash in refs.stashes.all():
        staged.append((stash.id, stash.layers))
        heads.append(stash.head)
    for where, layers in staged:
        yield from ((where, entry) for entry in _staged(layers))
    roots, seen = frozenset(heads), set[str]()
    while heads:
        id = heads.pop()
        if id in seen or (refs.collection.has_expired(id) and id not in roots):
            continue
        seen.add(id)
        commit = refs.recorded(id)
        heads += commit.parents
        yield from ((id[:8], entry) for entry in _tree(commit, store, prefix))


def _staged(layers: Layers) -> Iterator[Entry]:
    for layer in layers.layers:
        assert isinstance(layer, Inline | RunRef)
        if isinstance(layer, Inline):
            yield from (change for change in layer.changes() if isinstance(change, Entry))


def _tree(commit: Commit, store: SimStore, prefix: str) -> list[Entry]:
    if not commit.tree_file:
        return []
    ref = TreeRef(commit.tree, commit.tree_file)
    found: list[Entry] = []
    for part in metarange.decode(_get(store, f"{prefix}/{ref.file}"), ref, ref.file):
        found += entries_of(range_rows(part, lambda file: _get(store, f"{prefix}/{file}")))
    return found


def _get(store: SimStore, path: str) -> bytes:
    data = store.peek(path)
    assert data is not None, path
    return data
