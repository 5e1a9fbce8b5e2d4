"""Events of workspaces: places of one's own over a branch, committed whole or not at all (S8). On somebody's disk.

A workspace is closed by its commit (`moved` with `workspace` and `upto`) or by being dropped.
"""

from typing import ClassVar

import msgspec

from lochan.formats.entry import Entry
from lochan.formats.events import Event, Preparing


class WorkspaceOpened(Event, frozen=True):
    """On the head that the branch has at this number. The workspace's id is that number and the tail: files that are
    written under its folder are minted by it, and held open until it is closed (G1)."""

    type: ClassVar[str] = "workspace-opened"

    branch: str
    tail: str
    note: str = ""


class WorkspaceStaged(Event, frozen=True):
    """Puts and deletes in a workspace; no path twice. `hides` names plain files by path and stamp, which are seen no
    more and never deleted: a commit may name them already. Version 1 knew nothing of hidden files."""

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
    """What fits these patterns is to be committed, now or when it is there."""

    type: ClassVar[str] = "workspace-added"
    version: ClassVar[int] = 2

    workspace: str
    patterns: tuple[str, ...]


class WorkspaceReverted(Event, frozen=True):
    """What fits these patterns is staged no more, and the plain files that `hides` names are seen no more. Before
    version 2 the files were deleted instead."""

    type: ClassVar[str] = "workspace-reverted"
    version: ClassVar[int] = 2

    workspace: str
    patterns: tuple[str, ...]
    hides: dict[str, str] = msgspec.field(default_factory=dict)


class WorkspaceSealed(Preparing, frozen=True):
    """A commit has computed what it will hold, and looks at the folder a last time. A plain file that is put from now
    on is followed by an event, so that the commit looks again: plain files have none of their own."""

    type: ClassVar[str] = "workspace-sealed"
    version: ClassVar[int] = 2

    workspace: str


class WorkspaceDropped(Event, frozen=True):
    type: ClassVar[str] = "workspace-dropped"

    workspace: str
