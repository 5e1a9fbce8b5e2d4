"""Differences, counted and summed up by folder: between refs, with two dots and three, and of staged changes."""

import pytest

from lochan.errors import Invalid
from lochan.tree.diff import DiffCounts
from lochan.versioning.revisions import diff
from lochan.versioning.revisions.diff import RollUp
from lochan.versioning.revisions.log import LogRequest, walk
from lochan.versioning.revisions.log import history as log_of
from tests.run import run
from tests.unit.versioning.history import History, history


async def parted() -> History:
    repo = await history()
    await repo.write("main", "a/x/1=1 a/x/2=1 a/y=1 b=1")
    await repo.branch("dev")
    await repo.write("dev", "a/x/1=22 a/x/3=333 -b c/z/1=1")
    await repo.write("main", "main-only=1")
    return repo


def test_two_dots_and_three() -> None:
    async def play() -> None:
        repo = await parted()
        two = await diff.count(repo.repository, "main", "dev")
        three = await diff.count(repo.repository, "main", "dev", three_dot=True)
        assert (two, three) == (DiffCounts(2, 2, 1, 6, 3), DiffCounts(2, 1, 1, 6, 2))
        found = {each.path: each.kind async for each in diff.diff(repo.repository, "main", "dev", three_dot=True)}
        assert found == {"a/x/1": "changed", "a/x/3": "added", "b": "removed", "c/z/1": "added"}

    run(play())


@pytest.mark.parametrize(
    ("by", "prefix", "expected"),
    [
        (
            RollUp(),
            "",
            {"a/": DiffCounts(1, 0, 1, 5, 1), "b": DiffCounts(0, 1, 0, 0, 1), "c/": DiffCounts(1, 0, 0, 1, 0)},
        ),
        (
            RollUp(depth=2),
            "",
            {"a/x/": DiffCounts(1, 0, 1, 5, 1), "b": DiffCounts(0, 1, 0, 0, 1), "c/z/": DiffCounts(1, 0, 0, 1, 0)},
        ),
        (RollUp(depth=9), "c", {"c/z/1": DiffCounts(1, 0, 0, 1, 0)}),
        (RollUp(), "a/", {"a/x/": DiffCounts(1, 0, 1, 5, 1)}),
        (
            RollUp("x/"),
            "",
            {"a/x/": DiffCounts(1, 0, 1, 5, 1), "b": DiffCounts(0, 1, 0, 0, 1), "c/z/1": DiffCounts(1, 0, 0, 1, 0)},
        ),
    ],
    ids=["folders", "two deep", "deeper than there is", "under a prefix", "another delimiter"],
)
def test_rolled_up(by: RollUp, prefix: str, expected: dict[str, DiffCounts]) -> None:
    async def play() -> None:
        repo = await parted()
        rolled = await diff.roll_up(repo.repository, "main", "dev", by, prefix=prefix, three_dot=True)
        assert rolled == expected
        await repo.branch("again", "main~1")
        await repo.stage("again", "a/x/1=22 a/x/3=333 -b c/z/1=1")
        assert await diff.roll_up_staged(repo.repository, "again", by, prefix=prefix) == expected

    run(play())


def test_what_is_staged_is_counted_with_what_goes() -> None:
    async def play() -> None:
        repo = await parted()
        await repo.stage("main", "a/x/1=22 new=1 -b")
        assert await diff.count_staged(repo.repository, "main") == DiffCounts(1, 1, 1, 3, 2)
        assert await diff.count_staged(repo.repository, "main", prefix="nothing/") == DiffCounts()
        assert await diff.roll_up_staged(repo.repository, "main", RollUp(), prefix="nothing/") == {}
        assert [tuple(each) for each in await diff.staged_changes(repo.repository, "main")] == [
            ("a/x/1", "changed", 2),
            ("b", "removed", 0),
            ("new", "added", 1),
        ]

    run(play())


def test_a_roll_up_needs_a_delimiter() -> None:
    async def play() -> None:
        repo = await parted()
        with pytest.raises(Invalid, match="delimiter"):
            await diff.roll_up(repo.repository, "main", "dev", RollUp(""))
        with pytest.raises(Invalid, match="depth"):
            await diff.roll_up(repo.repository, "main", "dev", RollUp(depth=0))

    run(play())


def test_a_log_by_what_was_touched() -> None:
    async def play() -> None:
        repo = await history()
        await repo.write("main", "a=1 p/x=1", "first")
        await repo.branch("dev")
        await repo.write("dev", "a=2", "on dev")
        await repo.write("main", "p/x=2", "on main")
        await repo.write("main", "q=1", "elsewhere")
        await repo.merge("dev", "main")

        async def messages(request: LogRequest) -> list[str]:
            return [commit.message async for _, commit in log_of(repo.repository, "main", request)]

        assert await messages(LogRequest(paths=("a",))) == ["on dev", "first"]
        assert await messages(LogRequest(prefixes=("p/",))) == ["on main", "first"]
        both = await messages(LogRequest(paths=("a",), prefixes=("p/",)))
        assert both[0] == "Merge 'dev' into 'main'", "all of it together is as in neither parent"
        assert set(both[1:]) == {"on dev", "on main", "first"}
        by_first = await messages(LogRequest(paths=("a",), first_parent=True))
        assert by_first == ["Merge 'dev' into 'main'", "first"], "along this line, the merge brought it"
        lines = [commit.message async for _, commit, _ in walk(repo.repository, "main")]
        assert lines[1:] == ["on dev", "elsewhere", "on main", "first", "Repository created"]

    run(play())
