"""A job lands once, as one commit on whatever head there is, and a second attempt finds it."""

import asyncio
from pathlib import Path

import pytest

from lochan.errors import NothingToDo
from lochan.formats.commit import Commit
from lochan.jobs import job_commit
from lochan.jobs.job_commit import BatchName, earlier_commit, find_commit
from lochan.jobs.messages import TaskMessage
from lochan.versioning.branches import create_branch
from lochan.versioning.heads.moves import CommitMessage, merge
from tests.run import run
from tests.unit.engines.lake import ANN
from tests.unit.jobs.place import JobPool, job_pool

pytestmark = pytest.mark.thorough


async def batch(pool: JobPool, number: int, *, job: str = "q") -> job_commit.LandResult:
    messages = await pool.write([{"k": number, "job": job}])
    return await pool.land(messages, once=BatchName(job, number))


async def keys(pool: JobPool) -> list[int]:
    return [row["k"] for row in await pool.lake.rows("from logs | cut k")]


@pytest.mark.thorough
def test_a_batch_that_comes_again_is_found(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            first = [await batch(pool, number) for number in range(3)]
            again = [await batch(pool, number) for number in (2, 1, 0)]
            assert [each.commit for each in again] == [each.commit for each in reversed(first)]
            assert all(each.again for each in again)
            assert not any(each.again for each in first)
            other = await batch(pool, 1, job="another")
            assert not other.again
            assert await keys(pool) == [0, 1, 1, 2]
            assert await earlier_commit(pool.repository, "main", BatchName("q", 2)) == first[2].commit
            assert await earlier_commit(pool.repository, "main", BatchName("q", 3)) is None
            commit = (await pool.repository.resolve(first[1].commit)).commit
            assert commit.metadata == {"lochan-job": "q", "lochan-batch": "1"}

    run(play())


def test_the_same_batch_by_several_at_once_lands_once(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            done = await asyncio.gather(*(batch(pool, 7) for _ in range(5)))
            assert len({each.commit for each in done}) == 1
            assert sum(not each.again for each in done) == 1
            assert await keys(pool) == [7]

    run(play())


@pytest.mark.thorough
def test_after_a_lost_race_it_lands_on_the_new_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            real = job_commit._tree
            tries = 0

            async def late(*what: object) -> object:
                nonlocal tries
                tries += 1
                if tries == 1:  # somebody else is first, between what was looked at and what is appended
                    await pool.lake.load("logs", [{"k": 100}])
                return await real(*what)  # type: ignore[arg-type]

            messages = await pool.write([{"k": 1}], [{"k": 2}])
            monkeypatch.setattr(job_commit, "_tree", late)
            landed = await pool.land(messages, once=BatchName("j"))
            assert (tries, landed.again) == (2, False)
            assert await keys(pool) == [1, 2, 100]

    run(play())


def test_the_twin_that_lands_between_two_tries_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A single look beforehand would not be enough."""

    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            real = job_commit._tree
            twin: list[job_commit.LandResult] = []

            async def late(*what: object) -> object:
                if not twin:
                    monkeypatch.setattr(job_commit, "_tree", real)
                    twin.append(await batch(pool, 3))
                return await real(*what)  # type: ignore[arg-type]

            messages = await pool.write([{"k": 3}])
            monkeypatch.setattr(job_commit, "_tree", late)
            landed = await pool.land(messages, once=BatchName("q", 3))
            assert landed.again
            assert landed.commit == twin[0].commit
            assert await keys(pool) == [3]

    run(play())


def test_what_a_merge_brought_in_is_found_too(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            await batch(pool, 0)
            await create_branch(pool.repository, "dev", "main", actor=ANN)
            messages = await pool.write([{"k": 1}])
            there = await job_commit.land(pool.repository, "dev", messages, actor=ANN, once=BatchName("q", 1))
            await pool.lake.load("logs", [{"k": 50}])
            await merge(pool.repository, "dev", "main", actor=ANN)
            again = await batch(pool, 1)
            assert (again.commit, again.again) == (there.commit, True)
            assert await keys(pool) == [0, 1, 50]

    run(play())


def test_to_look_for_a_batch_does_not_walk_the_whole_history() -> None:
    history = {
        str(number): Commit(
            parents=(str(number - 1),) if number else (),
            author="",
            committer="",
            message="",
            date=number,
            metadata=BatchName("q", number).metadata(),
            tree="",
            tree_file="",
            generation=number,
        )
        for number in range(1_000)
    }
    looked: list[str] = []

    def look_up(id: str) -> Commit:
        looked.append(id)
        return history[id]

    assert find_commit(look_up, "999", BatchName("q", 1_000)) is None
    assert find_commit(look_up, "999", BatchName("q", 998)) == "998"
    assert find_commit(look_up, "999", BatchName("new", 0, since="998")) is None
    assert len(looked) < 12
    assert find_commit(look_up, "999", BatchName("q", 3)) == "3"


def test_in_place_of_all_that_is_there(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            await pool.lake.load("logs", [{"k": 1}, {"k": 2}])
            before = await pool.head()
            await pool.land(await pool.write([{"k": 9}]), replace=True, message=CommitMessage("all new"))
            assert await keys(pool) == [9]
            commit = (await pool.repository.resolve("main")).commit
            assert (commit.parents, commit.message) == ((before,), "all new")
            await pool.land([], replace=True)
            assert await keys(pool) == []
            with pytest.raises(NothingToDo):
                await pool.land([], replace=True)

    run(play())


def test_nothing_to_land_makes_no_commit(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            before = await pool.head()
            landed = await pool.land([TaskMessage(faults=2)], once=BatchName("q"))
            assert (landed.commit, landed.faults, landed.again) == ("", 2, False)
            assert await pool.head() == before

    run(play())
