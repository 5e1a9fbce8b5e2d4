"""The base of a merge after a criss-cross: both best common ancestors count, not only one."""

import pytest

from lochan.errors import Invalid
from lochan.formats.commit import Commit
from lochan.tree.merge import DEST, Strategy, merge
from lochan.tree.tree import Tree
from lochan.versioning.heads import joins as merge_base
from lochan.versioning.heads.joins import base_tree
from lochan.versioning.heads.moves import merge as merge_branches
from lochan.versioning.revisions.graph import merge_bases
from tests.run import run
from tests.unit.versioning.history import ANN, History, history


async def criss_cross(repo: History, start: str, ours: str, theirs: str) -> None:
    """Both branches merge the earlier head of the other: two best common ancestors. Ours wins on each side."""
    await repo.write("main", start)
    await cross(repo, ours, theirs)


async def cross(repo: History, ours: str, theirs: str, number: int = 1) -> None:
    if number == 1:
        await repo.branch("dev")
    await repo.write("main", ours)
    await repo.write("dev", theirs)
    await repo.branch(f"main{number}", "main")
    await repo.branch(f"dev{number}", "dev")
    for source, target in ((f"dev{number}", "main"), (f"main{number}", "dev")):
        await merge_branches(repo.repository, source, target, actor=ANN, strategy=Strategy(DEST))


async def base_of(repo: History, one: str = "main", other: str = "dev") -> tuple[Tree, list[str]]:
    refs, mint = await repo.repository.refs()
    ids = [(await repo.repository.resolve(ref)).commit_id for ref in (one, other)]
    tree = await base_tree(repo.repository.trees, repo.repository.tree, refs.recorded, ids[0], ids[1], mint)
    return tree, merge_bases(refs.commit, *ids)


async def merged(repo: History, base: Tree) -> str:
    """The result of a merge over that base, or its conflicting paths."""
    refs, mint = await repo.repository.refs()
    sides = [await repo.repository.tree(refs.commit(refs.branch(name).head)) for name in ("main", "dev")]
    result = await merge(repo.repository.trees, base, *sides, mint=mint)
    return await repo.read_tree(result.tree) if result.tree else f"? {' '.join(result.first['path'].to_pylist())}"


def test_one_base_is_its_own_tree() -> None:
    async def play() -> None:
        repo = await history()
        await repo.write("main", "a=0")
        await repo.branch("dev")
        await repo.write("main", "a=1")
        await repo.write("dev", "b=1")
        tree, bases = await base_of(repo)
        assert len(bases) == 1
        assert await repo.read_tree(tree) == "a=0"

    run(play())


def test_what_was_changed_back_stays_so() -> None:
    async def play() -> None:
        repo = await history()
        await criss_cross(repo, "f=0 g=0", "f=1", "g=1")
        await repo.write("main", "f=0 g=0 h=0")
        await repo.write("dev", "i=0")
        base, bases = await base_of(repo)
        assert len(bases) == 2
        assert await repo.read_tree(base) == "f=1 g=1"
        assert await merged(repo, base) == "f=0 g=0 h=0 i=0"
        refs, _ = await repo.repository.refs()
        alone = {await merged(repo, await repo.repository.tree(refs.commit(id))) for id in bases}
        assert alone == {"f=1 g=0 h=0 i=0", "f=0 g=1 h=0 i=0"}, "either base alone takes half of it back again"

    run(play())


def test_a_conflict_of_the_bases_is_asked_about_again() -> None:
    async def play() -> None:
        repo = await history()
        await criss_cross(repo, "f=0 g=0", "f=1", "f=2")
        base, bases = await base_of(repo)
        assert await repo.read_tree(base) == "f=0 g=0"
        assert await merged(repo, base) == "? f"
        refs, _ = await repo.repository.refs()
        alone = [await merged(repo, await repo.repository.tree(refs.commit(id))) for id in bases]
        assert sorted(alone) == ["f=1 g=0", "f=2 g=0"], "either base alone decides without asking"

    run(play())


def test_a_criss_cross_below_a_criss_cross() -> None:
    async def play() -> None:
        repo = await history()
        await criss_cross(repo, "f=0 g=0", "f=1", "g=1")
        await cross(repo, "f=2", "g=2", 2)
        base, _ = await base_of(repo)
        assert await repo.read_tree(base) == "f=2 g=2"
        await cross(repo, "f=3", "f=4 g=3", 3)
        base, bases = await base_of(repo)
        assert len(bases) == 2
        assert await repo.read_tree(base) == "f=2 g=3", "what their own base had stands, where the two conflict"

    run(play())


def test_three_bases() -> None:
    async def play() -> None:
        repo = await history()
        await repo.write("main", "a=0 b=0 c=0")
        for name in "xyz":
            await repo.branch(name)
        for name, change in zip("xyz", ("a=1", "b=1", "c=1"), strict=True):
            await repo.write(name, change)
        for target in ("left", "right"):
            await repo.branch(target, "x")
            await repo.merge("y", target)
            await repo.write(target, f"{target}=1")
            await repo.merge("z", target)
        base, bases = await base_of(repo, "left", "right")
        assert len(bases) == 3
        assert await repo.read_tree(base) == "a=1 b=1 c=1"

    run(play())


def test_too_deep_the_first_base_stands_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        repo = await history()
        await criss_cross(repo, "f=0 g=0", "f=1", "g=1")
        monkeypatch.setattr(merge_base, "_DEPTH_MAX", 0)
        base, bases = await base_of(repo)
        refs, _ = await repo.repository.refs()
        assert base.ref.id == refs.commit(bases[0]).tree

    run(play())


def test_no_history_in_common() -> None:
    async def play() -> None:
        repo = await history()
        refs, mint = await repo.repository.refs()
        first = refs.branch("main").head
        other = Commit((), "", "", "another first", 0, {}, "", "", 0)
        commits = {first: refs.commit(first), other.id: other}
        with pytest.raises(Invalid, match="no history in common"):
            await base_tree(repo.repository.trees, repo.repository.tree, commits.__getitem__, first, other.id, mint)

    run(play())
