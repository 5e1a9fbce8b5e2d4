"""Rebase on real repositories: every commit is replayed and all of them land as one event, or nothing does."""

import asyncio

import pytest

from lochan.errors import Dirty, NothingToDo, SameRef
from lochan.formats.record import Actor
from lochan.versioning.heads import rebase as module
from lochan.versioning.heads.rebase import RebaseOutcome, ReplayConflicts, rebase
from tests.run import run
from tests.unit.versioning.history import History, history

BOB = Actor("bob", "test", "there")


async def parted() -> History:
    repo = await history()
    await repo.write("main", "a=0 b=0", "base")
    await repo.branch("dev")
    await repo.write("dev", "a=1", "one")
    await repo.write("dev", "c=1", "two")
    await repo.write("main", "m=1", "on main")
    return repo


async def rebased(repo: History, branch: str = "dev", onto: str = "main") -> RebaseOutcome:
    return await rebase(repo.repository, branch, onto, actor=BOB)


def test_every_commit_is_replayed_in_one_event() -> None:
    async def play() -> None:
        repo = await parted()
        refs, number = await repo.repository.refs()
        before = refs.commit(refs.branch("dev").head)
        done = await rebased(repo)
        assert (done.replayed, done.dropped) == (2, 0)
        assert await repo.messages("dev") == ["two", "one", "on main", "base", "Repository created"]
        assert await repo.read("dev") == "a=1 b=0 c=1 m=1"
        refs, after = await repo.repository.refs()
        assert after == number + 1
        assert refs.branch("dev").head == done.head
        commit = refs.commit(done.head)
        assert (commit.author, commit.committer, commit.date) == (before.author, "bob", before.date)

    run(play())


def test_a_conflict_names_the_commit_and_the_paths_and_moves_nothing() -> None:
    async def play() -> None:
        repo = await parted()
        await repo.write("main", "c=9", "the same path")
        head = (await repo.repository.resolve("dev")).commit_id
        _, number = await repo.repository.refs()
        with pytest.raises(ReplayConflicts, match=f"{head[:12]}.*two.*1 path was changed") as caught:
            await rebased(repo)
        assert tuple(caught.value.paths) == ("c",)
        assert (await repo.repository.resolve("dev")).commit_id == head
        assert (await repo.repository.refs())[1] == number

    run(play())


def test_what_is_there_already_is_dropped() -> None:
    async def play() -> None:
        repo = await parted()
        await repo.write("main", "a=1", "one, by somebody else")
        done = await rebased(repo)
        assert (done.replayed, done.dropped) == (1, 1)
        assert (await repo.messages("dev"))[:2] == ["two", "one, by somebody else"]

    run(play())


def test_where_all_is_there_already_the_branch_goes_along() -> None:
    async def play() -> None:
        repo = await parted()
        await repo.write("main", "a=1 c=1", "all of it")
        done = await rebased(repo)
        assert (done.replayed, done.dropped) == (0, 2)
        assert done.head == (await repo.repository.resolve("main")).commit_id
        await repo.write("main", "a=2")
        assert (await rebased(repo)).head == (await repo.repository.resolve("main")).commit_id

    run(play())


def test_merges_are_left_out_and_what_they_brought_is_not() -> None:
    async def play() -> None:
        repo = await parted()
        await repo.branch("side", "dev~1")
        await repo.write("side", "s=1", "aside")
        await repo.merge("side", "dev")
        await repo.write("dev", "d=1", "three")
        done = await rebased(repo)
        assert done.replayed == 4
        messages = await repo.messages("dev")
        assert messages == ["three", "aside", "two", "one", "on main", "base", "Repository created"]
        assert await repo.read("dev") == "a=1 b=0 c=1 d=1 m=1 s=1"

    run(play())


def test_nothing_to_do() -> None:
    async def play() -> None:
        repo = await parted()
        await rebased(repo)
        with pytest.raises(NothingToDo):
            await rebased(repo)
        with pytest.raises(NothingToDo):
            await rebased(repo, onto="main~1")
        with pytest.raises(SameRef):
            await rebased(repo, onto="dev")

    run(play())


def test_a_merge_of_onto_alone_goes() -> None:
    async def play() -> None:
        repo = await parted()
        await repo.merge("main", "dev")
        done = await rebased(repo)
        assert done.replayed == 2
        assert await repo.messages("dev") == ["two", "one", "on main", "base", "Repository created"]

    run(play())


def test_refused_on_staged_changes() -> None:
    async def play() -> None:
        repo = await parted()
        await repo.stage("dev", "x=1")
        with pytest.raises(Dirty):
            await rebased(repo)

    run(play())


def test_a_branch_that_moved_meanwhile_is_replayed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        repo = await parted()
        replay = module._replay_commits
        rounds = 0

        async def slow(*words: object) -> object:
            nonlocal rounds
            rounds += 1
            if rounds == 1:
                await repo.write("dev", "late=1", "late")
            return await replay(*words)  # type: ignore[arg-type]

        monkeypatch.setattr(module, "_replay_commits", slow)
        done = await rebased(repo)
        assert rounds == 2
        assert done.replayed == 3
        assert (await repo.messages("dev"))[:4] == ["late", "two", "one", "on main"]

    run(play())


def test_two_at_once_both_land() -> None:
    async def play() -> None:
        repo = await parted()
        await repo.branch("other", "main")
        await repo.write("other", "o=1", "other")
        await repo.write("main", "p=1", "more on main")
        results = await asyncio.gather(rebased(repo), rebased(repo, onto="other"))
        assert (await repo.repository.resolve("dev")).commit_id in {done.head for done in results}
        assert await repo.read("dev") == "a=1 b=0 c=1 m=1 o=1 p=1", "the second replays what the first brought along"

    run(play())
