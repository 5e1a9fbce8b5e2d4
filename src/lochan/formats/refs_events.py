"""Events of a repository's journal after the first. On somebody's disk.

Every file that an event names carries its mint number in its name: the journal number that its maker had folded before
the first byte, by which garbage collection tells a young file from a forgotten one. `read_at` is the number of the
state that an event was derived from.
"""

from typing import ClassVar

from lochan.formats.commit import Commit
from lochan.formats.entry import Entry
from lochan.formats.events import Event
from lochan.formats.run import RunRef


# --- staging ---------------------------------------------------------------------------------------------------------
class Staged(Event, frozen=True):
    """Puts and deletes on a branch; no path twice."""

    type: ClassVar[str] = "staged"

    branch: str
    puts: tuple[Entry, ...] = ()
    deletes: tuple[str, ...] = ()
    read_at: int = 0  # of a copy: the state that its source was read from


class RunsStaged(Event, frozen=True):
    """Prepared runs on top of a branch's staging, as one unit."""

    type: ClassVar[str] = "runs-staged"

    branch: str
    runs: tuple[RunRef, ...]


class Compacted(Event, frozen=True):
    """The outputs stand in place of the inputs. Valid while all of them are there, side by side, in that incarnation,
    with no seal between them; and, if tombstones were dropped, while `head` is the head (S2, S3)."""

    type: ClassVar[str] = "compacted"

    branch: str
    incarnation: int
    spans: tuple[tuple[int, int], ...]  # of inline changes: first and last position of each layer
    runs: tuple[str, ...]  # ids
    outputs: tuple[RunRef, ...]
    head: str = ""


# --- commits ---------------------------------------------------------------------------------------------------------
class Sealed(Event, frozen=True):
    """A commit begins: what is staged below this event is what it will hold. Its own number names it (S1)."""

    type: ClassVar[str] = "sealed"

    branch: str


class Committed(Event, frozen=True):
    """Valid only while the seal stands. Drops all layers below it and puts the leftovers in their place (S4)."""

    type: ClassVar[str] = "committed"

    branch: str
    seal: int
    commit: Commit
    leftovers: tuple[RunRef, ...] = ()


class Moved(Event, frozen=True):
    """Every other head move. Valid only while `source` is the head of that incarnation (S6)."""

    type: ClassVar[str] = "moved"

    branch: str
    incarnation: int
    source: str  # the head before
    target: str  # the head after
    why: str  # merge, revert, cherry-pick, import, reset …
    commits: tuple[Commit, ...] = ()  # new ones; the last of them is `target`
    discard: bool = False  # a hard reset: the staging goes in the same event
    read_at: int = 0


# --- refs ------------------------------------------------------------------------------------------------------------
class BranchCreated(Event, frozen=True):
    """Valid while the name is free among branches and tags, and the commit is there."""

    type: ClassVar[str] = "branch-created"

    name: str
    commit: str


class BranchDeleted(Event, frozen=True):
    type: ClassVar[str] = "branch-deleted"

    name: str
    incarnation: int


class BranchRestored(Event, frozen=True):
    """A deleted branch with its staging, as a new incarnation. Valid while that deleted one is kept (G6)."""

    type: ClassVar[str] = "branch-restored"

    name: str
    incarnation: int  # of the deleted one


class TagCreated(Event, frozen=True):
    type: ClassVar[str] = "tag-created"

    name: str
    commit: str


class TagDeleted(Event, frozen=True):
    type: ClassVar[str] = "tag-deleted"

    name: str
