"""What a merge compares both sides with: the tree of their merge base, or, after a criss-cross, of all their bases.

    a ─ b ─┬─ m     m and n have two best common ancestors, b and c. To take b alone would show what c changed as a
      ╲   ╳         change of both sides, and a later change back to b's as no change at all. So b and c are merged
        c ─┴─ n     first, over their own bases; where they conflict, neither counts, and what was before them stands.

The tree of such a merge is written for the comparison only, and nothing names it: garbage from the start.
"""

from lochan.errors import Invalid
from lochan.formats.commit import Commit
from lochan.formats.metarange import EMPTY
from lochan.tree.merge import BASE, Strategy, merge
from lochan.tree.tree import Tree
from lochan.versioning.graph import LookUp, merge_bases
from lochan.versioning.open_repository import OpenRepository

_DEPTH_MAX = 100  # criss-crosses below criss-crosses; from there on the first base stands for all
_NEITHER = Strategy(BASE)


async def base_tree(repository: OpenRepository, look_up: LookUp, ours_id: str, theirs_id: str, mint: int) -> Tree:
    """Raises Invalid if the two have no history in common."""
    bases = merge_bases(look_up, ours_id, theirs_id)
    if not bases:
        raise Invalid(f"commits {ours_id[:12]} and {theirs_id[:12]} have no history in common")
    return await _Joining(repository, look_up, mint).joined(bases)


class _Joining:
    """Merge bases as trees. A merge of several is a commit that is in no journal, and is named by them."""

    def __init__(self, repository: OpenRepository, look_up: LookUp, mint: int) -> None:
        self._repository = repository
        self._recorded = look_up
        self._mint = mint
        self._made: dict[str, Commit] = {}
        self._trees: dict[str, Tree] = {}

    async def joined(self, bases: list[str], depth: int = 0) -> Tree:
        if not bases:  # of two bases that have nothing in common themselves
            return await self._repository.trees.open(EMPTY)
        first, *others = bases
        if depth < _DEPTH_MAX:
            for other in others:
                first = await self._join(first, other, depth)
        return self._trees.get(first) or await self._repository.tree(self._recorded(first))

    async def _join(self, one: str, other: str, depth: int) -> str:
        name = f"{one}+{other}"
        if name not in self._trees:
            base = await self.joined(merge_bases(self._look_up, one, other), depth + 1)
            sides = await self.joined([one]), await self.joined([other])
            merged = await merge(self._repository.trees, base, *sides, mint=self._mint, strategy=_NEITHER)
            assert merged.tree is not None, "where the base wins there is no conflict"
            generation = 1 + max(self._look_up(id).generation for id in (one, other))
            self._made[name] = Commit((one, other), "", "", "", 0, {}, "", "", generation)
            self._trees[name] = merged.tree
        return name

    def _look_up(self, id: str) -> Commit:
        return self._made.get(id) or self._recorded(id)
