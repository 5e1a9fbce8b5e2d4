"""Merge, revert, cherry-pick and rebase of pools (rules S6, S7): the files that they read, and the tree they make.

Usually neither side has touched the objects that the other replaced, and the trees are merged by the names of their
objects, whole ranges at a time. Only if both sides removed an object, or a history holds objects of another one, are
the commits since the merge base read one by one (`merge_objects.py` explains why)."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

from lochan.errors import Conflict, Invalid, PathsInTheWay
from lochan.formats.commit import Commit
from lochan.formats.entry import Change, Entry, Tombstone
from lochan.formats.metarange import EMPTY
from lochan.formats.pool_settings import PoolSettings
from lochan.formats.run import changes_table
from lochan.pools.commit_objects import new_objects
from lochan.pools.history import History, Point, objects_in, step, with_sources
from lochan.pools.merge_objects import Objects, Rows, SettledObjects, Side, Step, settle
from lochan.pools.objects import object_id
from lochan.pools.settings import settings_of
from lochan.tree.merge import DEST, Strategy
from lochan.tree.merge import merge as merge_trees
from lochan.tree.tree import Tree
from lochan.versioning.heads.joins import JoinResult, MoveBase
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.graph import by_generation, is_ancestor, merge_bases, only_left

ASK = Strategy()
_BASES = "merging the merge bases"


class RowMerge(NamedTuple):
    """A family of objects that both sides changed, whose result is the rows of `ours` with the changes of `theirs`
    since `base`.

    If both sides have the same number of equal rows, they made the same change, and the result has that number.
    Otherwise it has ours + theirs - base, at least 0. With a primary key, a row that both sides changed differently is
    a conflict, unless the strategy decides."""

    base: Sequence[Entry]
    ours: Sequence[Entry]
    theirs: Sequence[Entry]
    settings: PoolSettings
    strategy: Strategy


# Writes the rows as new objects, on no branch yet, and returns their entries. The int is the mint of their files (G1).
ComputeRows = Callable[[OpenRepository, RowMerge, int], Awaitable[Sequence[Entry]]]


class ObjectConflicts(PathsInTheWay):
    """Both sides replaced the same objects, and there is no engine to compute their rows."""

    def __init__(self, what: str, objects: Iterable[str]) -> None:
        ids = sorted(map(object_id, objects))
        many = len(ids) > 1
        super().__init__(
            f"{what}: both sides replaced or deleted data object{'s' if many else ''} {', '.join(ids[:5])}"
            f"{', …' if len(ids) > 5 else ''}, and the rows must be computed",
            paths=ids,
            hint="there is no engine here that could",
        )


class HeldBefore(Conflict):
    """The objects to be added were on the branch before, and were removed from it (S7)."""

    def __init__(self, what: str, objects: Iterable[str]) -> None:
        ids = ", ".join(sorted(map(object_id, objects))[:5])
        super().__init__(
            f"{what}: the branch held {ids} before, and has removed or compacted it since",
            hint="revert the commit that removed it last",
        )


class PoolJoins:
    def __init__(self, repository: OpenRepository, compute_rows: ComputeRows | None = None) -> None:
        self._repository = repository
        self._compute_rows = compute_rows

    async def merge(self, on: MoveBase, theirs: str, strategy: Strategy = ASK) -> JoinResult:
        return await _Joining(self._repository, on, self._compute_rows, strategy).merged(on.id, theirs)

    async def pick(self, on: MoveBase, before: str, after: str) -> JoinResult:
        joining = _Joining(self._repository, on, self._compute_rows, ASK)
        is_merge = len(on.look_up(after).parents) > 1
        anywhere = is_merge or self._repository.folded().has_brought(after)
        return await joining.applied("cherry-pick", before, after, on.id, before, anywhere=anywhere, again=after)

    async def revert(self, on: MoveBase, before: str, after: str) -> JoinResult:
        if not is_ancestor(on.look_up, after, on.id):
            raise Invalid(f"commit {after[:12]} is not in the history of the branch", hint="there is nothing to revert")
        joining = _Joining(self._repository, on, self._compute_rows, ASK)
        return await joining.applied("revert", after, before, on.id, after)

    async def replay(self, on: MoveBase, before: str, after: str, since: tuple[str, str]) -> JoinResult:
        joining = _Joining(self._repository, on, self._compute_rows, ASK)
        return await joining.applied(f"replaying commit {after[:12]}", before, after, *since)


class _Joining:
    """One merge, revert or replay, computed on one head."""

    def __init__(
        self, repository: OpenRepository, on: MoveBase, compute_rows: ComputeRows | None, strategy: Strategy
    ) -> None:
        self._repository = repository
        self._on = on
        self._compute_rows = compute_rows
        self._strategy = strategy
        self._made: dict[str, tuple[Commit, Tree]] = {}  # merges of several merge bases, which are in no journal
        self._added: list[Entry] = []

    # --- merge -------------------------------------------------------------------------------------------------------
    async def merged(self, ours: str, theirs: str) -> JoinResult:
        tree = await self._merge(ours, theirs, "merge")
        return JoinResult(tree, new_objects(self._added))

    async def _merge(self, ours: str, theirs: str, what: str) -> Tree:
        bases = merge_bases(self._look_up, ours, theirs)
        if not bases and what == "merge":
            raise Invalid(f"commits {ours[:12]} and {theirs[:12]} have no history in common")
        base = await self._base(bases)
        sides = _Sides(base, await self._tree(ours), await self._tree(theirs))
        did = await step(self._repository.trees, base, sides.theirs)
        since = [only_left(self._look_up, *pair) for pair in ((ours, theirs), (theirs, ours))]
        mixed = self._is_mixed(did, *since)
        if len(bases) == 1 and not mixed and await objects_in(sides.ours, did.removed) == did.removed:
            return await self._by_name(sides)
        histories = await self._history(since[0], bases), await self._history(since[1], bases)
        more: list[Step] = []
        if len(bases) > 1:  # their merge is in no history: the whole way from it is one step
            more += [did, await step(self._repository.trees, base, sides.ours)]
        if mixed:
            more += await (await self._history(self._commits_elsewhere(bases, *since), bases)).steps()
        return await self._by_family(what, sides, did, histories, more)

    async def _base(self, bases: list[str]) -> Tree:
        """Returns the tree of the merge base. After a criss-cross merge, that is the merge of all merge bases, with
        their rows computed."""
        if not bases:
            return await self._repository.trees.open(EMPTY)
        first, *others = bases
        for other in others:
            name = f"{first}+{other}"
            if name not in self._made:
                tree = await self._merge(first, other, _BASES)
                generation = 1 + max(self._look_up(id).generation for id in (first, other))
                self._made[name] = Commit((first, other), "", "", "", 0, {}, "", "", generation), tree
            first = name
        return await self._tree(first)

    # --- apply one commit elsewhere ----------------------------------------------------------------------------------
    async def applied(
        self, what: str, base: str, theirs: str, ours: str, since: str, *, anywhere: bool = False, again: str = ""
    ) -> JoinResult:
        """Returns the head with the change from `base` to `theirs`. Objects that were on the branch before do not come
        back: those since the merge base of `ours` and `since`, or with `anywhere` those of its whole history."""
        sides = _Sides(await self._tree(base), await self._repository.tree(self._on.head), await self._tree(theirs))
        did = await step(self._repository.trees, sides.base, sides.theirs)
        line = only_left(self._look_up, ours, since)
        mixed = anywhere or again in line or self._is_mixed(did, line, [base, theirs])
        if not mixed and await objects_in(sides.ours, did.removed) == did.removed:
            return JoinResult(await self._by_name(sides))
        bases = merge_bases(self._look_up, ours, since)
        histories = await self._history(line, bases), _Change(did, sides)
        others = self._commits_elsewhere(bases, line) if mixed else only_left(self._look_up, since, ours)
        related = await self._history(others, bases)
        replayed = await step(self._repository.trees, await self._tree(ours), sides.ours)
        tree = await self._by_family(what, sides, did, histories, [*await related.steps(), replayed])
        if anywhere:
            await self._refuse_held(what, tree, sides.ours)
        missing = did.added - await objects_in(sides.ours, did.added)
        if tree.ref.id == sides.ours.ref.id and missing:
            raise HeldBefore(what, missing)
        return JoinResult(tree, new_objects(self._added))

    async def _refuse_held(self, what: str, tree: Tree, head: Tree) -> None:
        """Raises HeldBefore if the tree would bring back objects (S7). The commit may itself have brought back what it
        holds, so the whole history is searched."""
        come = (await step(self._repository.trees, head, tree)).added - {entry.path for entry in self._added}
        if not come:
            return
        for _, commit in by_generation(self._look_up, self._on.id):
            found = await objects_in(await self._repository.tree(commit), come)
            if found:
                raise HeldBefore(what, found)

    # --- joining -----------------------------------------------------------------------------------------------------
    async def _by_name(self, sides: "_Sides") -> Tree:
        merged = await merge_trees(self._repository.trees, *sides, mint=self._on.mint)
        assert merged.tree is not None, "objects never change, and no object was removed on both sides"
        return merged.tree

    async def _by_family(
        self, what: str, sides: "_Sides", did: Step, histories: "tuple[History, History | _Change]", more: list[Step]
    ) -> Tree:
        """Merges by families of objects. `more` are steps of neither history that relate objects to each other."""
        steps = [*more, *[step for history in histories for step in await history.steps()]]
        objects = frozenset().union(*((each.removed | each.added).union(*each.akin) for each in (did, *steps)))
        base, ours, theirs = [await objects_in(tree, objects) for tree in sides]
        here, there = [
            await history.side(now, objects, base) for history, now in zip(histories, (ours, theirs), strict=True)
        ]
        settled = settle(base, here, there, steps)
        entries = _Entries(sides, histories)
        computed = await self._compute_objects(what, settled, entries)
        return await self._change_tree(sides.ours, settled, entries, computed)

    async def _compute_objects(self, what: str, settled: SettledObjects, entries: "_Entries") -> list[Entry]:
        made: list[Entry] = []
        for rows in settled.rows:
            if not rows.ours - rows.theirs and not rows.theirs - rows.ours:
                continue
            if self._compute_rows is None:
                raise ObjectConflicts(what, rows.base - rows.ours - rows.theirs or rows.base | rows.ours)
            strategy = Strategy(DEST) if what == _BASES else self._strategy  # the user cannot decide about merge bases
            merge = await self._row_merge(rows, entries, strategy)
            of = rows.theirs - rows.ours
            try:
                found = await self._compute_rows(self._repository, merge, self._on.mint)
            except PathsInTheWay as error:
                if what != "merge":  # only a merge has a strategy
                    error.hint = "change these rows on one side first"
                raise
            made += [with_sources(entry, of) for entry in found]
        return made

    async def _row_merge(self, rows: Rows, entries: "_Entries", strategy: Strategy) -> RowMerge:
        shared = rows.ours & rows.theirs  # both sides keep these
        base, ours, theirs = [await entries.of(objects - shared) for objects in rows]
        return RowMerge(base, ours, theirs, settings_of(self._repository.repository), strategy)

    async def _change_tree(
        self, ours: Tree, settled: SettledObjects, entries: "_Entries", computed: list[Entry]
    ) -> Tree:
        removed = set(settled.removed)
        for rows in settled.rows:
            removed |= rows.ours - rows.theirs
        self._added += computed
        changes: list[Change] = [*map(Tombstone, removed), *await entries.of(settled.added), *computed]
        return await self._repository.trees.apply(ours, changes_table(changes), self._on.mint)

    # --- commits -----------------------------------------------------------------------------------------------------
    def _look_up(self, id: str) -> Commit:
        made = self._made.get(id)
        return self._on.look_up(id) if made is None else made[0]

    async def _tree(self, id: str) -> Tree:
        made = self._made.get(id)
        return await self._repository.tree(self._on.look_up(id)) if made is None else made[1]

    def _is_mixed(self, did: Step, *lines: Sequence[str]) -> bool:
        """Returns whether one of these commits may hold objects or rows of commits that are not its ancestors."""
        refs = self._repository.folded()
        return bool(did.akin) or any(refs.has_brought(id) for line in lines for id in line)

    def _commits_elsewhere(self, bases: Sequence[str], *lines: Sequence[str]) -> list[str]:
        """Returns the commits of all other histories since the merge base, children first: objects brought from one
        went through its steps."""
        refs = self._repository.folded()
        heads = {branch.head for branch in refs.branches()} | {id for _, id in refs.tags()}
        found = {id for head in heads for base in bases[:1] for id in only_left(self._look_up, head, base)}
        return sorted(found.difference(*lines), key=lambda id: (-self._look_up(id).generation, id))

    async def _history(self, ids: Sequence[str], bases: Sequence[str]) -> History:
        points: list[Point] = []
        inside, outside = set(ids), dict[str, Tree]()
        after: dict[str, set[str]] = {base: {base} for base in bases}  # by commit, the bases that it descends from
        for id in reversed(ids):
            parents = self._look_up(id).parents
            after[id] = set().union(*(after.get(parent, ()) for parent in parents))
            points.append(Point(id, parents, await self._tree(id), len(after[id]) == len(bases)))
            outside |= {parent: await self._tree(parent) for parent in parents if parent not in inside}
        return History(self._repository.trees, points, outside)


class _Sides(NamedTuple):
    base: Tree
    ours: Tree
    theirs: Tree


class _Change:
    """The history of a single change."""

    def __init__(self, did: Step, sides: _Sides) -> None:
        self._did = did
        self.where = dict.fromkeys(did.removed, sides.base) | dict.fromkeys(did.added, sides.theirs)

    async def steps(self) -> list[Step]:
        return [self._did]

    async def side(self, now: Objects, objects: Objects, base: Objects) -> Side:
        return Side(now)


class _Entries:
    """Looks up objects in the three trees, or where a history has seen them."""

    def __init__(self, trees: Sequence[Tree], histories: "Sequence[History | _Change]") -> None:
        self._trees = trees
        self._where: dict[str, Tree] = {}
        for history in histories:
            self._where |= history.where

    async def of(self, objects: Objects) -> list[Entry]:
        return [await self._one(path) for path in sorted(objects)]

    async def _one(self, path: str) -> Entry:
        for tree in (*((self._where[path],) if path in self._where else ()), *self._trees):
            entry: Entry | None = await tree.get(path)
            if entry is not None:
                return entry
        raise AssertionError(f"{path} is in none of the trees that should hold it")
