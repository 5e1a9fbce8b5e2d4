"""Rebase on real repositories: every commit replayed, all of it landed as one event, or nothing."""

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
    told = await history()
    await told.write("main", "a=0 b=0", "base")
    await told.branch("dev")
    await told.write("dev", "a=1", "one")
    await told.write("dev", "c=1", "two")
    await told.write("main", "m=1", "on main")
    return told


async def rebased(told: History, branch: str = "dev", onto: str = "main") -> RebaseOutcome:
    return await rebase(told.repository, branch, onto, actor=BOB)


def test_every_commit_is_replayed_in_one_event() -> None:
    async def play() -> None:
        told = await parted()
        refs, number = await told.repository.refs()
        before = refs.commit(refs.branch("dev").head)
        done = await rebased(told)
        assert (done.replayed, done.dropped) == (2, 0)
        assert await told.messages("dev") == ["two", "one", "on main", "base", "Repository created"]
        assert await told.read("dev") == "a=1 b=0 c=1 m=1"
        refs, after = await told.repository.refs()
        assert after == number + 1
        assert refs.branch("dev").head == done.head
        commit = refs.commit(done.head)
        assert (commit.author, commit.committer, commit.date) == (before.author, "bob", before.date)

    run(play())


def test_a_conflict_names_the_commit_and_the_paths_and_moves_nothing() -> None:
    async def play() -> None:
        told = await parted()
        await told.write("main", "c=9", "the same path")
        head = (await told.repository.resolve("dev")).commit_id
        _, number = await told.repository.refs()
        with pytest.raises(ReplayConflicts, match=f"{head[:12]}.*two.*1 path was changed") as caught:
            await rebased(told)
        assert tuple(caught.value.paths) == ("c",)
        assert (await told.repository.resolve("dev")).commit_id == head
        assert (await told.repository.refs())[1] == number

    run(play())


def test_what_is_there_already_is_dropped() -> None:
    async def play() -> None:
        told = await parted()
        await told.write("main", "a=1", "one, by somebody else")
        done = await rebased(told)
        assert (done.replayed, done.dropped) == (1, 1)
        assert (await told.messages("dev"))[:2] == ["two", "one, by somebody else"]

    run(play())


def test_where_all_is_there_already_the_branch_goes_along() -> None:
    async def play() -> None:
        told = await parted()
        await told.write("main", "a=1 c=1", "all of it")
        done = await rebased(told)
        assert (done.replayed, done.dropped) == (0, 2)
        assert done.head == (await told.repository.resolve("main")).commit_id
        await told.write("main", "a=2")
        assert (await rebased(told)).head == (await told.repository.resolve("main")).commit_id

    run(play())


def test_merges_are_left_out_and_what_they_brought_is_not() -> None:
    async def play() -> None:
        told = await parted()
        await told.branch("side", "dev~1")
        await told.write("side", "s=1", "aside")
        await told.merge("side", "dev")
        await told.write("dev", "d=1", "three")
        done = await rebased(told)
        assert done.replayed == 4
        messages = await told.messages("dev")
        assert messages == ["three", "aside", "two", "one", "on main", "base", "Repository created"]
        assert await told.read("dev") == "a=1 b=0 c=1 d=1 m=1 s=1"

    run(play())


def test_nothing_to_do() -> None:
    async def play() -> None:
        told = await parted()
        await rebased(told)
        with pytest.raises(NothingToDo):
            await rebased(told)
        with pytest.raises(NothingToDo):
            await rebased(told, onto="main~1")
        with pytest.raises(SameRef):
            await rebased(told, onto="dev")

    run(play())


def test_a_merge_of_onto_alone_goes() -> None:
    async def play() -> None:
        told = await parted()
        await told.merge("main", "dev")
        done = await rebased(told)
        assert done.replayed == 2
        assert await told.messages("dev") == ["two", "one", "on main", "base", "Repository created"]

    run(play())


def test_refused_on_staged_changes() -> None:
    async def play() -> None:
        told = await parted()
        await told.stage("dev", "x=1")
        with pytest.raises(Dirty):
            await rebased(told)

    run(play())


def test_a_branch_that_moved_meanwhile_is_replayed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        told = await parted()
        replay = module._replayed
        rounds = 0

        async def slow(*words: object) -> object:
            nonlocal rounds
            rounds += 1
            if rounds == 1:
                await told.write("dev", "late=1", "late")
            return await replay(*words)  # type: ignore[arg-type]

        monkeypatch.setattr(module, "_replayed", slow)
        done = await rebased(told)
        assert rounds == 2
        assert done.replayed == 3
        assert (await told.messages("dev"))[:4] == ["late", "two", "one", "on main"]

    run(play())


def test_two_at_once_both_land() -> None:
    async def play() -> None:
        told = await parted()
        await told.branch("other", "main")
        await told.write("other", "o=1", "other")
        await told.write("main", "p=1", "more on main")
        results = await asyncio.gather(rebased(told), rebased(told, onto="other"))
        assert (await told.repository.resolve("dev")).commit_id in {done.head for done in results}
        assert await told.read("dev") == "a=1 b=0 c=1 m=1 o=1 p=1", "the second replays what the first brought along"

    run(play())
