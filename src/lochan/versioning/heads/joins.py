"""Joins the trees of two histories.

Files are joined path by path (`tree/merge.py`), against the tree of the merge base, or of all merge bases after a
criss-cross:

    a ─ b ─┬─ m     m and n have two best common ancestors, b and c. Against b alone, what c changed would look like a
      ╲   ╳         change of both sides, and a later change back to b's version like no change at all. So b and c are
        c ─┴─ n     merged first, over their own bases. Where they conflict, neither counts: the version before stands.

The tree of such a merge is written for the comparison only. Nothing names it, so it is garbage from the start.

A pool's objects are not paths: two objects of different names may hold the same rows (S7). The code that opens a pool
gives its repository another way to join them, the protocol `HistoryJoins`."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from lochan.errors import Invalid
from lochan.formats.commit import Commit
from lochan.formats.metarange import EMPTY, TreeRef
from lochan.tree.merge import BASE, Strategy, merge
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees
from lochan.versioning.revisions.graph import LookUp, merge_bases

TreeOf = Callable[[Commit], Awaitable[Tree]]

_DEPTH_MAX = 100  # criss-crosses below criss-crosses; below that only the first base is used
_NEITHER = Strategy(BASE)


class MoveBase(NamedTuple):
    """The base of a move: a head, the history behind it, and the number of the state that they are from."""

    id: str
    head: Commit
    look_up: LookUp
    mint: int


class NewObjects(NamedTuple):
    """Data objects that no commit has named before (G3)."""

    mint: int  # the lowest mint number of their files
    closes: tuple[str, ...] = ()  # the jobs that hold them open


class NamedTree(Protocol):
    """A tree that a commit can name, open or not."""

    @property
    def ref(self) -> TreeRef: ...


class UnopenedTree(NamedTuple):
    ref: TreeRef


class JoinResult(NamedTuple):
    tree: NamedTree
    new: NewObjects | None = None


class HistoryJoins(Protocol):
    """Each method returns the head's tree with the change of another history in it. Commits are named by id."""

    async def merge(self, on: MoveBase, theirs: str, strategy: Strategy) -> JoinResult:
        """Adds what `theirs` changed since the two histories parted. REQUIRES: it is no ancestor of the head."""

    async def pick(self, on: MoveBase, before: str, after: str) -> JoinResult:
        """Adds what `after` changed against `before`."""

    async def revert(self, on: MoveBase, before: str, after: str) -> JoinResult:
        """Takes back what `after` changed against `before`."""

    async def replay(self, on: MoveBase, before: str, after: str, since: tuple[str, str]) -> JoinResult:
        """Like `pick`, for one commit of a rebase. `since` is the commit it goes onto and the one that is rebased."""


async def base_tree(trees: Trees, tree_of: TreeOf, look_up: LookUp, ours_id: str, theirs_id: str, mint: int) -> Tree:
    """Returns the tree that a merge compares both sides with. Raises Invalid if the two have no history in common, Gone
    if that has expired."""
    return await tree_of_bases(trees, tree_of, look_up, base_ids(look_up, ours_id, theirs_id), mint)


def base_ids(look_up: LookUp, ours_id: str, theirs_id: str) -> list[str]:
    """Returns the ids of the merge bases, of which there is at least one. Raises Invalid if the two have no history in
    common."""
    bases = merge_bases(look_up, ours_id, theirs_id)
    if not bases:
        raise Invalid(f"commits {ours_id[:12]} and {theirs_id[:12]} have no history in common")
    return bases


async def tree_of_bases(trees: Trees, tree_of: TreeOf, look_up: LookUp, bases: list[str], mint: int) -> Tree:
    return await _MergedBases(trees, tree_of, look_up, mint).tree(bases)


def trivial_merge(base: Commit, ours: Commit, theirs: Commit) -> UnopenedTree | None:
    """Returns the result of a merge in which one side has changed nothing, or both have come to the same tree. Commits
    name their trees by content, so no file is read. Returns None if both have changed something."""
    if theirs.tree in (base.tree, ours.tree):
        return UnopenedTree(TreeRef(ours.tree, ours.tree_file))
    return UnopenedTree(TreeRef(theirs.tree, theirs.tree_file)) if ours.tree == base.tree else None


class _MergedBases:
    """Merge bases as trees. A merge of several is a commit that is in no journal, and is named by them."""

    def __init__(self, trees: Trees, tree_of: TreeOf, look_up: LookUp, mint: int) -> None:
        self._files = trees
        self._tree_of = tree_of
        self._recorded = look_up
        self._mint = mint
        self._made: dict[str, Commit] = {}
        self._trees: dict[str, Tree] = {}

    async def tree(self, bases: list[str], depth: int = 0) -> Tree:
        if not bases:  # the two bases have nothing in common themselves
            return await self._files.open(EMPTY)
        first, *others = bases
        if depth < _DEPTH_MAX:
            for other in others:
                first = await self._merge_bases(first, other, depth)
        return self._trees.get(first) or await self._tree_of(self._look_up(first))

    async def _merge_bases(self, one: str, other: str, depth: int) -> str:
        name = f"{one}+{other}"
        if name not in self._trees:
            base = await self.tree(merge_bases(self._look_up, one, other), depth + 1)
            sides = await self.tree([one]), await self.tree([other])
            result = await merge(self._files, base, *sides, mint=self._mint, strategy=_NEITHER)
            assert result.tree is not None, "where the base wins there is no conflict"
            generation = 1 + max(self._look_up(id).generation for id in (one, other))
            self._made[name] = Commit((one, other), "", "", "", 0, {}, "", "", generation)
            self._trees[name] = result.tree
        return name

    def _look_up(self, id: str) -> Commit:
        return self._made.get(id) or self._recorded(id)
