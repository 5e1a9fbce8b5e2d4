"""The oracle of garbage collection: what is named is never deleted, and what nothing names is deleted in the end.

    each deletion   at that very moment nothing names the file: no commit that has not expired, no head, tag or window
                    of a deleted branch, no staging, stash, workspace, open upload, address token or job
    at the end      everything that is named is there, byte for byte; two more collections leave nothing else

It reads the true files with the formats alone, and knows nothing of marks, cuts and plans.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256

import pyarrow.compute as pc

from lochan.formats import alias_table, metarange
from lochan.formats import record as records
from lochan.formats import run as runs
from lochan.formats.alias_table import ALIAS_SCHEMA
from lochan.formats.commit import Commit
from lochan.formats.entry import ENTRY_SCHEMA, Block, Entry
from lochan.formats.entry_table import entries_of
from lochan.formats.metarange import TreeRef
from lochan.formats.run import RunRef
from lochan.journal.state import Schema
from lochan.staging.inline import Inline
from lochan.staging.layers import Layers
from lochan.versioning.repositories import Repositories
from lochan.versioning.state.refs import Refs
from tests.sim.files.oracle import FilesModel, FilesOracle
from tests.sim.store import SimStore
from tests.sim.versioning.model_values import Branch
from tests.sim.versioning.oracle import RepositoryOracle
from tests.sim.versioning.range_rows import range_rows
from tests.sim.versioning.request import ClientRequest
from tests.sim.world import World

_LAKE = "_lake"
_LAKE_SLOT = re.compile(rf"{_LAKE}/journal/\d{{20}}")
LAKE_URL = "memory://lake"  # the lake's own store, as a program outside would name it
COLLECTED = ("aliases/", "data/", "metaranges/", "ranges/", "runs/", "workspaces/")
TAKEN = "move"  # a head move whose commit is taken as it is
KEPT = ("workspaces/_committed/",)  # notes that a workspace was committed


class CollectionModel(FilesModel):
    def _land(self, commit: Commit, branch: Branch, request: ClientRequest) -> None:
        if request.verb != TAKEN:
            super()._land(commit, branch, request)
            return
        self._know(commit, self.tree_of(commit))
        self._go(branch, commit.id, request)


class NamedFiles:
    """What one state names: files, and folders that are held open whatever is in them."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.folders: set[str] = set()
        self.entries: list[tuple[str, Entry]] = []  # and where each is

    def names(self, path: str) -> bool:
        return path in self.files or path.startswith(tuple(self.folders))


class CollectionOracle(FilesOracle):
    def __init__(self, world: World, store: SimStore, prefix: str) -> None:
        super().__init__(world, store, prefix)
        self.model = CollectionModel(self.files.tree, self.files.run)
        self.rows: Counter[str] = Counter()  # of a pool, how often each is there, as far as that was acknowledged
        self.dropped = False  # rows go by a rule, whichever are there at that moment
        self.deleted = 0
        self.live_deleted = 0
        self.neighbours: list[CollectionOracle] = []  # of other repositories, whose files may be named here
        self._known: dict[str, tuple[set[str], list[Entry]]] = {}
        self._tables: dict[str, list[tuple[object, ...]]] = {}
        self._lake = Schema(Repositories, alarm=self.alarm).empty(_LAKE)
        self._named: tuple[tuple[int, int], NamedFiles] = ((-1, -1), NamedFiles())

    # --- each deletion -----------------------------------------------------------------------------------------------
    def update(self) -> None:
        self._advance(len(self.store.history))

    def _advance(self, stop: int) -> None:
        """Up to that number of the store's history."""
        while self._read < stop:
            effect = self.store.history[self._read]
            self._read += 1
            if effect.outcome == "created" and effect.data and (slot := self._slot.fullmatch(effect.path)):
                self._decided(int(slot[1]), effect.data)
            elif effect.outcome == "created" and effect.data and _LAKE_SLOT.fullmatch(effect.path):
                self._lake.fold(records.decode(effect.data, effect.path))
            elif effect.outcome == "deleted" and self._is_collected(effect.path):
                self._deleted(effect.path, effect.who)

    def _deleted(self, path: str, who: str) -> None:
        self.deleted += 1
        moment = self._read
        for each in (self, *self.neighbours):
            each._advance(moment)
            if each.named().names(path):
                self.live_deleted += 1
                self.world.fail(f"DELETED: {who} has deleted {path}, which is named at record {each.count}")

    def _is_collected(self, path: str) -> bool:
        return self._kind(path).startswith(COLLECTED) and not self._kind(path).startswith(KEPT)

    def _kind(self, path: str) -> str:
        return path.removeprefix(f"{self.prefix}/") if path.startswith(f"{self.prefix}/") else ""

    # --- at the end --------------------------------------------------------------------------------------------------
    def judge(self) -> None:
        RepositoryOracle.judge(self)
        self._judge_writes()
        refs = self._state.of(Refs)
        self._judge_aliases(refs.collection.aliases())
        named = self.named()
        for path in sorted(named.files):
            if self.store.peek(path) is None:
                self.world.fail(f"DANGLING: {path} is named and not on the store")
        for where, entry in named.entries:
            for block in entry.blocks:
                path, offset = self._place(block)
                body = (self.store.peek(path) or b"")[offset:][: block.size]
                if block.sha256 and sha256(body).digest() != block.sha256:
                    self.world.fail(f"DESTROYED: {entry.path} of {where} is not what was written")

        if self.rows and not self.dropped:
            self._judge_rows()

    def _judge_rows(self) -> None:
        """Each row is on main as often as it was loaded."""
        refs = self._state.of(Refs)
        head = refs.recorded(refs.branch("main").head)
        found: Counter[str] = Counter()
        for entry in self._tree(TreeRef(head.tree, head.tree_file))[1]:
            for block in entry.blocks:
                found.update((self.store.peek(self._place(block)[0]) or b"").decode().split())
        wrong = [row for row, times in self.rows.items() if found[row] != times]
        if wrong:
            self.world.fail(f"ROWS: {wrong} were loaded, and main has {dict(found)}")

    def judge_garbage(self) -> None:
        """REQUIRES: after everything else, two collections were played undisturbed."""
        self.update()
        for path in self.store.paths(f"{self.prefix}/"):
            if self._is_collected(path) and not any(each.named().names(path) for each in (self, *self.neighbours)):
                self.world.fail(f"GARBAGE: nothing names {path}, and two collections have left it")

    # --- what is named -----------------------------------------------------------------------------------------------
    def named(self) -> NamedFiles:
        moment, found = self._named
        if moment != (self.count, self._lake.number):
            found = NamedFiles() if self._has_expired() else self._look()
            self._named = (self.count, self._lake.number), found
        return found

    def _has_expired(self) -> bool:
        """The whole repository was deleted, and can no longer be brought back."""
        lake = self._lake.of(Repositories)
        was = lake.was_deleted(self.prefix)
        return lake.knows(self.prefix) and not lake.is_live(self.prefix) and (was is None or bool(was.list))

    def _look(self) -> NamedFiles:
        refs, found = self._state.of(Refs), NamedFiles()
        heads = {branch.head for branch in refs.branches()} | {commit for _, commit in refs.tags()}
        heads |= {branch.head for _, branch in refs.deleted_table.items()}
        heads |= {each.fork for each in refs.workspaces.all()} | {each.head for each in refs.stashes.all()}
        for id in refs.commit_table:
            if id in heads or not refs.collection.has_expired(id):
                commit = refs.recorded(id)
                self._add(found, id[:8], [self._tree(TreeRef(commit.tree, commit.tree_file))])
                found.files |= {f"{self.prefix}/{run.file}" for run in refs.input_table.get(id) or ()}
        for where, layers in _all_layers(refs):
            self._add(found, where, self._layers(layers))
        for upload in refs.uploads.all():
            blocks = [block for part in refs.uploads.parts(upload.id) for block in part.blocks]
            found.files |= {self._place(block)[0] for block in blocks}
        found.files |= {f"{self.prefix}/{file}" for file in refs.collection.alias_names.tables}
        found.folders |= {f"{self.prefix}/workspaces/{each.id}/" for each in refs.workspaces.all()}
        found.folders |= {held.address for _, held in refs.collection.all_held() if held.address}
        return found

    def _add(self, found: NamedFiles, where: str, parts: Iterable[tuple[set[str], list[Entry]]]) -> None:
        for files, entries in parts:
            found.files |= files
            found.entries += [(where, entry) for entry in entries]
            found.files |= {self._place(block)[0] for entry in entries for block in entry.blocks}

    def _place(self, block: Block) -> tuple[str, int]:
        """The file that a reader of this block reads, and where in it."""
        names = self._state.of(Refs).collection.alias_names
        for address, start, size, target, at in self._aliases(names.tables):
            if address == block.address and start <= block.offset and block.offset + block.size <= start + size:
                return target, at + block.offset - start
        return dict(names.files).get(block.address, block.address).removeprefix(f"{LAKE_URL}/"), block.offset

    def _aliases(self, tables: Iterable[str]) -> Iterator[tuple[str, int, int, str, int]]:
        for file in tables:
            if file not in self._tables:
                rows = alias_table.decode(file, self._bytes(file), self.prefix).to_pylist()
                self._tables[file] = [tuple(row[name] for name in ALIAS_SCHEMA.names[:5]) for row in rows]
            yield from self._tables[file]  # type: ignore[misc]

    def _layers(self, layers: Layers) -> Iterator[tuple[set[str], list[Entry]]]:
        for layer in layers.layers:
            if isinstance(layer, Inline):
                yield set(), [change for change in layer.changes() if isinstance(change, Entry)]
            else:
                yield self._run(layer)
        if layers.over is not None:
            yield self._tree(TreeRef(layers.over.tree, layers.over.file))

    def _tree(self, ref: TreeRef) -> tuple[set[str], list[Entry]]:
        if not ref.file:
            return set(), []
        if ref.file not in self._known:
            files, entries = {f"{self.prefix}/{ref.file}"}, []
            for part in metarange.decode(self._bytes(ref.file), ref, ref.file):
                files |= {f"{self.prefix}/{each.file}" for each in (part, part.base) if each is not None}
                entries += entries_of(range_rows(part, self._bytes))
            self._known[ref.file] = files, entries
        return self._known[ref.file]

    def _run(self, ref: RunRef) -> tuple[set[str], list[Entry]]:
        if ref.file not in self._known:
            table = runs.decode(self._bytes(ref.file), ref.file)
            entries = table.filter(pc.invert(table["deleted"])).select(ENTRY_SCHEMA.names)
            self._known[ref.file] = {f"{self.prefix}/{ref.file}"}, entries_of(entries)
        return self._known[ref.file]

    def _bytes(self, file: str) -> bytes:
        """Even of a file that was deleted since: the rest of what it names must still be known."""
        data = self.store.last(f"{self.prefix}/{file}")
        if data is None:
            self.world.fail(f"DANGLING: {file} is named and was never on the store")
        return data


def _all_layers(refs: Refs) -> Iterator[tuple[str, Layers]]:
    yield from ((branch.name, branch.layers) for branch in refs.branches())
    yield from ((branch.name, branch.layers) for _, branch in refs.deleted_table.items())
    yield from ((stash.id, stash.layers) for stash in refs.stashes.all())
    yield from ((workspace.id, workspace.layers) for workspace in refs.workspaces.all())
