"""Events of a repository's journal: what is staged, commits, branches, tags, protection, stashes. Stored on disk.

The name of every file in an event contains its mint number: the journal number that its writer had folded before the
first byte. Garbage collection uses it to distinguish a young file from a forgotten one (G1, G3). `read_at` is the
number of the state that an event was derived from. `checked` is the newest plan of a garbage collection that its writer
has compared its files with (G4).

A multipart upload is open from `upload-opened` on, and the files of its parts are live. It ends by the `staged` event
that completes it (`completes`), which makes its parts the blocks of one entry, or by being aborted.
"""

from typing import ClassVar

import msgspec

from lochan.formats.commit import Commit
from lochan.formats.entry import Block, Entry
from lochan.formats.events import Event, Preparing
from lochan.formats.run import RunRef


class RepositoryOpened(Preparing, frozen=True):
    """The first event of the journal. The repository exists from this record on, with its default branch and first
    commit. Version 2: it may be bare, which has neither."""

    type: ClassVar[str] = "repository-opened"
    version: ClassVar[int] = 2

    kind: str
    default_branch: str
    commit: Commit
    bare: bool = False

    @property
    def written_version(self) -> int:
        return 2 if self.bare else 1


class RepositoryClosed(Event, frozen=True):
    """The repository is being deleted: nothing is added to this journal any more, until it is reopened (G9)."""

    type: ClassVar[str] = "repository-closed"


class RepositoryReopened(Event, frozen=True):
    """The repository was restored. Valid while it is closed by that record."""

    type: ClassVar[str] = "repository-reopened"

    closed: int


class CoveringTree(msgspec.Struct, frozen=True, array_like=True):
    """A tree that replaces a branch's lowest runs and its head for readers, as events and checkpoints name it. It holds
    exactly what the runs and the head hold. Fields are only ever added at the end."""

    base: str  # the file of the tree below the runs; "" for the empty tree
    runs: tuple[str, ...]  # ids of the runs, oldest first, with nothing between them or below them but the base
    tree: str  # the id of the tree
    file: str  # the tree's file, relative to the repository; "" for the empty tree
    whole: bool = False  # whether a commit of exactly these runs would make this tree, with the same addresses


# --- staging ---------------------------------------------------------------------------------------------------------
class Staged(Event, frozen=True):
    """Stages puts and deletes on a branch. No path occurs twice."""

    type: ClassVar[str] = "staged"

    branch: str
    puts: tuple[Entry, ...] = ()
    deletes: tuple[str, ...] = ()
    read_at: int = 0  # for a copy, the state that its source was read from; 0 if the bytes are new
    checked: int = 0
    closes: tuple[str, ...] = ()  # what was opened for these entries: an address token, an upload
    completes: str = ""  # the multipart upload whose parts are the blocks of the only entry


class RunsStaged(Event, frozen=True):
    """Adds prepared runs on top of a branch's staging, as one unit."""

    type: ClassVar[str] = "runs-staged"

    branch: str
    runs: tuple[RunRef, ...]
    mint: int = 0  # the least mint of the files that the runs' entries name
    read_at: int = 0  # as in `Staged`
    checked: int = 0
    closes: tuple[str, ...] = ()


class Compacted(Preparing, frozen=True):
    """Replaces the inputs by the outputs. Valid while all inputs exist, adjacent, in that incarnation, with no seal
    between them; and, if tombstones were dropped, while `head` is the head (S2, S3). With `over`, which may come alone,
    it is valid only while the runs that it names are the lowest layers."""

    type: ClassVar[str] = "compacted"

    branch: str
    incarnation: int
    spans: tuple[tuple[int, int], ...]  # the first and the last position of each layer of inline changes
    runs: tuple[str, ...]  # the ids of runs
    outputs: tuple[RunRef, ...]
    head: str = ""
    read_at: int = 0
    checked: int = 0
    over: CoveringTree | None = None  # a tree for the lowest runs over the head's tree


# --- commits ---------------------------------------------------------------------------------------------------------
class MoveOrigin(msgspec.Struct, frozen=True, array_like=True):
    """What a commit was computed from, beside its parents: enough to compute its tree again. Fields are only ever added
    at the end."""

    source: str  # the commit whose tree was joined to the head's; for a revert, the one before the reverted commit
    against: str = ""  # the commit that both were compared with; "" for their merge bases
    strategy: str = ""  # how a merge decided conflicts
    prefixes: dict[str, str] = {}  # how it decided conflicts of paths that begin with these


class Sealed(Preparing, frozen=True):
    """A commit begins: it will hold what is staged below this event. The event's number names the seal (S1)."""

    type: ClassVar[str] = "sealed"

    branch: str
    turn: str = ""  # the request that has the turn need not wait for a free seal


class Committed(Event, frozen=True):
    """Commits what is below a seal: drops all layers below it and puts the leftovers in their place (S4). Valid only
    while the seal exists. `then` is a second commit on top of it: as two events, they might never succeed under steady
    writes (S5)."""

    type: ClassVar[str] = "committed"

    branch: str
    seal: int
    commit: Commit
    leftovers: tuple[RunRef, ...] = ()
    read_at: int = 0
    checked: int = 0
    turn: str = ""
    then: Commit | None = None
    origin: MoveOrigin | None = None  # the origin of `then`
    why: str = ""  # the kind of `then`: merge, revert or cherry-pick


class Moved(Event, frozen=True):
    """Any other move of a head. Valid only while `source` is the head of that incarnation (S6). Version 2: it merges a
    pull request."""

    type: ClassVar[str] = "moved"
    version: ClassVar[int] = 2

    branch: str
    incarnation: int
    source: str  # the head before
    target: str  # the head after
    why: str  # merge, revert, cherry-pick, import, reset, load and others
    commits: tuple[Commit, ...] = ()  # the new commits; the last of them is `target`
    discard: bool = False  # whether it is a hard reset, which drops what is staged in the same event
    read_at: int = 0
    checked: int = 0
    turn: str = ""
    workspace: str = ""  # the workspace that this commits and closes (S8)
    upto: int = 0  # the workspace's last event
    mint: int = (
        0  # the least mint of new files that others wrote, a pool's objects or an import's ranges; 0 if there are none
    )
    closes: tuple[str, ...] = ()  # the jobs that kept those files open
    origins: tuple[MoveOrigin, ...] = ()  # one for each of `commits`; none if they were not computed from other commits
    pull: str = ""  # the request that this merges, in the same event
    inactive: tuple[str, ...] = ()  # its reviewers who are disabled or gone: their reviews do not count

    @property
    def written_version(self) -> int:
        return 2 if self.pull else 1


class Turned(Preparing, frozen=True):
    """A request whose head move was refused joins the queue. While there is a queue, only its first request may move
    the head (S1). When a request that is in the queue writes this event again, it shows that it is still alive."""

    type: ClassVar[str] = "turned"

    branch: str
    request: str
    patience: int = 0  # how often it was sent away before; each time it may stay first twice as long
    writer: str = ""  # the process that sent the request


class TurnOver(Preparing, frozen=True):
    """The request, or every request of that writer, leaves the queue, because it gave up or was silent for too long.
    With `upto`, it is valid only if none of them gave a sign of life in a later record. Version 1 had no writers."""

    type: ClassVar[str] = "turn-over"
    version: ClassVar[int] = 2

    branch: str
    request: str = ""
    writer: str = ""
    upto: int = 0


# --- refs ------------------------------------------------------------------------------------------------------------
# Version 2 of the events that make a branch: a second one of that name in one record is another incarnation.
class BranchCreated(Event, frozen=True):
    """Creates a branch. Valid while no branch or tag has the name, and the commit exists. Version 3: it may be hidden,
    which a reader that does not know it would forget."""

    type: ClassVar[str] = "branch-created"
    version: ClassVar[int] = 3

    name: str
    commit: str
    hidden: bool = False  # lists of branches leave it out

    @property
    def written_version(self) -> int:
        return 3 if self.hidden else 2


class BranchDeleted(Event, frozen=True):
    type: ClassVar[str] = "branch-deleted"

    name: str
    incarnation: int


class BranchRestored(Event, frozen=True):
    """Restores a deleted branch with its staging, as a new incarnation. Valid while the deleted one is kept (G6)."""

    type: ClassVar[str] = "branch-restored"
    version: ClassVar[int] = 2

    name: str
    incarnation: int  # the incarnation of the deleted branch


class BranchRenamed(Event, frozen=True):
    """Renames a branch, with what is staged, as a new incarnation. Valid while the new name is free."""

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


class HistoryRestored(Event, frozen=True):
    """Adds commits with their trees, parents first, and then branches and tags. Valid while there is no branch and no
    tag: a long history comes in several events, of which the last one has the refs."""

    type: ClassVar[str] = "history-restored"

    commits: tuple[Commit, ...]
    branches: dict[str, str]  # commits by name
    tags: dict[str, str]
    read_at: int  # the state at which it was begun
    mint: int  # the least mint of the files that the trees and their entries name


# --- protection ------------------------------------------------------------------------------------------------------
class Protection(msgspec.Struct, frozen=True, array_like=True):
    """A protection rule. Fields are only ever added at the end."""

    pattern: str  # a pattern of branch names, with * and ?
    blocked: tuple[str, ...]  # stage, commit and rewrite; in version 2 also revert and merge
    version: int = 1  # what the rule means: see `versioning/state/protection.py`
    mergers: tuple[str, ...] = ()  # the only users who may merge; empty for all users
    linear: bool = False  # whether no commit with two parents may come to the branch
    # These exist since version 3. With any of them, the branch changes only by pull requests.
    pull: bool = False
    approvals: int = 0  # the number of users who must have approved
    checks: tuple[str, ...] = ()  # the checks that must have succeeded, for the head of the source
    keep_stale: bool = False  # whether an approval counts for later commits of the source too


class ProtectionSet(Event, frozen=True):
    """Replaces all rules. In versions 2 and 3 rules can block more, which a reader that does not know them would let
    pass."""

    type: ClassVar[str] = "protection-set"
    version: ClassVar[int] = 3

    rules: tuple[Protection, ...]

    @property
    def written_version(self) -> int:
        return max([2, *(rule.version for rule in self.rules)])


class ReadOnlySet(Event, frozen=True):
    """Makes the repository read-only, or writable again. While it is read-only, nothing visible to readers changes."""

    type: ClassVar[str] = "read-only-set"

    on: bool


# --- stashes (S9) ----------------------------------------------------------------------------------------------------
class Stashed(Event, frozen=True):
    """Moves everything that the branch has staged at this number into a stash: the event has no list. Version 2: no two
    stashes of one record have the same id, even if the first is gone already."""

    type: ClassVar[str] = "stashed"
    version: ClassVar[int] = 2

    branch: str
    message: str = ""


class Popped(Event, frozen=True):
    """Moves a stash back onto a branch. Valid only while the stash exists, nothing is staged on the branch, and `head`
    is its head."""

    type: ClassVar[str] = "popped"

    branch: str
    stash: str
    head: str


class StashDropped(Event, frozen=True):
    type: ClassVar[str] = "stash-dropped"

    stash: str


# --- multipart uploads -----------------------------------------------------------------------------------------------
class UploadOpened(Event, frozen=True):
    type: ClassVar[str] = "upload-opened"

    id: str
    branch: str
    path: str
    content_type: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    metadata: dict[str, str] = msgspec.field(default_factory=dict)
    checksum: str = ""  # the algorithm of S3's additional checksum, if the client requested one
    checksum_type: str = ""  # FULL_OBJECT or COMPOSITE
    workspace: str = ""


class PartPut(Preparing, frozen=True):
    """Adds a part to an upload. It replaces an earlier part with that number."""

    type: ClassVar[str] = "part-put"

    upload: str
    number: int
    blocks: tuple[Block, ...]
    size: int
    etag: str
    checksums: dict[str, str] = msgspec.field(default_factory=dict)
    read_at: int = 0  # for a part copied from an object, the state that it was read from
    checked: int = 0


class UploadAborted(Event, frozen=True):
    type: ClassVar[str] = "upload-aborted"

    upload: str
