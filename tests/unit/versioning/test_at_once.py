"""Several clients at once on one branch, in one process and in two: nothing is lost, and everything lands."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from lochan.errors import Conflict, Invalid, NothingToDo, Refused, SameRef
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from lochan.versioning import branches, objects
from lochan.versioning.heads import moves as head_moves
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.graph import log
from lochan.versioning.unstage import unstage
from tests.run import run

pytestmark = pytest.mark.thorough

ANN = Actor("ann", "test", "here")


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def two_servers() -> tuple[OpenRepository, OpenRepository]:
    store = MemoryStore()
    lake = await Lake.create(store)
    await lake.create_repository("demo-repo", actor=ANN)
    other = await Lake.open(store)
    return await lake.open_repository("demo-repo"), await other.open_repository("demo-repo")


async def paths(repository: OpenRepository, ref: str) -> list[str]:
    return [entry.path for entry in (await objects.list_objects(repository, ref)).entries]


def test_commits_under_a_steady_stream_of_writes() -> None:
    async def play() -> None:
        one, other = await two_servers()

        async def write(repository: OpenRepository, name: str) -> None:
            for number in range(30):
                await objects.put(repository, "main", f"{name}/{number:03d}", once(b"x"), actor=ANN)

        async def commit_often(repository: OpenRepository) -> int:
            landed = 0
            for number in range(8):
                try:
                    await commit(repository, "main", CommitRequest(f"c{number}"), actor=ANN)
                    landed += 1
                except Invalid:  # nothing staged just now
                    await asyncio.sleep(0)
            return landed

        results = await asyncio.gather(write(one, "a"), write(other, "b"), commit_often(one), commit_often(other))
        landed = sum(result or 0 for result in results)
        assert landed > 0
        expected = sorted(f"{name}/{number:03d}" for name in "ab" for number in range(30))
        assert await paths(one, "main") == await paths(other, "main") == expected
        refs, _ = await one.refs()
        if not refs.branch("main").layers.empty:
            await commit(one, "main", CommitRequest("the rest"), actor=ANN)
            landed += 1
        assert await paths(other, "main@") == expected
        refs, _ = await one.refs()
        assert len(list(log(refs.commit, refs.branch("main").head))) == landed + 1

    run(play())


@pytest.mark.thorough
def test_merges_that_race_all_land() -> None:
    async def play() -> None:
        one, other = await two_servers()
        for number in range(6):
            name = f"b{number}"
            await branches.create_branch(one, name, "main", actor=ANN)
            await objects.put(one, name, f"file-{number}", once(b"x"), actor=ANN)
            await commit(one, name, CommitRequest("change"), actor=ANN)
        servers = (one, other)
        await asyncio.gather(
            *(head_moves.merge(servers[number % 2], f"b{number}", "main", actor=ANN) for number in range(6))
        )
        assert await paths(one, "main@") == [f"file-{number}" for number in range(6)]

    run(play())


def test_a_reset_beside_a_commit_leaves_no_dead_writes() -> None:
    async def play(delay: int) -> None:
        one, other = await two_servers()
        await objects.put(one, "main", "dead", once(b"x"), actor=ANN)

        async def reset() -> bool:
            for _ in range(delay):
                await asyncio.sleep(0)
            try:
                await branches.reset_staged(other, "main", actor=ANN)
            except Invalid:
                return False
            return True

        async def commit_it() -> bool:
            try:
                await commit(one, "main", CommitRequest("c"), actor=ANN)
            except Invalid:
                return False
            return True

        was_reset, committed = await asyncio.gather(reset(), commit_it())
        assert was_reset != committed
        assert await paths(one, "main") == (["dead"] if committed else [])

    for delay in range(0, 60, 3):
        run(play(delay))


def test_a_reset_of_one_path_beside_writes_and_commits() -> None:
    """Whatever comes first, the dropped path is nowhere after its reset, and no other write is lost."""

    async def play(delay: int) -> None:
        one, other = await two_servers()
        await objects.put(one, "main", "dead", once(b"x"), actor=ANN)
        await objects.put(one, "main", "kept", once(b"x"), actor=ANN)

        async def reset() -> bool:
            for _ in range(delay):
                await asyncio.sleep(0)
            try:
                await unstage(other, "main", ("dead",), None, actor=ANN)
            except Invalid:  # it was committed before
                return False
            return True

        async def write() -> None:
            for number in range(4):
                await objects.put(one, "main", f"later-{number}", once(b"x"), actor=ANN)

        was_reset, _, _ = await asyncio.gather(
            reset(), write(), commit(one, "main", CommitRequest("c"), actor=ANN), return_exceptions=False
        )
        dead = [] if was_reset else ["dead"]
        assert await paths(one, "main") == [*dead, "kept", *(f"later-{number}" for number in range(4))]

    for delay in range(0, 60, 4):
        run(play(delay))


def test_a_merge_is_refused_where_something_is_staged() -> None:
    async def play() -> None:
        one, _ = await two_servers()
        await branches.create_branch(one, "dev", "main", actor=ANN)
        await objects.put(one, "dev", "a", once(b"x"), actor=ANN)
        with pytest.raises(Refused, match="uncommitted"):
            await head_moves.merge(one, "dev", "main", actor=ANN)
        await commit(one, "dev", CommitRequest("c"), actor=ANN)
        await objects.put(one, "main", "b", once(b"x"), actor=ANN)
        with pytest.raises(Refused, match="uncommitted"):
            await head_moves.merge(one, "dev", "main", actor=ANN)
        await commit(one, "main", CommitRequest("c"), actor=ANN)
        with pytest.raises(SameRef, match="itself"):
            await head_moves.merge(one, "main", "main", actor=ANN)
        with pytest.raises(NothingToDo, match="nothing to merge"):
            await head_moves.merge(one, "main~1", "main", actor=ANN)

    run(play())


def test_conflicts_are_listed_with_all_three_sides() -> None:
    async def play() -> None:
        one, _ = await two_servers()
        await objects.put(one, "main", "a", once(b"base"), actor=ANN)
        await commit(one, "main", CommitRequest("base"), actor=ANN)
        await branches.create_branch(one, "dev", "main", actor=ANN)
        for branch, data in (("main", b"ours!"), ("dev", b"theirs")):
            await objects.put(one, branch, "a", once(data), actor=ANN)
            await commit(one, branch, CommitRequest(branch), actor=ANN)
        with pytest.raises(Conflict) as caught:
            await head_moves.merge(one, "dev", "main", actor=ANN)
        assert isinstance(caught.value, head_moves.PathConflicts)
        assert caught.value.merged.conflicts == 1
        row = caught.value.merged.first.to_pylist()[0]
        assert (row["path"], *(row[side]["size"] for side in ("base", "ours", "theirs"))) == ("a", 4, 5, 6)

    run(play())


def test_commits_that_begin_in_one_record_share_the_seal() -> None:
    async def play() -> None:
        one, _ = await two_servers()
        await objects.put(one, "main", "a", once(b"x"), actor=ANN)
        results = await asyncio.gather(
            *(commit(one, "main", CommitRequest(f"c{number}"), actor=ANN) for number in range(5)),
            return_exceptions=True,
        )
        assert sum(not isinstance(result, BaseException) for result in results) == 1
        assert all(isinstance(result, Invalid) for result in results if isinstance(result, BaseException))
        assert await paths(one, "main@") == ["a"]

    run(play())


def test_what_is_committed_and_what_is_staged_are_read_apart() -> None:
    async def play() -> None:
        one, other = await two_servers()
        for path in ("a", "b"):
            await objects.put(one, "main", path, once(b"x"), actor=ANN)
        await commit(one, "main", CommitRequest("c"), actor=ANN)
        await objects.put(one, "main", "c", once(b"x"), actor=ANN)
        await objects.delete(one, "main", ["a"], actor=ANN)
        assert await paths(other, "main") == ["b", "c"]
        assert await paths(other, "main@") == ["a", "b"]
        assert await paths(other, "main$") == ["c"]

    run(play())
