"""Events of a repository's journal: what is staged, commits, branches, tags, protection, stashes. On somebody's disk.

Every file that an event names carries its mint number in its name: the journal number that its maker had folded before
the first byte, by which garbage collection tells a young file from a forgotten one (G1, G3). `read_at` is the number of
the state that an event was derived from, and `checked` the newest plan of a garbage collection that its maker has
compared its files with (G4).
"""

from typing import ClassVar

import msgspec

from lochan.formats.commit import Commit
from lochan.formats.entry import Block, Entry
from lochan.formats.events import Event, Preparing
from lochan.formats.run import RunRef


class RepositoryOpened(Preparing, frozen=True):
    """The first event. The repository is there, with its default branch and first commit, from this record on."""

    type: ClassVar[str] = "repository-opened"

    kind: str
    default_branch: str
    commit: Commit


class CoveringTree(msgspec.Struct, frozen=True, array_like=True):
    """A tree that stands for a branch's lowest runs over its head: named in events and checkpoints. It says nothing
    that the runs and the head do not say; whoever reads a branch may take it in their place. Fields are only ever added
    at the end."""

    base: str  # the file of the tree that the runs lie over; "" for the empty one
    runs: tuple[str, ...]  # ids of the runs, oldest first; nothing lies between them, nor between them and the base
    tree: str  # its id
    file: str  # relative to the repository; "" for the empty tree
    whole: bool = False  # a commit of just these runs makes this very tree, address by address


# --- staging ---------------------------------------------------------------------------------------------------------
class Staged(Event, frozen=True):
    """Puts and deletes on a branch; no path twice."""

    type: ClassVar[str] = "staged"

    branch: str
    puts: tuple[Entry, ...] = ()
    deletes: tuple[str, ...] = ()
    read_at: int = 0  # of a copy: the state that its source was read from; 0: the bytes are new
    checked: int = 0
    closes: tuple[str, ...] = ()  # what was held open for these entries: an address token, an upload
    completes: str = ""  # the multipart upload whose parts are the blocks of the only entry


class RunsStaged(Event, frozen=True):
    """Prepared runs on top of a branch's staging, as one unit."""

    type: ClassVar[str] = "runs-staged"

    branch: str
    runs: tuple[RunRef, ...]
    mint: int = 0  # the least of the files that the runs' entries name
    read_at: int = 0  # as in `Staged`
    checked: int = 0
    closes: tuple[str, ...] = ()


class Compacted(Preparing, frozen=True):
    """The outputs stand in place of the inputs. Valid while all of them are there, side by side, in that incarnation,
    with no seal between them; and, if tombstones were dropped, while `head` is the head (S2, S3). With `over`, which
    may come alone, only while the runs that it names are the lowest layers."""

    type: ClassVar[str] = "compacted"

    branch: str
    incarnation: int
    spans: tuple[tuple[int, int], ...]  # of inline changes: first and last position of each layer
    runs: tuple[str, ...]  # ids
    outputs: tuple[RunRef, ...]
    head: str = ""
    read_at: int = 0
    checked: int = 0
    over: CoveringTree | None = None  # a tree for the lowest runs over the head's


# --- commits ---------------------------------------------------------------------------------------------------------
class Sealed(Preparing, frozen=True):
    """A commit begins: what is staged below this event is what it will hold. Its own number names it (S1)."""

    type: ClassVar[str] = "sealed"

    branch: str
    turn: str = ""  # the request that holds the turn need not wait for a free seal


class Committed(Event, frozen=True):
    """Valid only while the seal stands. Drops all layers below it and puts the leftovers in their place (S4). With
    `then`, a second commit on top of it in the same event: as two they need never succeed under steady writes (S5)."""

    type: ClassVar[str] = "committed"

    branch: str
    seal: int
    commit: Commit
    leftovers: tuple[RunRef, ...] = ()
    read_at: int = 0
    checked: int = 0
    turn: str = ""
    then: Commit | None = None


class Moved(Event, frozen=True):
    """Every other head move. Valid only while `source` is the head of that incarnation (S6)."""

    type: ClassVar[str] = "moved"

    branch: str
    incarnation: int
    source: str  # the head before
    target: str  # the head after
    why: str  # merge, revert, cherry-pick, import, reset, load …
    commits: tuple[Commit, ...] = ()  # new ones; the last of them is `target`
    discard: bool = False  # a hard reset: the staging goes in the same event
    read_at: int = 0
    checked: int = 0
    turn: str = ""
    workspace: str = ""  # that is committed and closed by this (S8)
    upto: int = 0  # the workspace's last event
    mint: int = 0  # of a pool's new objects: the least of their files'; 0: no file is named for the first time
    closes: tuple[str, ...] = ()  # jobs that held those files open


class Turned(Preparing, frozen=True):
    """A head move that was refused once queues: while anybody does, only the first may land one (S1). Of a request that
    is in the queue already: it shows that it is still there."""

    type: ClassVar[str] = "turned"

    branch: str
    request: str
    patience: int = 0  # how often it was sent away before; each time it may stay at the front twice as long
    writer: str = ""  # the process whose request it is


class TurnOver(Preparing, frozen=True):
    """That request leaves the queue, or every request of that writer: given up, or silent for too long. With `upto`,
    valid only while none of them has shown itself in a record after that one. Version 1 knew no writers."""

    type: ClassVar[str] = "turn-over"
    version: ClassVar[int] = 2

    branch: str
    request: str = ""
    writer: str = ""
    upto: int = 0


# --- refs ------------------------------------------------------------------------------------------------------------
# Version 2 of what makes a branch: a second one of that name in one record is another incarnation.
class BranchCreated(Event, frozen=True):
    """Valid while the name is free among branches and tags, and the commit is there."""

    type: ClassVar[str] = "branch-created"
    version: ClassVar[int] = 2

    name: str
    commit: str


class BranchDeleted(Event, frozen=True):
    type: ClassVar[str] = "branch-deleted"

    name: str
    incarnation: int


class BranchRestored(Event, frozen=True):
    """A deleted branch with its staging, as a new incarnation. Valid while that deleted one is kept (G6)."""

    type: ClassVar[str] = "branch-restored"
    version: ClassVar[int] = 2

    name: str
    incarnation: int  # of the deleted one


class BranchRenamed(Event, frozen=True):
    """Valid while the new name is free. What is staged goes along; it is a new incarnation."""

    type: ClassVar[str] = "branch-renamed"
    version: ClassVar[int] = 2

    name: str
    incarnation: int
    to: str


class TagCreated(Event, frozen=True):
    type: ClassVar[str] = "tag-created"

    name: str
    commit: str


class TagDeleted(Event, frozen=True):
    type: ClassVar[str] = "tag-deleted"

    name: str


# --- what may be done at all ------------------------------------------------------------------------------------------
class Protection(msgspec.Struct, frozen=True, array_like=True):
    """Fields are only ever added at the end."""

    pattern: str  # of branch names, with * and ?
    blocked: tuple[str, ...]  # stage, commit, rewrite


class ProtectionSet(Event, frozen=True):
    """All the rules there are from now on."""

    type: ClassVar[str] = "protection-set"

    rules: tuple[Protection, ...]


class ReadOnlySet(Event, frozen=True):
    """While it is on, nothing that a reader could see changes."""

    type: ClassVar[str] = "read-only-set"

    on: bool


# --- stashes (S9) -----------------------------------------------------------------------------------------------------
class Stashed(Event, frozen=True):
    """Moves the staging that the branch has at this number, whatever it is: the event carries no list. Version 2: no
    two stashes of one record have the same id, also where the first is gone already."""

    type: ClassVar[str] = "stashed"
    version: ClassVar[int] = 2

    branch: str
    message: str = ""


class Popped(Event, frozen=True):
    """Valid only while the stash is there, nothing is staged on the branch, and `head` is its head."""

    type: ClassVar[str] = "popped"

    branch: str
    stash: str
    head: str


class StashDropped(Event, frozen=True):
    type: ClassVar[str] = "stash-dropped"

    stash: str


# Events of multipart uploads. On somebody's disk.


class UploadOpened(Event, frozen=True):
    type: ClassVar[str] = "upload-opened"

    id: str
    branch: str
    path: str
    content_type: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    metadata: dict[str, str] = msgspec.field(default_factory=dict)
    checksum: str = ""  # the algorithm of S3's additional checksum, if one is wanted
    checksum_type: str = ""  # FULL_OBJECT or COMPOSITE
    workspace: str = ""


class PartPut(Preparing, frozen=True):
    """A part of that number, instead of one that may have been put before."""

    type: ClassVar[str] = "part-put"

    upload: str
    number: int
    blocks: tuple[Block, ...]
    size: int
    etag: str
    checksums: dict[str, str] = msgspec.field(default_factory=dict)
    read_at: int = 0  # of a part copied from an object: the state it was read from
    checked: int = 0


class UploadAborted(Event, frozen=True):
    type: ClassVar[str] = "upload-aborted"

    upload: str
