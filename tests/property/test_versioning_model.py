"""Every verb against dictionaries, in random order, across restarts: the lake and the model must always agree."""

from collections.abc import AsyncIterator

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lochan.errors import AlreadyExists, Conflict, Invalid, LochanError, NotFound, Refused
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from lochan.tree.strategy import Strategy
from lochan.versioning import branching, differing, moving, objects
from lochan.versioning.commit import Wish, commit
from lochan.versioning.graph import merge_bases
from lochan.versioning.moving import PathConflicts
from lochan.versioning.open_repository import OpenRepository
from tests.run import run

ANN = Actor("ann", "test", "here")
Files = dict[str, bytes]

_paths = st.sampled_from(["a", "a/b", "a/c", "b", "ü/x", "z"])
_branches = st.sampled_from(["main", "dev", "other"])
_steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), _branches, _paths, st.binary(max_size=3)),
        st.tuples(st.just("delete"), _branches, _paths),
        st.tuples(st.just("copy"), _branches, _paths, _paths),
        st.tuples(st.just("commit"), _branches, st.sampled_from(["", "a/**", "?"])),
        st.tuples(st.just("branch"), _branches, _branches),
        st.tuples(st.just("drop"), _branches),
        st.tuples(st.just("restore"), _branches),
        st.tuples(st.just("reset"), _branches),
        st.tuples(st.just("back"), _branches),
        st.tuples(st.just("merge"), _branches, _branches, st.sampled_from(["default", "source-wins", "dest-wins"])),
        st.tuples(st.just("revert"), _branches),
        st.tuples(st.just("pick"), _branches, _branches),
        st.tuples(st.just("reopen")),
    ),
    max_size=25,
)


class Model:
    """What a repository should be: trees by commit, and for each branch its head and what is staged."""

    def __init__(self, first: str) -> None:
        self.trees: dict[str, Files] = {first: {}}
        self.parents: dict[str, tuple[str, ...]] = {first: ()}
        self.heads = {"main": first}
        self.staged: dict[str, dict[str, bytes | None]] = {"main": {}}
        self.dropped: dict[str, list[tuple[str, dict[str, bytes | None]]]] = {}

    def view(self, branch: str) -> Files:
        return _applied(self.trees[self.heads[branch]], self.staged[branch])

    def land(self, branch: str, id: str, tree: Files, *more: str) -> None:
        self.trees[id] = tree
        self.parents[id] = (self.heads[branch], *more)
        self.heads[branch] = id


def _applied(tree: Files, changes: dict[str, bytes | None]) -> Files:
    merged = {**tree, **changes}
    return {path: data for path, data in merged.items() if data is not None}


def _merged(base: Files, ours: Files, theirs: Files, strategy: str) -> Files | None:
    """None: a conflict."""
    out = dict(ours)
    for path in {*base, *ours, *theirs}:
        b, o, t = base.get(path), ours.get(path), theirs.get(path)
        if t in (b, o):
            continue
        if o != b and strategy == "default":
            return None
        if o != b and strategy == "dest-wins":
            continue
        if t is None:
            out.pop(path, None)
        else:
            out[path] = t
    return out


class Play:
    def __init__(self, lake: Lake, repository: OpenRepository, model: Model) -> None:
        self.lake = lake
        self.repository = repository
        self.model = model

    async def put(self, branch: str, path: str, data: bytes) -> None:
        await objects.put(self.repository, branch, path, _once(data), actor=ANN)
        self.model.staged[branch][path] = data

    async def delete(self, branch: str, path: str) -> None:
        deleted = await objects.delete(self.repository, branch, [path], actor=ANN)
        there = path in self.model.view(branch)
        assert deleted == ([path] if there else [])
        if there:
            self.model.staged[branch][path] = None

    async def copy(self, branch: str, source: str, target: str) -> None:
        await objects.copy(self.repository, branch, source, branch, target, actor=ANN)
        self.model.staged[branch][target] = self.model.view(branch)[source]

    async def commit(self, branch: str, only: str) -> None:
        id, _ = await commit(self.repository, branch, Wish("c", paths=[only] if only else []), actor=ANN)
        staged = self.model.staged[branch]
        taken = {path: data for path, data in staged.items() if _fits(only, path)}
        self.model.land(branch, id, _applied(self.model.trees[self.model.heads[branch]], taken))
        self.model.staged[branch] = {path: data for path, data in staged.items() if path not in taken}

    async def branch(self, name: str, source: str) -> None:
        await branching.create_branch(self.repository, name, source, actor=ANN)
        self.model.heads[name], self.model.staged[name] = self.model.heads[source], {}

    async def drop(self, name: str) -> None:
        await branching.delete_branch(self.repository, name, "main", actor=ANN)
        self.model.dropped.setdefault(name, []).append((self.model.heads.pop(name), self.model.staged.pop(name)))

    async def restore(self, name: str) -> None:
        await branching.restore_branch(self.repository, name, actor=ANN)
        self.model.heads[name], self.model.staged[name] = self.model.dropped[name].pop()

    async def reset(self, name: str) -> None:
        await branching.reset_staged(self.repository, name, actor=ANN)
        self.model.staged[name] = {}

    async def back(self, name: str) -> None:
        await branching.hard_reset(self.repository, name, f"{name}~1", actor=ANN)
        self.model.heads[name] = self.model.parents[self.model.heads[name]][0]
        self.model.staged[name] = {}

    async def merge(self, source: str, branch: str, strategy: str) -> None:
        model, expected = self.model, None
        if source in model.heads and branch in model.heads:
            refs, _ = await self.repository.refs()
            base = merge_bases(refs.commit, model.heads[branch], model.heads[source])[0]
            ours, others = model.trees[model.heads[branch]], model.trees[model.heads[source]]
            expected = _merged(model.trees[base], ours, others, strategy)
        theirs = model.heads.get(source, "")
        try:
            id = await moving.merge(self.repository, source, branch, actor=ANN, strategy=Strategy(strategy))
        except PathConflicts:
            assert expected is None
            return
        assert expected is not None
        model.land(branch, id, expected, theirs)

    async def revert(self, branch: str) -> None:
        await self._undo_or_pick(branch, branch, undo=True)

    async def pick(self, branch: str, other: str) -> None:
        await self._undo_or_pick(branch, other, undo=False)

    async def _undo_or_pick(self, branch: str, ref: str, *, undo: bool) -> None:
        model = self.model
        verb = moving.revert if undo else moving.cherry_pick
        expected: Files | None = None
        id = model.heads.get(ref, "")
        if model.parents.get(id) and branch in model.heads:
            before, after = model.trees[model.parents[id][0]], model.trees[id]
            base, theirs = (after, before) if undo else (before, after)
            expected = _merged(base, model.trees[model.heads[branch]], theirs, "default")
        try:
            landed = await verb(self.repository, branch, ref, actor=ANN)
        except PathConflicts:
            assert expected is None
            return
        assert expected is not None
        model.land(branch, landed, expected)

    async def reopen(self) -> None:
        await self.repository.close()
        self.repository = await self.lake.open_repository("demo-repo")

    async def agree(self) -> None:
        refs, _ = await self.repository.refs()
        assert {b.name: b.head for b in refs.branches()} == self.model.heads
        for name in self.model.heads:
            assert await self._read(name) == self.model.view(name)
            assert await self._read(name + "@") == self.model.trees[self.model.heads[name]]
            staged = {u.path for u in await differing.staged(self.repository, name)}
            assert staged == {p for p, d in self.model.staged[name].items() if d is not None or p in self._head(name)}

    def _head(self, name: str) -> Files:
        return self.model.trees[self.model.heads[name]]

    async def _read(self, ref: str) -> Files:
        found = {}
        for entry in (await objects.list_objects(self.repository, ref)).entries:
            found[entry.path] = b"".join([chunk async for chunk in objects.read(self.repository, entry)])
        return found


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(_steps)
def test_the_lake_agrees_with_the_model(steps: list[tuple[str, ...]]) -> None:
    run(_play(steps))


async def _play(steps: list[tuple[str, ...]]) -> None:
    lake = await Lake.create(MemoryStore())
    await lake.create_repository("demo-repo", actor=ANN)
    repository = await lake.open_repository("demo-repo")
    refs, _ = await repository.refs()
    play = Play(lake, repository, Model(refs.branch("main").head))
    for verb, *words in steps:
        try:
            await getattr(play, verb)(*words)
        except (NotFound, AlreadyExists, Invalid, Refused, KeyError, IndexError) as error:
            # Refused by the lake: then nothing may have changed, which `agree` sees. A KeyError is the model's refusal
            # of what the lake must have refused before.
            assert isinstance(error, LochanError), f"the lake did {verb} {words}, the model cannot"
        except Conflict as error:
            raise AssertionError(f"{verb} {words}: nobody else is here") from error
        await play.agree()
    await play.repository.close()
    await lake.close()


def _fits(only: str, path: str) -> bool:
    return {"": True, "a/**": path.startswith("a/"), "?": len(path) == 1}[only]


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data
