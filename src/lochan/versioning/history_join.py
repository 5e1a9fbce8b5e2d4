"""How the trees of two histories become one, where that is not path by path.

Files are joined by path (`tree/merge.py`). A pool's objects are not paths: two of different names may hold the same
rows (S7), and who opens a pool gives its repository another way to join them.
"""

from typing import NamedTuple, Protocol

from lochan.formats.commit import Commit
from lochan.tree.merge import Strategy
from lochan.tree.tree import Tree
from lochan.versioning.graph import LookUp


class MoveBase(NamedTuple):
    """What a move is computed on: a head, the history behind it, and the number of the state that they are of."""

    id: str
    head: Commit
    look_up: LookUp
    mint: int


class NewObjects(NamedTuple):
    """Of data objects that no commit has named before (G3)."""

    mint: int  # the least of their files'
    closes: tuple[str, ...] = ()  # jobs that hold them open


class JoinResult(NamedTuple):
    tree: Tree
    new: NewObjects | None = None


class HistoryJoins(Protocol):
    """Each gives the head's tree with the change of another history in it. Commits are named by id."""

    async def merge(self, on: MoveBase, theirs: str, strategy: Strategy) -> JoinResult:
        """What `theirs` changed since the two parted. REQUIRES: it is no ancestor of the head."""

    async def pick(self, on: MoveBase, before: str, after: str) -> JoinResult:
        """What `after` changed against `before`."""

    async def revert(self, on: MoveBase, before: str, after: str) -> JoinResult:
        """Takes back what `after` changed against `before`."""

    async def replay(self, on: MoveBase, before: str, after: str, since: tuple[str, str]) -> JoinResult:
        """As `pick`, for one commit of a rebase: `since` is what it goes onto and what is rebased."""
