"""The gate of a repository, its hooks: it may refuse a change before it lands, and is informed afterwards.

A head move is judged when it is computed, on the very tree that it would land, and is valid only for the head it was
computed on. If the head moves meanwhile, the move is computed again and judged again: only a move that was judged
lands."""

from typing import NamedTuple, Protocol

from lochan.formats.commit import Commit
from lochan.formats.record import Actor
from lochan.formats.repository_events import Committed, Moved

COMMIT, MERGE, REVERT, CHERRY_PICK, REBASE, RESET = "commit", "merge", "revert", "cherry-pick", "rebase", "reset"
CREATE_BRANCH, DELETE_BRANCH, CREATE_TAG, DELETE_TAG = "create-branch", "delete-branch", "create-tag", "delete-tag"
OPEN_PULL, UPDATE_PULL, REVIEW_PULL = "open-pull", "update-pull", "review-pull"
CLOSE_PULL, REOPEN_PULL = "close-pull", "reopen-pull"
SHARED_HOOKS = "lochan.hooks"  # metadata of a repository that names another repository, whose hooks judge it too
_VERBS = {MERGE, REVERT, CHERRY_PICK, REBASE, RESET}
_SAME_ROWS = "compact"  # such a move rewrites files, and changes no row of a pool


class HeadMove(NamedTuple):
    """A move of a branch's head. `commit` is the one that the branch would be at, recorded or not yet."""

    verb: str
    branch: str
    base: str  # the head that it was computed on
    commit: Commit
    commit_id: str
    source: str = ""  # for a merge: the commit that is merged


class RefChange(NamedTuple):
    """The creation or deletion of a branch or a tag, or a change of a pull request. For a pull request, `name` is its
    target, and `commit_id` the head of its source."""

    verb: str
    name: str
    commit_id: str
    base: str = ""  # for a pull request: the head of its target
    source: str = ""  # the branch that it proposes
    pull: str = ""  # its id; empty while it is being opened


class Judged(Protocol):
    """The verdict of the hooks on a change, and their work after it."""

    async def landed(self) -> None:
        """Is called when the change is durable. Raises nothing."""


class Gate(Protocol):
    """Judges changes before they land. Both methods raise HookRefused."""

    async def judge_move(self, move: HeadMove, actor: Actor) -> Judged: ...

    async def judge_ref(self, change: RefChange, actor: Actor) -> Judged: ...


class _Unjudged:
    async def landed(self) -> None:
        pass


UNJUDGED: Judged = _Unjudged()


def move_of(event: object, recorded: Commit | None = None) -> HeadMove | None:
    """Returns the move that the event would make on its branch, or None if it is not judged. `recorded` is the target
    of a move to an existing commit."""
    match event:
        case Committed(branch=branch, commit=commit, then=then, why=why, origin=origin):
            last = commit if then is None else then
            verb = COMMIT if then is None else _verb(why)
            source = origin.source if origin is not None and verb == MERGE else ""
            return HeadMove(verb, branch, commit.parents[0], last, last.id, source)
        case Moved(branch=branch, source=base, target=target, why=why, commits=commits, origins=origins):
            last_moved = commits[-1] if commits else recorded
            if last_moved is None or target == base or why == _SAME_ROWS:
                return None
            verb = _verb(why)
            source = origins[0].source if origins and verb == MERGE else ""
            return HeadMove(verb, branch, base, last_moved, target, source)
    return None


def _verb(why: str) -> str:
    """Returns the verb of a move. Loads, imports, deletions of rows and the like are commits."""
    return why if why in _VERBS else COMMIT
