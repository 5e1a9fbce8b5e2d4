"""Head moves that race: everybody lands, in turn, and nobody waits for a dead writer."""

import asyncio

import msgspec
import pytest

from lochan.clock import SystemClock
from lochan.errors import Dirty, PathsInTheWay
from lochan.formats.repository_events import Moved, Turned, TurnOver
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from lochan.versioning import branches, objects
from lochan.versioning.heads import moves as head_moves
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.heads.land import PreparedMove, land
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions import diff
from lochan.versioning.revisions.graph import log
from tests.run import run
from tests.unit.versioning.test_at_once import ANN, once, paths, two_servers


async def write(repository: OpenRepository, branch: str, path: str, data: bytes = b"x") -> None:
    await objects.put(repository, branch, path, once(data), actor=ANN)


async def drift(repository: OpenRepository, branch: str) -> None:
    """A head move that changes no path, so nothing staged is in its way."""

    async def prepare(turn: str) -> PreparedMove:
        refs, mint = await repository.refs()
        found = refs.branch(branch)
        head = refs.commit(found.head)
        next = msgspec.structs.replace(head, parents=(found.head,), generation=head.generation + 1, date=mint)
        return PreparedMove(
            Moved(branch, found.incarnation, found.head, next.id, "import", (next,), read_at=mint, turn=turn)
        )

    await land(repository, branch, prepare, actor=ANN)


def test_a_commit_lands_under_a_steady_stream_of_head_moves() -> None:
    async def play() -> None:
        one, other = await two_servers()
        landed = asyncio.Event()

        async def drift_for_ever(repository: OpenRepository) -> int:
            moves = 0
            while not landed.is_set():
                await drift(repository, "main")
                moves += 1
            return moves

        async def commit_some() -> None:
            for number in range(5):
                await write(one, "main", f"file-{number}")
                await commit(one, "main", CommitRequest(f"commit {number}"), actor=ANN)
            landed.set()

        async with asyncio.timeout(60):
            *moves, _ = await asyncio.gather(drift_for_ever(one), drift_for_ever(other), commit_some())
        assert min(moves) > 0, "the rivals landed too"
        assert await paths(other, "main@") == [f"file-{number}" for number in range(5)]
        refs, _ = await one.refs()
        assert refs.branch("main").turns == ()
        assert len(list(log(refs.commit, refs.branch("main").head))) == 1 + 5 + sum(moves)

    run(play())


def test_a_request_that_died_at_the_front_is_sent_away() -> None:
    class Hasty(SystemClock):
        """Two minutes pass in a second."""

        def boot(self) -> float:
            return super().boot() * 120

    async def play() -> None:
        lake = await Lake.create(MemoryStore(), clock=Hasty())
        await lake.create_repository("demo-repo", actor=ANN)
        one = await lake.open_repository("demo-repo")
        await write(one, "main", "a")
        await one.submit(ANN, Turned("main", "somebody who died"))
        async with asyncio.timeout(20):
            await commit(one, "main", CommitRequest("after them"), actor=ANN)
        refs, _ = await one.refs()
        assert refs.branch("main").turns == ()
        assert await paths(one, "main@") == ["a"]

    run(play())


def test_a_request_that_fails_leaves_the_queue() -> None:
    async def play() -> None:
        one, other = await two_servers()
        await branches.create_branch(one, "dev", "main", actor=ANN)
        await write(one, "dev", "a")
        await commit(one, "dev", CommitRequest("a"), actor=ANN)
        await one.submit(ANN, Turned("main", "first"))

        async def blocked() -> None:
            with pytest.raises(Dirty):
                await head_moves.merge(other, "dev", "main", actor=ANN)

        task = asyncio.create_task(blocked())
        async with asyncio.timeout(20):
            while len((await one.refs())[0].branch("main").turns) < 2:  # noqa: ASYNC110 - only the journal knows
                await asyncio.sleep(0.01)
        await write(one, "main", "b")  # now the merge must fail, as soon as it is its turn
        await one.submit(ANN, TurnOver("main", "first"))
        async with asyncio.timeout(20):
            await task
        assert (await one.refs())[0].branch("main").turns == ()

    run(play())


def test_what_is_staged_can_be_committed_in_the_same_event_as_the_merge() -> None:
    async def play() -> None:
        one, other = await two_servers()
        await branches.create_branch(one, "dev", "main", actor=ANN)
        await write(one, "dev", "theirs")
        await commit(one, "dev", CommitRequest("theirs"), actor=ANN)
        await write(one, "main", "ours")
        with pytest.raises(Dirty):
            await head_moves.merge(one, "dev", "main", actor=ANN)
        head = await head_moves.merge(one, "dev", "main", actor=ANN, commit_first=CommitRequest("ours first"))
        assert await paths(other, "main@") == ["ours", "theirs"]
        refs, _ = await other.refs()
        merged = refs.commit(head)
        assert refs.commit(merged.parents[0]).message == "ours first"
        assert len(merged.parents) == 2
        assert refs.branch("main").layers.empty

    run(play())


def test_a_path_staged_after_the_seal_stops_the_merge_that_changes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As late as can be: between the look at the staging and the append."""

    async def play() -> None:
        one, other = await two_servers()
        await branches.create_branch(one, "dev", "main", actor=ANN)
        await write(one, "dev", "both")
        await commit(one, "dev", CommitRequest("theirs"), actor=ANN)
        await write(one, "main", "ours")
        looked = head_moves._test

        async def then_somebody_writes(*arguments: object) -> object:
            test = await looked(*arguments)  # type: ignore[arg-type]
            await write(other, "main", "both", b"staged late")
            return test

        monkeypatch.setattr(head_moves, "_test", then_somebody_writes)
        with pytest.raises(PathsInTheWay) as caught:
            await head_moves.merge(one, "dev", "main", actor=ANN, commit_first=CommitRequest("ours first"))
        assert caught.value.paths == ("both",)
        assert [each.path for each in await diff.staged_changes(one, "main")] == ["both", "ours"]
        assert await paths(one, "main@") == []

    run(play())
