"""The files that the state of a repository names: trees, runs, blocks, alias tables, and folders that are held open.

A commit is live unless an event has expired it, even if no ref leads to it: a branch may be made from it at any time
(G6). The scan remembers what it has seen, so looking again costs only what is new since."""

from collections.abc import Iterator
from typing import NamedTuple

from lochan.formats.entry import Block, Entry
from lochan.formats.metarange import TreeRef
from lochan.formats.run import RunRef
from lochan.staging.layers import EMPTY, Layers
from lochan.versioning.state.refs_state import RefsState
from lochan.versioning.workspaces.folder import FOLDER as WORKSPACES
from lochan.versioning.workspaces.folder import LOCKS


class Roots(NamedTuple):
    trees: tuple[TreeRef, ...] = ()
    runs: tuple[RunRef, ...] = ()
    blocks: frozenset[Block] = frozenset()
    files: frozenset[str] = frozenset()  # files that the state itself names, below the repository
    folders: frozenset[str] = frozenset()  # everything whose path begins like one of these is held open

    @property
    def addresses(self) -> frozenset[str]:
        """The addresses of the blocks, before aliases are applied."""
        return frozenset(block.address for block in self.blocks)

    @property
    def needs_reading(self) -> bool:
        """Whether files must be read to learn what these roots name."""
        return bool(self.trees or self.runs)


class RootScan:
    def __init__(self, repository: str) -> None:
        self._repository = repository
        self._commits: set[str] = set()
        self._trees: set[str] = set()
        self._runs: set[str] = set()
        self._layers: dict[tuple[str, ...], Layers] = {}
        self._committed: set[str] = set()  # ids of workspaces

    def look(self, refs: RefsState) -> Roots:
        """Returns what the state names beyond what it named at earlier looks. Folders are always complete. REQUIRES:
        the state is the journal's own. A state that may never be appended can assign the positions of staged changes in
        another way."""
        roots = self.peek(refs)
        self._commits.update(refs.commit_table)
        self._trees.update(tree.file for tree in roots.trees)
        self._runs.update(run.file for run in roots.runs)
        self._layers = dict(all_layers(refs))
        self._committed.update(id for id, _ in refs.workspaces.committed())
        return roots

    def peek(self, refs: RefsState) -> Roots:
        """Returns the same as `look`, but does not remember it."""
        changed = [(self._layers.get(key, EMPTY), layers) for key, layers in all_layers(refs)]
        changed = [(before, layers) for before, layers in changed if before is not layers]
        fresh = [layers.fresh_since(before) for before, layers in changed]
        changes = (change for each in fresh for change in each.changes)
        blocks = [block for change in changes if isinstance(change, Entry) for block in change.blocks]
        covering = (layers.over for _, layers in changed if layers.over is not None)
        trees = (*self._new_commits(refs), *(TreeRef(each.tree, each.file) for each in covering))
        runs = (run for each in fresh for run in each.runs)
        return Roots(
            tuple({tree.file: tree for tree in trees if tree.file and tree.file not in self._trees}.values()),
            tuple({run.file: run for run in runs if run.file not in self._runs}.values()),
            frozenset((*blocks, *_upload_blocks(refs))),
            frozenset((*refs.collection.alias_tables, *self._locks(refs), *self._inputs(refs))),
            frozenset(self._folders(refs)),
        )

    def _new_commits(self, refs: RefsState) -> Iterator[TreeRef]:
        for id in refs.commit_table:
            if id not in self._commits and not refs.collection.has_expired(id):
                commit = refs.recorded(id)
                yield TreeRef(commit.tree, commit.tree_file)

    def _inputs(self, refs: RefsState) -> Iterator[str]:
        """Yields the runs that a commit can be made again from. They do not keep what their entries name."""
        for id, runs in refs.input_table.items():
            if id not in self._commits:
                yield from (run.file for run in runs)

    def _locks(self, refs: RefsState) -> Iterator[str]:
        """Yields the notes that workspaces were committed, for as long as their commits are kept. The note of an open
        workspace is included, because it may exist before a look sees the event that commits the workspace."""
        yield from (f"{WORKSPACES}/{LOCKS}/{each.id}" for each in refs.workspaces.all())
        for id, commit in refs.workspaces.committed():
            if id not in self._committed and not refs.collection.has_expired(commit):
                yield f"{WORKSPACES}/{LOCKS}/{id}"

    def _folders(self, refs: RefsState) -> Iterator[str]:
        yield from (held.address for _, held in refs.collection.all_held() if held.address)
        yield from (f"{self._repository}/{WORKSPACES}/{each.id}/" for each in refs.workspaces.all())


def all_layers(refs: RefsState) -> Iterator[tuple[tuple[str, ...], Layers]]:
    """Yields all staged layers with a key for the branch, stash or workspace that they belong to."""
    for branch in refs.branches():
        yield ("branch", branch.name, str(branch.incarnation)), branch.layers
    for (name, incarnation), branch in refs.deleted_table.items():
        yield ("deleted", name, str(incarnation)), branch.layers
    for stash in refs.stashes.all():
        yield ("stash", stash.id), stash.layers
    for workspace in refs.workspaces.all():
        yield ("workspace", workspace.id), workspace.layers


def _upload_blocks(refs: RefsState) -> Iterator[Block]:
    """Yields the blocks of uploads that are not complete yet."""
    for upload in refs.uploads.all():
        for part in refs.uploads.parts(upload.id):
            yield from part.blocks
