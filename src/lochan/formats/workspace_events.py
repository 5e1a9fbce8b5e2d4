"""Events of workspaces: private layers over a branch, committed completely or not at all (S8). Stored on disk.

A workspace is closed by its commit (`moved` with `workspace` and `upto`), or dropped.
"""

from typing import ClassVar

import msgspec

from lochan.formats.entry import Entry
from lochan.formats.events import Event, Preparing


class WorkspaceOpened(Event, frozen=True):
    """Opens a workspace on the head that the branch has at this number. Its id is that number and the tail. The number
    is the mint of the files in its folder, which stay open until it is closed (G1)."""

    type: ClassVar[str] = "workspace-opened"

    branch: str
    tail: str
    note: str = ""


class WorkspaceStaged(Event, frozen=True):
    """Stages puts and deletes in a workspace. No path occurs twice. `hides` names plain files by path and stamp. They
    become invisible but are never deleted, because a commit may name them already. Version 1 had no hidden files."""

    type: ClassVar[str] = "workspace-staged"
    version: ClassVar[int] = 2

    workspace: str
    puts: tuple[Entry, ...] = ()
    deletes: tuple[str, ...] = ()
    read_at: int = 0  # as in `staged`
    checked: int = 0
    closes: tuple[str, ...] = ()
    completes: str = ""
    hides: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def prepares(self) -> bool:
        return not (self.puts or self.deletes or self.hides)


class WorkspaceAdded(Event, frozen=True):
    """Adds patterns. Paths that match them will be committed, including later ones."""

    type: ClassVar[str] = "workspace-added"
    version: ClassVar[int] = 2

    workspace: str
    patterns: tuple[str, ...]


class WorkspaceReverted(Event, frozen=True):
    """Removes changes. Paths that match these patterns are no longer staged, and the plain files in `hides` become
    invisible. Before version 2 the files were deleted instead."""

    type: ClassVar[str] = "workspace-reverted"
    version: ClassVar[int] = 2

    workspace: str
    patterns: tuple[str, ...]
    hides: dict[str, str] = msgspec.field(default_factory=dict)


class WorkspaceSealed(Preparing, frozen=True):
    """Seals a workspace. A commit has computed its content, and reads the folder one last time. Putting a plain file
    has no event of its own; from now on an event follows each put, so that the commit reads the folder again."""

    type: ClassVar[str] = "workspace-sealed"
    version: ClassVar[int] = 2

    workspace: str


class WorkspaceDropped(Event, frozen=True):
    type: ClassVar[str] = "workspace-dropped"

    workspace: str
