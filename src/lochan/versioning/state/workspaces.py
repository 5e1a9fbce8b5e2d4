"""Workspaces: open ones with their staged changes, and closed ones with their outcome (S8)."""

from collections.abc import Iterator, Mapping

import msgspec

from lochan.errors import Invalid, NotFound, Refused
from lochan.formats.entry import Tombstone
from lochan.formats.workspace_events import WorkspaceAdded, WorkspaceReverted, WorkspaceSealed, WorkspaceStaged
from lochan.journal.state import EventPosition
from lochan.journal.table import FoldTable, FoldTables
from lochan.staging import layers as staging
from lochan.staging.layers import EMPTY, Layers
from lochan.store.protocol import Stat
from lochan.versioning.names import fitting_paths
from lochan.versioning.state.branch import AGAIN, record_of

_RATIO = 2  # between neighbouring pieces, as in `staging.inline`: each path is copied only a few times


class HiddenFiles(msgspec.Struct, frozen=True, eq=False):
    """Plain files of a workspace that are hidden by something newer: the stamp of the hidden file, by path.

        delete, overwrite or revert of a path with a file ──▶ hidden[path] = the file's stamp

    The file itself stays, because a commit may name it by the time a delete would arrive (S8). Only the file with that
    stamp is hidden: a file that another program writes at the same path later has another stamp and is visible. The
    object never changes: `with_files` makes a new one that shares the large pieces."""

    pieces: tuple[dict[str, str], ...] = ()  # the oldest first; each is more than twice the size of the next

    def get(self, path: str) -> str | None:
        """Returns the stamp of the hidden file at this path, if there is one."""
        for piece in reversed(self.pieces):
            found = piece.get(path)
            if found is not None:
                return found
        return None

    def hides(self, path: str, stamp: str) -> bool:
        return bool(self.pieces) and self.get(path) == stamp

    def with_files(self, stamps: Mapping[str, str]) -> "HiddenFiles":
        if not stamps:
            return self
        keep, newest = len(self.pieces), dict(stamps)
        while keep and len(self.pieces[keep - 1]) <= _RATIO * len(newest):
            keep -= 1
            newest = self.pieces[keep] | newest
        return HiddenFiles((*self.pieces[:keep], newest))

    def merged(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for piece in self.pieces:
            found |= piece
        return found

    def __len__(self) -> int:
        """Returns an upper bound for the number of paths: one that is in several pieces counts in each."""
        return sum(map(len, self.pieces))

    def __iter__(self) -> Iterator[str]:
        return iter(self.merged())


NO_FILES = HiddenFiles()


def file_stamp(stat: Stat) -> str:
    """Returns a stamp that distinguishes one file at a path from the next one. The time is part of it, because a file
    that is written again with the same bytes keeps its ETag in a bucket. Stamps are stored on disk, in events and
    checkpoints."""
    return f"{int(stat.modified * 1e6)}:{stat.size}:{stat.etag.removeprefix('W/').strip(chr(34))}"


class WorkspaceState(msgspec.Struct, frozen=True):
    id: str
    branch: str
    incarnation: int  # the incarnation of the branch
    fork: str  # the commit it was opened on
    last: int  # the number of its last event, plus AGAIN for each earlier one in the same record
    user: str
    time: int
    note: str = ""
    layers: Layers = EMPTY
    added: tuple[str, ...] = ()  # the patterns that were added
    sealed: bool = False  # its last event shows that a commit is reading its folder
    hidden: HiddenFiles = NO_FILES

    @property
    def ref(self) -> str:
        """The workspace's name for reading and writing."""
        return f"{self.branch}+{self.id}"


class DumpedWorkspace(msgspec.Struct, frozen=True, array_like=True):
    """A workspace in a checkpoint. Stored on disk: fields may only be added at the end."""

    id: str
    branch: str
    incarnation: int
    fork: str
    last: int
    user: str
    time: int
    note: str
    layers: staging.DumpedLayers
    added: tuple[str, ...]
    sealed: bool = False
    hidden: dict[str, str] = {}  # by path, the stamp of a plain file


class DumpedWorkspaces(msgspec.Struct, frozen=True, array_like=True):
    open: list[DumpedWorkspace] = []
    closed: dict[str, str] = {}


class Workspaces(FoldTables):
    def __init__(self) -> None:
        self._open: FoldTable[str, WorkspaceState] = FoldTable()
        self._closed: FoldTable[str, str] = FoldTable()  # the commit of each closed workspace, or DROPPED, by id

    # --- reading -----------------------------------------------------------------------------------------------------
    def get(self, id: str) -> WorkspaceState:
        """Returns the workspace. Raises Refused if it is closed, and NotFound if it never existed."""
        found = self._open.get(id)
        if found is not None:
            return found
        closed = self._closed.get(id)
        if closed is None:
            hint = "`lochan workspace list REPO` shows those there are"
            raise NotFound(f"no workspace {id!r}", hint=hint).named(
                id, lambda: (name for name, _ in self._open.items())
            )
        became = "was dropped" if closed == DROPPED else f"was committed as {closed[:12]}"
        raise Refused(f"workspace {id!r} {became}", hint="open a new one")

    def all(self) -> list[WorkspaceState]:
        return sorted((each for _, each in self._open.items()), key=lambda each: (each.time, each.id))

    def committed(self) -> Iterator[tuple[str, str]]:
        """Yields the committed workspaces, each with its commit."""
        return ((id, became) for id, became in self._closed.items() if became != DROPPED)

    def committed_as(self, id: str) -> str | None:
        closed = self._closed.get(id)
        return None if closed == DROPPED else closed

    # --- folding -----------------------------------------------------------------------------------------------------
    def open(self, workspace: WorkspaceState) -> str:
        if workspace.id in self._open or workspace.id in self._closed:
            raise Refused(f"workspace {workspace.id!r} was opened before")
        self._open.put(workspace.id, workspace)
        return workspace.id

    def stage(self, event: WorkspaceStaged, at: EventPosition) -> int:
        found = self.get(event.workspace)
        paths = [*(entry.path for entry in event.puts), *event.deletes]
        if len(set(paths)) != len(paths):
            raise Invalid("a path appears twice in one request")
        layers = found.layers.put(*event.puts, *map(Tombstone, event.deletes))
        self._put(found, at, layers=layers, hidden=found.hidden.with_files(event.hides))
        return at.number

    def add(self, event: WorkspaceAdded, at: EventPosition) -> int:
        found = self.get(event.workspace)
        added = (*found.added, *(pattern for pattern in event.patterns if pattern not in found.added))
        self._put(found, at, added=added)
        return at.number

    def revert(self, event: WorkspaceReverted, at: EventPosition) -> int:
        found = self.get(event.workspace)
        changes = [change for layer in found.layers.layers for _, change in layer.by_position()]  # type: ignore[union-attr]
        gone = fitting_paths([change.path for change in changes], event.patterns)
        kept = [change for change in changes if change.path not in gone]
        everything = "**" in event.patterns
        added = () if everything else tuple(each for each in found.added if each not in event.patterns)
        hidden = found.hidden.with_files(event.hides)
        self._put(found, at, layers=found.layers.cleared().put(*kept), added=added, hidden=hidden)
        return at.number

    def seal(self, event: WorkspaceSealed, at: EventPosition) -> int:
        return self._put(self.get(event.workspace), at, sealed=True)

    def close(self, id: str, became: str) -> None:
        self._open.drop(id)
        self._closed.put(id, became)

    def _put(self, found: WorkspaceState, at: EventPosition, sealed: bool = False, **changed: object) -> int:
        """Returns the number of its last event. A write after a commit's last look, in the same record, gets another
        number than the look. Version 1 of these events gave both the same number, and lost such a write."""
        same_record = record_of(found.last) == at.number
        last = found.last + AGAIN if same_record and at.version > 1 else at.number
        self._open.put(found.id, msgspec.structs.replace(found, last=last, sealed=sealed, **changed))
        return last

    # --- checkpoints -------------------------------------------------------------------------------------------------
    def dump(self) -> DumpedWorkspaces:
        return DumpedWorkspaces([_dump(each) for each in self.all()], dict(self._closed.items()))

    def load(self, dumped: DumpedWorkspaces) -> None:
        for each in dumped.open:
            hidden = NO_FILES.with_files(each.hidden)
            fields = {**msgspec.structs.asdict(each), "layers": staging.load(each.layers), "hidden": hidden}
            self._open.put(each.id, WorkspaceState(**fields))
        for id, became in dumped.closed.items():
            self._closed.put(id, became)


DROPPED = "dropped"


def _dump(one: WorkspaceState) -> DumpedWorkspace:
    return DumpedWorkspace(
        one.id,
        one.branch,
        one.incarnation,
        one.fork,
        one.last,
        one.user,
        one.time,
        one.note,
        one.layers.dump(),
        one.added,
        one.sealed,
        one.hidden.merged(),
    )
