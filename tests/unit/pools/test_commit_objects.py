"""Objects land on real pools: each move on whatever head there is, or not at all."""

import asyncio

import pytest

from lochan.errors import Ambiguous, ConcurrentCommit, Gone, Invalid, NotFound, NothingToDo, Refused
from lochan.formats.collection_events import Opened, PlanEnded, Planned
from lochan.formats.repository_events import Staged
from lochan.pools.commit_objects import Swap, add_objects, change_objects, replace_objects
from lochan.pools.objects import object_id
from lochan.tree.tree import Tree
from lochan.versioning.branches import protect
from lochan.versioning.heads.joins import MoveBase
from lochan.versioning.heads.moves import CommitMessage
from lochan.versioning.job_hold import hold_ids, open_job
from lochan.versioning.state.collection import mint_of
from tests.run import run
from tests.unit.pools.place import ANN, Pool, once, pool


async def collect(logs: Pool) -> None:
    refs, number = await logs.repository.refs()
    plan = await logs.repository.submit(ANN, Planned(refs.collection.plan, number, "list"))
    await logs.repository.submit(ANN, PlanEnded(plan, "reported"))


def test_a_load_is_one_commit_that_says_what_it_was_told() -> None:
    async def play() -> None:
        logs = await pool()
        entries = [await logs.write("ab"), await logs.write("c")]
        head = await add_objects(
            logs.repository, "main", entries, CommitMessage("new", {"run": "1"}, "bob", 7), actor=ANN
        )
        commit = (await logs.repository.resolve("main")).commit
        assert (await logs.head(), commit.message, commit.author, commit.date) == (head, "new", "bob", 7)
        assert commit.metadata == {"run": "1"}
        assert await logs.rows("main") == "a b c"
        with pytest.raises(Invalid, match="no objects"):
            await add_objects(logs.repository, "main", [], actor=ANN)

    run(play())


def test_a_protected_branch_takes_no_loads_and_no_deletes() -> None:
    async def play() -> None:
        logs = await pool()
        entries = [await logs.write("ab")]
        await add_objects(logs.repository, "main", entries, actor=ANN)
        await protect(logs.repository, "main", actor=ANN)

        async def decide(on: MoveBase, tree: Tree) -> Swap:
            return Swap(entries, [])

        for why in ("load", "delete"):
            with pytest.raises(Refused, match="protect"):
                await change_objects(logs.repository, "main", why, decide, actor=ANN)
        assert await logs.rows("main") == "a b"

    run(play())


@pytest.mark.thorough
def test_loads_at_once_all_land() -> None:
    async def play() -> None:
        logs = await pool()
        await asyncio.gather(*(logs.load("main", row) for row in "abcdefgh"))
        assert await logs.rows("main") == "a b c d e f g h"
        assert (await logs.repository.resolve("main")).commit.generation == 8

    run(play())


def test_a_compaction_lands_on_later_loads_but_not_without_its_inputs() -> None:
    async def play() -> None:
        logs = await pool()
        await logs.load("main", "a b", "c")
        removed = await logs.objects("main")
        added = await logs.write("abc")
        await logs.load("main", "d")
        await replace_objects(logs.repository, "main", Swap(removed, [added]), actor=ANN)
        assert await logs.rows("main") == "a b c d"
        again = await logs.write("abc")
        before = await logs.head()
        with pytest.raises(ConcurrentCommit, match="is no longer on the branch"):
            await replace_objects(logs.repository, "main", Swap(removed, [again]), actor=ANN)
        assert await logs.head() == before

    run(play())


def test_what_depends_on_rows_is_decided_anew_after_a_lost_race() -> None:
    async def play() -> None:
        logs = await pool()
        await logs.load("main", "a b")
        tries = 0

        async def without_b(on: MoveBase, tree: Tree) -> Swap:
            nonlocal tries
            tries += 1
            if tries == 1:
                await logs.load("main", "b c")
            found = await logs.objects(on.id)
            hit = [entry for entry in found if "b" in await logs.rows_of([entry])]
            return Swap(hit, [await logs.write(row for row in await logs.rows_of(hit) if row != "b")])

        await change_objects(logs.repository, "main", "delete", without_b, actor=ANN)
        assert tries == 2
        assert await logs.rows("main") == "a c"

    run(play())


def test_objects_are_deleted_by_id_or_its_beginning() -> None:
    async def play() -> None:
        logs = await pool()
        one, two, three = await logs.load("main", "a", "b", "c")
        await logs.delete("main", one, one)
        assert await logs.rows("main") == "b c"
        common = next(n for n in range(27) if two[n] != three[n])
        with pytest.raises(Ambiguous, match=f"{two}, {three}|{three}, {two}"):
            await logs.delete("main", two[:common])
        await logs.delete("main", two[: common + 1], f"{three}.parquet")
        assert await logs.rows("main") == ""
        with pytest.raises(NotFound, match="no data object"):
            await logs.delete("main", one)
        with pytest.raises(Invalid, match="not the id"):
            await logs.delete("main", "a/b")

    run(play())


def test_a_change_that_changes_nothing_is_none() -> None:
    async def play() -> None:
        logs = await pool()
        await logs.load("main", "a")

        async def nothing(on: MoveBase, tree: Tree) -> Swap:
            return Swap()

        with pytest.raises(NothingToDo):
            await change_objects(logs.repository, "main", "delete", nothing, actor=ANN)

    run(play())


def test_objects_written_before_a_collection_are_refused_unless_a_job_holds_them() -> None:
    async def play() -> None:
        logs = await pool()
        early = await logs.write("a")
        await add_objects(logs.repository, "main", [await logs.write("c")], actor=ANN)
        held = await logs.write("b")
        mint = mint_of(held.blocks[0].address)
        await open_job(logs.repository, "job-1", mint, actor=ANN)
        await collect(logs)
        await collect(logs)
        with pytest.raises(Gone, match="before the last garbage collection"):
            await add_objects(logs.repository, "main", [early], actor=ANN)
        await add_objects(logs.repository, "main", [held], actor=ANN, closes=hold_ids("job-1"))
        assert await logs.rows("main") == "b c"
        with pytest.raises(Refused, match="not open"):
            await add_objects(logs.repository, "main", [early], actor=ANN, closes=hold_ids("job-1"))

    run(play())


def test_nothing_is_staged_on_a_pool() -> None:
    async def play() -> None:
        logs = await pool()
        entry = await logs.repository.bodies.write("a.csv", once(b"x"), mint=1)
        with pytest.raises(Refused, match="a pool holds rows"):
            await logs.repository.submit(ANN, Staged("main", (entry,)))
        with pytest.raises(Refused, match="a pool holds rows"):
            await logs.repository.submit(ANN, Opened("x", "link"))
        await logs.load("main", "a")
        (found,) = await logs.objects("main")
        assert (object_id(found.path), len(found.blocks)) == (found.path[:27], 1)

    run(play())
