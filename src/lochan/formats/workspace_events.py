"""Events of workspaces: places of one's own over a branch, committed whole or not at all (S8). On somebody's disk.

A workspace is closed by its commit (`moved` with `workspace` and `upto`) or by being dropped.
"""

from typing import ClassVar

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
    """Puts and deletes in a workspace; no path twice."""

    type: ClassVar[str] = "workspace-staged"

    workspace: str
    puts: tuple[Entry, ...] = ()
    deletes: tuple[str, ...] = ()
    read_at: int = 0  # as in `staged`
    checked: int = 0
    closes: tuple[str, ...] = ()
    completes: str = ""

    @property
    def prepares(self) -> bool:
        return not (self.puts or self.deletes)


class WorkspaceAdded(Event, frozen=True):
    """What fits these patterns is to be committed, now or when it is there."""

    type: ClassVar[str] = "workspace-added"

    workspace: str
    patterns: tuple[str, ...]


class WorkspaceReverted(Event, frozen=True):
    """What fits these patterns is staged no more. Files written out of band were deleted before."""

    type: ClassVar[str] = "workspace-reverted"

    workspace: str
    patterns: tuple[str, ...]


class WorkspaceSealed(Preparing, frozen=True):
    """A commit has computed what it will hold, and looks at the folder a last time. A file that is put from now on is
    followed by an event, so that the commit looks again: plain files have none of their own."""

    type: ClassVar[str] = "workspace-sealed"

    workspace: str


class WorkspaceDropped(Event, frozen=True):
    type: ClassVar[str] = "workspace-dropped"

    workspace: str
