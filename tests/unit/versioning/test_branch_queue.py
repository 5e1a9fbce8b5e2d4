"""Entries in the queue of a branch: whose they are, how they are renewed, and who drops those of dead writers."""

import asyncio
import logging

import msgspec
import pytest

from lochan.errors import Conflict
from lochan.formats.events import Vocabulary
from lochan.formats.record import RecordChange
from lochan.formats.repository_events import Turned, TurnOver
from lochan.versioning.heads import branch_queue
from lochan.versioning.heads.branch_queue import BranchQueue
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.state.branch import BranchState, Turn
from lochan.versioning.state.refs import Refs
from tests.run import run
from tests.unit.versioning.folded_events import Story
from tests.unit.versioning.test_at_once import ANN, two_servers
from tests.unit.versioning.test_land import write


def queue(story: Story) -> list[str]:
    return [turn.request for turn in story.refs.branch("main").turns]


def test_one_event_drops_every_request_of_a_writer() -> None:
    story = Story()
    for request, writer in (("1", "a"), ("2", "b"), ("3", "a")):
        story.tell(Turned("main", request, writer=writer))
    story.tell(TurnOver("main", writer="a", upto=story.number))
    assert queue(story) == ["2"]


def test_a_request_that_shows_itself_keeps_its_place() -> None:
    story = Story()
    story.tell(Turned("main", "1", writer="a"))
    story.tell(Turned("main", "2", writer="b"))
    assert story.apply(Turned("main", "1", writer="a")) == 0
    assert queue(story) == ["1", "2"]
    assert story.refs.branch("main").turns[0] == Turn("1", 0, "a", story.number, "ann")


def test_a_writer_that_has_shown_itself_since_is_not_dropped() -> None:
    story = Story()
    seen = story.tell(Turned("main", "1", writer="a"))
    story.tell(Turned("main", "2", writer="a"))
    story.refuses(TurnOver("main", writer="a", upto=seen), Conflict)
    story.tell(TurnOver("main", "1", upto=seen))  # but that one request has nobody behind it
    assert queue(story) == ["2"]


def test_entries_and_events_of_older_journals_mean_what_they_meant() -> None:
    old = msgspec.msgpack.encode({"branch": "main", "request": "1"})
    known = Vocabulary(Refs.events)
    story = Story()
    story.tell(known.decode(RecordChange("turned", 1, msgspec.Raw(old)), "repo", 2))
    story.tell(Turned("main", "2"))
    assert queue(story) == ["1", "2"]
    story.tell(known.decode(RecordChange("turn-over", 1, msgspec.Raw(old)), "repo", 4))
    assert queue(story) == ["2"]
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(["2", 1]), type=Turn) == Turn("2", 1)


def test_a_commit_that_waits_for_dead_writers_logs_it_and_lands(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Six requests of one dead writer and three of others, all of them in front."""
    monkeypatch.setattr(branch_queue, "SILENT_S", 0.3)
    monkeypatch.setattr(branch_queue, "_TELL_S", 0.1)
    caplog.set_level(logging.WARNING, "lochan.versioning")

    async def play() -> None:
        one, _ = await two_servers()
        await write(one, "main", "a")
        for number in range(6):
            await one.submit(ANN, Turned("main", f"dead {number}", writer="killed"))
        for number in range(3):
            await one.submit(ANN, Turned("main", f"other {number}", writer=f"killed {number}"))
        await one.submit(ANN, Turned("main", "of an older version"))
        async with asyncio.timeout(60):
            await commit(one, "main", CommitRequest("after them"), actor=ANN)
        assert (await one.refs())[0].branch("main").turns == ()

    run(play())
    assert "waiting for 10 requests in front of this one" in caplog.text
    assert "the first one is from ann (writer killed)" in caplog.text
    assert "writer killed 2 was silent for too long and is dropped" in caplog.text


def test_a_request_that_has_left_does_not_come_back_by_showing_itself() -> None:
    async def play() -> None:
        one, _ = await two_servers()
        left = BranchQueue(one, "main", ANN)
        await left._enter()
        await one.submit(ANN, Turned("main", "somebody else", writer="b"))
        refs, _ = await one.refs()
        assert [turn.request for turn in refs.branch("main").turns] == [left.turn, "somebody else"]
        await one.submit_decided(ANN, left._renewal_events)
        await left.leave()
        with pytest.raises(Conflict):
            await one.submit_decided(ANN, left._renewal_events)
        refs, _ = await one.refs()
        assert [turn.request for turn in refs.branch("main").turns] == ["somebody else"]

    run(play())


@pytest.mark.thorough
def test_an_entry_left_by_a_living_writer_is_dropped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its request ended without leaving, while other requests of the same process go on."""
    monkeypatch.setattr(branch_queue, "SILENT_S", 0.4)
    monkeypatch.setattr(branch_queue, "RENEW_S", 0.1)

    async def play() -> None:
        one, other = await two_servers()
        await write(one, "main", "a")
        await one.submit(ANN, Turned("main", "forgotten", writer=other.journal.writer))
        alive = asyncio.create_task(_stay(other))
        async with asyncio.timeout(60):
            while len((await one.refs())[0].branch("main").turns) < 2:  # noqa: ASYNC110 - only the journal knows
                await asyncio.sleep(0.01)
            await commit(one, "main", CommitRequest("behind both"), actor=ANN)
            await alive

    run(play())


async def _stay(repository: object) -> None:
    """Stays in the queue, alive, for longer than a writer may be silent."""
    queue = BranchQueue(repository, "main", ANN)  # type: ignore[arg-type]
    await queue._enter()
    await asyncio.sleep(1)
    await queue.leave()


def test_the_queue_is_kept_in_checkpoints() -> None:
    story = Story()
    story.tell(Turned("main", "1", 2, "a"))
    again = Refs()
    again.load(msgspec.Raw(msgspec.msgpack.encode(story.refs.dump())))
    kept: BranchState = again.branch("main")
    assert kept.turns == (Turn("1", 2, "a", story.number, "ann"),)
