"""The tests that every journal must pass, wherever its records are. A kind of slots adopts both suites in a few lines:

class TestMemory(JournalSuite, TrimSuite):
    def place(self) -> Place:
        return ObjectPlace(MemoryStore())
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from lochan.errors import (
    AlreadyExists,
    Corrupt,
    DiskFull,
    FutureFormat,
    Invalid,
    KeyReused,
    LochanError,
    NotFound,
    Refused,
    Transient,
    Unknown,
)
from lochan.formats import events, frame
from lochan.formats import record as records
from lochan.formats import segment as segments
from lochan.formats.lake_events import RepositoryCreated, RepositoryDeleted
from lochan.formats.record import Record, RecordChange, RecordEntry
from lochan.journal.group import AppendRequest
from lochan.journal.journal import Journal, Settings
from lochan.journal.slots import Slots
from lochan.journal.trim import TrimResult
from lochan.versioning.repositories import Repositories
from tests.journal_place import ACTOR, CLOCK, IDS, JOURNAL, QUICK, Interposed, Place, create, fill, names, tried
from tests.run import run


class _Suite:
    def place(self) -> Place:
        """A place with nothing in it."""
        raise NotImplementedError


def story(test: Callable[[Any, Place], Awaitable[None]]) -> Callable[[Any], None]:
    """A test that is a coroutine and gets a place of its own. At its end no alarm may be left."""

    def played(suite: _Suite) -> None:
        async def play() -> None:
            place = suite.place()
            try:
                await test(suite, place)
                assert place.alarms == []
            finally:
                await place.close()

        run(play())

    played.__name__, played.__doc__ = test.__name__, test.__doc__
    return played


class JournalSuite(_Suite):
    # --- append and read back ---------------------------------------------------------------------------------------
    @story
    async def test_append_and_read_back(self, place: Place) -> None:
        journal = await place.journal()
        ids = [await journal.submit(create(f"repo-{index}")) for index in range(10)]
        state = await (await place.journal()).fresh()
        assert [state.of(Repositories).get(f"repo-{index}").id for index in range(10)] == ids
        read = [sealed async for sealed in journal.records()]
        assert [sealed.record.number for sealed in read] == list(range(1, 11))
        assert [sealed.data for sealed in read] == [await place.bytes_of(number) for number in range(1, 11)]
        assert {(sealed.record.journal, sealed.record.writer) for sealed in read} == {(JOURNAL, "test")}
        assert state.digest == read[-1].digest == journal.tail.state.digest

    @story
    async def test_an_empty_journal_has_nothing(self, place: Place) -> None:
        journal = await place.journal()
        assert (await journal.fresh()).number == 0
        assert [sealed async for sealed in journal.records()] == []

    @story
    async def test_a_read_sees_what_was_acknowledged_before_it_from_any_process(self, place: Place) -> None:
        writer, reader = await place.journal(), await place.journal()
        for index in range(5):
            await writer.submit(create(f"repo-{index}"))
            assert f"repo-{index}" in names(await reader.fresh())

    @story
    async def test_requests_that_come_together_share_records(self, place: Place) -> None:
        journal = await place.journal()
        await asyncio.gather(*(journal.submit(create(f"repo-{index}")) for index in range(60)))
        state = await (await place.journal()).fresh()
        assert len(names(state)) == 60
        assert state.number < 10

    # --- races -------------------------------------------------------------------------------------------------------
    @story
    async def test_racing_journals_lose_and_double_nothing(self, place: Place) -> None:
        left, right = await place.journal(), await place.journal()

        async def writes(journal: Journal, side: str, lane: int) -> list[str]:
            return [await journal.submit(create(f"{side}-{lane}-{index}")) for index in range(10)]

        sides = ((left, "left"), (right, "right"))
        made = await asyncio.gather(*(writes(journal, side, lane) for journal, side in sides for lane in range(4)))
        state = await (await place.journal()).fresh()
        there = sorted(repository.id for repository in state.of(Repositories).all())
        assert there == sorted(id for ids in made for id in ids)
        events = [c async for s in left.records() for e in s.record.entries for c in e.changes]
        assert len(events) == 80, "each request is in one record, once"
        assert (await left.fresh()).digest == (await right.fresh()).digest == state.digest

    @story
    async def test_exactly_one_of_many_equal_creates_wins_across_journals(self, place: Place) -> None:
        journals = [await place.journal() for _ in range(3)]
        for round in range(5):
            asked = [(journal, create(f"wanted-{round}")) for journal in journals for _ in range(4)]
            won = [id for id in await asyncio.gather(*(tried(*one) for one in asked)) if id is not None]
            assert len(won) == 1
            assert (await journals[0].fresh()).of(Repositories).get(f"wanted-{round}").id == won[0]

    @story
    async def test_exactly_one_of_many_equal_creates_wins_inside_a_batch(self, place: Place) -> None:
        journal = await place.journal()
        won = await asyncio.gather(*(tried(journal, create("wanted")) for _ in range(20)))
        assert sum(id is not None for id in won) == 1

    @story
    async def test_a_refused_request_fails_alone(self, place: Place) -> None:
        journal = await place.journal()

        def refuse(state: Any) -> list[RepositoryCreated]:
            raise Invalid("not like this")

        def stumble(state: Any) -> list[RepositoryCreated]:
            raise ZeroDivisionError("a bug in a check")

        asked = [
            create("first"),
            AppendRequest(ACTOR, refuse),
            create("second"),
            AppendRequest(ACTOR, stumble),
            create("third"),
        ]
        answers = await asyncio.gather(*map(journal.submit, asked), return_exceptions=True)
        assert [type(answer) for answer in answers] == [str, Invalid, str, ZeroDivisionError, str]
        assert names(await (await place.journal()).fresh()) == ["first", "second", "third"]

    @story
    async def test_a_refusal_is_by_the_newest_state(self, place: Place) -> None:
        """Deleted by another process a moment ago: a state that is behind must not refuse by what was."""
        journal, other = await place.journal(), await place.journal()
        await journal.submit(create("wanted"))
        await other.submit(_delete("wanted"))
        assert await tried(journal, create("wanted")) is not None

    # --- idempotency keys --------------------------------------------------------------------------------------------
    @story
    async def test_a_key_that_comes_back_gets_the_first_result(self, place: Place) -> None:
        journal, other = await place.journal(), await place.journal()
        key = IDS.idempotency_key(CLOCK.wall())
        id = await journal.submit(create("wanted", key, b"print"))
        number = (await journal.fresh()).number
        assert await journal.submit(create("wanted", key, b"print")) == id
        assert await other.submit(create("wanted", key, b"print")) == id
        await journal.checkpoint()
        cold = await place.journal()
        assert cold.tail.state.number == number, "the key is known from the checkpoint"
        assert await cold.submit(create("wanted", key, b"print")) == id
        assert (await cold.fresh()).number == number, "nothing was appended for it"

    @story
    async def test_a_key_twice_in_one_batch_is_carried_out_once(self, place: Place) -> None:
        journal = await place.journal()
        key = IDS.idempotency_key(CLOCK.wall())
        answers = await asyncio.gather(*(journal.submit(create("wanted", key, b"print")) for _ in range(5)))
        assert len(set(answers)) == 1

    @story
    async def test_a_key_with_another_request_is_refused(self, place: Place) -> None:
        journal, other = await place.journal(), await place.journal()
        key = IDS.idempotency_key(CLOCK.wall())
        await journal.submit(create("wanted", key, b"print"))
        for again in (journal, other):
            with pytest.raises(KeyReused):
                await again.submit(create("something-else", key, b"another print"))
        assert names(await other.fresh()) == ["wanted"]

    @story
    async def test_a_key_that_may_have_been_forgotten_is_never_carried_out(self, place: Place) -> None:
        journal, other = await place.journal(keys_kept=2), await place.journal(keys_kept=2)
        keys = [IDS.idempotency_key(CLOCK.wall()) for _ in range(6)]
        for index, key in enumerate(keys):
            await journal.submit(create(f"repo-{index}", key, b"print"))
        for again in (journal, other, await place.journal(keys_kept=2)):
            with pytest.raises(Unknown, match="too old"):
                await again.submit(create("never", keys[0], b"print"))
            assert isinstance(await again.submit(create("repo-5", keys[5], b"print")), str)
        assert "never" not in names(await other.fresh())

    @story
    async def test_a_key_from_the_future_is_refused(self, place: Place) -> None:
        journal = await place.journal()
        with pytest.raises(Invalid, match="future"):
            await journal.submit(create("early", IDS.idempotency_key(CLOCK.wall() + 600_000_000), b"print"))
        await journal.submit(create("a-little-early", IDS.idempotency_key(CLOCK.wall() + 60_000_000), b"print"))
        assert names(await journal.fresh()) == ["a-little-early"]

    @story
    async def test_a_request_in_doubt_is_settled_by_its_key_in_another_process(self, place: Place) -> None:
        async def lost(slots: Slots, number: int, data: bytes) -> None:
            await slots.create(number, data)
            raise Transient("the answer was lost")

        async def unreadable(slots: Slots, number: int) -> bytes | None:
            raise Transient("and now it does not answer at all")

        doubtful = await place.journal(Interposed(place.slots(), create=lost), settings=QUICK)
        await doubtful.fresh()
        doubtful.slots._read = unreadable  # type: ignore[attr-defined]
        key = IDS.idempotency_key(CLOCK.wall())
        with pytest.raises(Unknown):
            await doubtful.submit(create("wanted", key, b"print"))
        other = await place.journal()
        id = (await other.fresh()).of(Repositories).get("wanted").id
        assert await other.submit(create("wanted", key, b"print")) == id

    # --- checkpoints -------------------------------------------------------------------------------------------------
    @story
    async def test_a_cold_start_reads_a_checkpoint_and_a_short_tail(self, place: Place) -> None:
        journal = await place.journal()
        await fill(journal, 7)
        assert await journal.checkpoint() == 7
        await fill(journal, 2, "later")
        asked: list[int] = []

        async def counted(slots: Slots, number: int) -> bytes | None:
            asked.append(number)
            return await slots.read(number)

        cold = await place.journal(Interposed(place.slots(), read=counted))
        state = await cold.fresh()
        assert min(asked) == 8
        assert names(state) == names(journal.tail.state)
        assert state.checkpoint() == journal.tail.state.checkpoint()

    @story
    async def test_a_checkpoint_that_cannot_be_read_is_skipped(self, place: Place) -> None:
        journal = await place.journal()
        await fill(journal, 3)
        await journal.checkpoint()
        await fill(journal, 3, "later")
        await journal.checkpoint()
        path = f"{JOURNAL}/checkpoints/{6:020d}"
        good = await place.store.get(path)
        for bad in (_flipped(good), good[:-1], b"", frame.seal(b"LOCHANCK", 99, b"of the future")):
            await place.store.put(path, bad)
            cold = await place.journal()
            assert cold.tail.state.number == 3
            assert names(await cold.fresh()) == names(journal.tail.state)

    @story
    async def test_checkpoints_are_made_while_writing(self, place: Place) -> None:
        journal = await place.journal(settings=Settings(checkpoint_every=3))
        await fill(journal, 7)
        await journal.close()
        assert [found.number for found in await journal.checkpoints.found()] == [3, 6]

    # --- the feed ----------------------------------------------------------------------------------------------------
    @story
    async def test_records_begin_after_a_number(self, place: Place) -> None:
        journal = await place.journal()
        await fill(journal, 9)
        assert [sealed.record.number async for sealed in journal.records(6)] == [7, 8, 9]
        assert [sealed async for sealed in journal.records(9)] == []

    @story
    async def test_records_follow_what_is_to_come(self, place: Place) -> None:
        writer, reader = await place.journal(), await place.journal()
        await fill(writer, 2)
        feed = reader.records(follow=True)
        assert [(await anext(feed)).record.number for _ in range(2)] == [1, 2]
        waiting = asyncio.ensure_future(anext(feed))
        await asyncio.sleep(0.05)  # nothing may come meanwhile
        assert not waiting.done()
        await fill(writer, 1, "later")
        assert (await asyncio.wait_for(waiting, 5)).record.number == 3
        await feed.aclose()  # type: ignore[attr-defined]

    # --- bytes of the future -----------------------------------------------------------------------------------------
    @story
    async def test_a_newer_record_version_is_refused(self, place: Place) -> None:
        journal = await place.journal()
        await fill(journal, 2)
        await place.slots().create(3, frame.seal(records.MAGIC, records.VERSION + 1, b"nobody knows yet"))
        await _refused_everywhere(place, journal, FutureFormat, "record 3 .* version 2")

    @story
    async def test_a_newer_event_version_is_refused(self, place: Place) -> None:
        journal = await place.journal()
        await fill(journal, 2)
        newer = RecordChange(RepositoryCreated.type, RepositoryCreated.version + 1, msgspec.Raw(b"\x80"))
        await place.slots().create(3, _record(journal, newer))
        await _refused_everywhere(place, journal, FutureFormat, "record 3 .* repository-created version 2")

    @story
    async def test_an_unknown_event_is_refused(self, place: Place) -> None:
        journal = await place.journal()
        await fill(journal, 2)
        await place.slots().create(3, _record(journal, RecordChange("teleported", 1, msgspec.Raw(b"\x80"))))
        await _refused_everywhere(place, journal, FutureFormat, "record 3 .* teleported version 1")

    # --- bytes that are not as written -------------------------------------------------------------------------------
    @story
    async def test_damage_is_seen(self, place: Place) -> None:
        journal = await place.journal()
        await fill(journal, 5)
        good = await place.bytes_of(3)
        other = await place.bytes_of(4)
        foreign = records.encode(msgspec.structs.replace(records.decode(good, "").record, journal="another")).data
        for what, bad in {
            "a flipped bit in the middle": _flipped(good),
            "a flipped bit in the version": good[:9] + bytes([good[9] ^ 2]) + good[10:],
            "cut short": good[:-7],
            "empty": b"",
            "swapped with another record": other,
            "a record of another journal": foreign,
            "something else": b"<html>" * 20,
        }.items():
            await place.overwrite(3, bad)
            with pytest.raises(Corrupt, match="record 3 "):
                await (await place.journal()).fresh()
            with pytest.raises(Corrupt, match="record 3 "):
                [sealed async for sealed in journal.records()]
            with pytest.raises(Corrupt):
                await (await place.journal()).submit(create(what.replace(" ", "-")))
        await place.overwrite(3, good)
        assert (await (await place.journal()).fresh()).number == 5

    @story
    async def test_a_forged_record_breaks_the_chain(self, place: Place) -> None:
        """Valid in itself, and with the right number; but the record after it does not continue it."""
        journal = await place.journal()
        await fill(journal, 5)
        record = records.decode(await place.bytes_of(3), "").record
        await place.overwrite(3, records.encode(msgspec.structs.replace(record, writer="somebody else")).data)
        with pytest.raises(Corrupt, match=r"record 4 .* does not continue record 3"):
            await (await place.journal()).fresh()

    @story
    async def test_a_gap_is_seen(self, place: Place) -> None:
        """A missing record looks like the tail. Who comes cold looks further, and neither reads nor writes there."""
        journal = await place.journal()
        await fill(journal, 5)
        await place.erase(3)
        missing = r"record 3 .* is missing, and record 4 is there"
        with pytest.raises(Corrupt, match=missing):
            await (await place.journal()).fresh()
        with pytest.raises(Corrupt, match=missing):
            await (await place.journal()).submit(create("in-the-gap"))
        await journal.submit(create("one-more"))  # who has folded it needs it no more
        assert (await journal.fresh()).number == 6

    @story
    async def test_an_invalid_event_changes_nothing_and_is_an_alarm(self, place: Place) -> None:
        journal = await place.journal()
        await fill(journal, 2)
        twice = events.change(RepositoryCreated("another-id", "repo-1", "files", "main"))
        await place.slots().create(3, _record(journal, twice))
        state = await (await place.journal()).fresh()
        assert (state.number, names(state)) == (3, ["repo-0", "repo-1"])
        assert [alarm.split(":")[0] for alarm in place.alarms] == [f"record 3 of {JOURNAL} holds an invalid event"]
        place.alarms.clear()

    # --- lost answers ------------------------------------------------------------------------------------------------
    @pytest.mark.parametrize("answer", [Transient, Unknown, AlreadyExists])
    def test_our_record_landed_and_the_answer_was_lost(self, answer: type[LochanError]) -> None:
        async def landed(slots: Slots, number: int, data: bytes) -> None:
            await slots.create(number, data)
            raise answer("lost")

        self._with_first_create(landed, numbers=[1])

    @pytest.mark.parametrize("answer", [Transient, Unknown, AlreadyExists])
    def test_nothing_landed(self, answer: type[LochanError]) -> None:
        """AlreadyExists with nothing there: a 409 that came to nothing."""

        async def nothing(slots: Slots, number: int, data: bytes) -> None:
            raise answer("lost")

        self._with_first_create(nothing, numbers=[1])

    @pytest.mark.parametrize("answer", [Transient, Unknown, AlreadyExists])
    def test_a_rival_landed(self, answer: type[LochanError]) -> None:
        async def rival(slots: Slots, number: int, data: bytes) -> None:
            record = records.decode(data, "").record
            change = events.change(RepositoryCreated("rival-id", "rival", "files", "main"))
            entry = RecordEntry(ACTOR, "", b"", (change,))
            rivals = msgspec.structs.replace(record, put_id=IDS.put_id(), writer="rival", entries=(entry,))
            await slots.create(number, records.encode(rivals).data)
            raise answer("lost")

        self._with_first_create(rival, numbers=[1, 2])

    def _with_first_create(self, hook: Callable[[Slots, int, bytes], Awaitable[None]], numbers: list[int]) -> None:
        """The first create goes wrong, the rest is as usual: the request succeeds all the same, and just once."""

        @story
        async def play(suite: _Suite, place: Place) -> None:
            done = False

            async def once(slots: Slots, number: int, data: bytes) -> None:
                nonlocal done
                if done:
                    return await slots.create(number, data)
                done = True
                return await hook(slots, number, data)

            journal = await place.journal(Interposed(place.slots(), create=once))
            id = await journal.submit(create("wanted"))
            cold = await place.journal()
            assert (await cold.fresh()).of(Repositories).get("wanted").id == id
            assert [sealed.record.number async for sealed in cold.records()] == numbers
            assert journal.tail.state.digest == cold.tail.state.digest

        play(self)

    @story
    async def test_a_taken_name_is_refused_after_a_lost_race(self, place: Place) -> None:
        """J3: every request is checked again against what the rival did."""
        journal, rival = await place.journal(), await place.journal()
        await journal.fresh()
        await rival.submit(create("wanted"))
        answers = await asyncio.gather(tried(journal, create("wanted")), tried(journal, create("free")))
        assert answers[0] is None
        assert isinstance(answers[1], str)

    @story
    async def test_without_an_answer_the_outcome_is_unknown_and_is_settled_later(self, place: Place) -> None:
        silent = True

        async def gone(slots: Slots, number: int, data: bytes) -> None:
            if not silent:
                return await slots.create(number, data)
            raise Transient("no answer")

        journal = await place.journal(Interposed(place.slots(), create=gone), settings=QUICK)
        key = IDS.idempotency_key(CLOCK.wall())
        with pytest.raises(Unknown, match="record 1"):
            await journal.submit(create("wanted", key, b"print"))
        with pytest.raises(Transient, match="nothing was written"):
            await journal.submit(create("waits"))
        silent = False
        await journal.submit(create("next"))
        assert [s.record.number async for s in journal.records()] == [1, 2], "first the record in doubt, J1"
        id = await journal.submit(create("wanted", key, b"print"))
        assert (await (await place.journal()).fresh()).of(Repositories).get("wanted").id == id

    @pytest.mark.parametrize("error", [DiskFull, Refused])
    def test_a_create_that_certainly_failed(self, error: type[LochanError]) -> None:
        @story
        async def play(suite: _Suite, place: Place) -> None:
            failing = True

            async def refuse(slots: Slots, number: int, data: bytes) -> None:
                if not failing:
                    return await slots.create(number, data)
                raise error("nothing was created")

            journal = await place.journal(Interposed(place.slots(), create=refuse))
            with pytest.raises(error):
                await journal.submit(create("wanted"))
            failing = False
            await journal.submit(create("wanted"))
            assert [sealed.record.number async for sealed in journal.records()] == [1]

        play(self)

    @pytest.mark.parametrize("error", [Refused, NotFound, DiskFull])
    @pytest.mark.parametrize("landed", [True, False])
    def test_what_cannot_be_read_back_is_unknown(self, landed: bool, error: type[LochanError]) -> None:
        """J2: a put whose answer was lost, and then a changed password. The record may be there, so nobody may learn
        that it failed."""

        @story
        async def play(suite: _Suite, place: Place) -> None:
            async def lost(slots: Slots, number: int, data: bytes) -> None:
                if landed:
                    await slots.create(number, data)
                raise Transient("lost")

            async def refuse(slots: Slots, number: int) -> bytes | None:
                raise error("not any more")

            slots = Interposed(place.slots(), create=lost)
            journal = await place.journal(slots, settings=QUICK)
            await journal.fresh()
            slots._read = refuse
            with pytest.raises(Unknown):
                await journal.submit(create("wanted"))
            slots._read = slots._create = None
            await journal.submit(create("next"))
            assert names(await (await place.journal()).fresh()) == ["next", "wanted"], "settled by the next append"

        play(self)

    @story
    async def test_a_created_record_whose_segment_cannot_be_looked_for_is_unknown(self, place: Place) -> None:
        async def refuse(slots: Slots, group: int) -> bytes | None:
            raise Refused("not any more")

        slots = Interposed(place.slots())
        journal = await place.journal(slots, settings=QUICK)
        await journal.fresh()
        if slots.aged:
            return  # J6: no look is needed
        slots._read_segment = refuse
        with pytest.raises(Unknown):
            await journal.submit(create("wanted"))
        slots._read_segment = None
        assert names(await journal.fresh()) == ["wanted"]

    @story
    async def test_a_key_re_sent_in_the_batch_of_a_doubtful_one_is_unknown_too(self, place: Place) -> None:
        """It shares the outcome of the first: nobody may learn that nothing was written."""

        async def lost(slots: Slots, number: int, data: bytes) -> None:
            raise Transient("lost")

        journal = await place.journal(Interposed(place.slots(), create=lost), settings=QUICK)
        key = IDS.idempotency_key(CLOCK.wall())
        asked = (journal.submit(create("wanted", key, b"print")) for _ in range(2))
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(answer) for answer in answers] == [Unknown, Unknown]

    @story
    async def test_a_request_that_was_carried_out_is_answered_without_the_store(self, place: Place) -> None:
        """It is in the folded state, so nothing that happens now can undo it."""

        async def unreadable(slots: Slots, number: int) -> bytes | None:
            raise Transient("no answer")

        slots = Interposed(place.slots())
        journal = await place.journal(slots, settings=QUICK)
        key = IDS.idempotency_key(CLOCK.wall())
        id = await journal.submit(create("wanted", key, b"print"))
        slots._read = unreadable
        assert await journal.submit(create("wanted", key, b"print")) == id


class TrimSuite(_Suite):
    """Groups of four: records 1–3, 4–7, 8–11 …"""

    @story
    async def test_full_groups_become_segments_and_their_slots_go(self, place: Place) -> None:
        journal, slots = await place.journal(), place.slots()
        await fill(journal, 10)
        whole = [sealed.data async for sealed in journal.records()]
        assert await journal.trim() == TrimResult(packed=2, deleted=7)
        assert [listed.number async for listed in slots.listed(100)] == [8, 9, 10]
        assert [await slots.has_segment(group) for group in range(3)] == [True, True, False]
        cold = await place.journal()
        assert (await cold.fresh()).checkpoint() == journal.tail.state.checkpoint()
        assert [sealed.data async for sealed in cold.records()] == whole
        assert [sealed.data async for sealed in cold.records(5)] == whole[5:]

    @story
    async def test_nothing_is_packed_before_a_group_is_full(self, place: Place) -> None:
        journal = await place.journal()
        await fill(journal, 2)
        assert await journal.trim() == TrimResult(0, 0)
        await fill(journal, 1, "third")
        assert await journal.trim() == TrimResult(1, 3)

    @story
    async def test_writing_goes_on_after_trimming(self, place: Place) -> None:
        journal, other = await place.journal(), await place.journal()
        await fill(journal, 7)
        await journal.trim()
        await fill(other, 3, "other")
        await fill(journal, 3, "later")
        assert (await (await place.journal()).fresh()).number == 13

    @story
    async def test_a_reader_that_stalled_behind_a_trimmed_group(self, place: Place) -> None:
        writer, stalled = await place.journal(), await place.journal()
        await fill(writer, 2)
        await stalled.fresh()
        feed = stalled.records(follow=True)
        assert (await anext(feed)).record.number == 1
        await fill(writer, 10, "later")
        await writer.trim()
        assert (await stalled.fresh()).checkpoint() == writer.tail.state.checkpoint()
        assert [(await anext(feed)).record.number for _ in range(11)] == list(range(2, 13))
        await feed.aclose()  # type: ignore[attr-defined]

    @story
    async def test_a_writer_that_holds_an_old_number(self, place: Place) -> None:
        """Its put lands in a slot that was trimmed. The segment shows who has that number, so it lands again."""
        writer, stalled = await place.journal(), await place.journal()
        await fill(writer, 5)
        await stalled.fresh()
        await fill(writer, 7, "later")
        await writer.trim()
        id = await stalled.submit(create("late"))
        for journal in (writer, stalled, await place.journal()):
            state = await journal.fresh()
            assert (state.number, state.of(Repositories).get("late").id) == (13, id)
        assert [s.record.number async for s in writer.records()] == list(range(1, 14))
        assert [listed.number async for listed in place.slots().listed(100)] == [6, 12, 13], "a ghost is in slot 6"
        assert await writer.trim() == TrimResult(0, 1)

    @story
    async def test_a_ghost_in_a_trimmed_slot_is_never_read(self, place: Place) -> None:
        writer = await place.journal()
        await fill(writer, 8)
        await writer.trim()
        ghost = records.encode(Record(5, IDS.put_id(), "ghost", 0, JOURNAL, bytes(32), ())).data
        await place.slots().create(5, ghost)
        assert (await (await place.journal()).fresh()).checkpoint() == writer.tail.state.checkpoint()
        assert ghost not in [sealed.data async for sealed in writer.records()]
        assert await writer.trim() == TrimResult(0, 1)

    @story
    async def test_segments_survive_and_a_second_trimmer_changes_nothing(self, place: Place) -> None:
        journal, slots = await place.journal(), place.slots()
        await fill(journal, 9)
        await journal.trim()
        kept = [await slots.read_segment(group) for group in range(2)]
        other = await place.journal()
        assert await other.trim() == TrimResult(0, 0)
        assert await journal.trim() == TrimResult(0, 0)
        await fill(journal, 6, "later")
        await other.trim()
        assert [await slots.read_segment(group) for group in range(2)] == kept
        with pytest.raises(AlreadyExists):
            await slots.create_segment(0, kept[0] or b"")

    @story
    async def test_two_trimmers_at_once(self, place: Place) -> None:
        left, right = await place.journal(), await place.journal()
        await fill(left, 20)
        trimmed = await asyncio.gather(left.trim(), right.trim())
        assert max(one.packed for one in trimmed) == 5
        cold = await place.journal()
        assert (await cold.fresh()).checkpoint() == left.tail.state.checkpoint()
        assert [listed.number async for listed in place.slots().listed(100)] == [20]

    @story
    async def test_trimming_beside_writers(self, place: Place) -> None:
        writers = [await place.journal() for _ in range(2)]
        trimmer = await place.journal()
        done = False

        async def trims() -> None:
            while not done:
                await trimmer.trim()
                await asyncio.sleep(0.01)

        trimming = asyncio.create_task(trims())
        await asyncio.gather(*(fill(writer, 25, f"writer-{index}") for index, writer in enumerate(writers)))
        done = True
        await trimming
        cold = await place.journal()
        assert len(names(await cold.fresh())) == 50
        assert [s.record.number async for s in cold.records()] == list(range(1, 51))

    @story
    async def test_the_key_of_a_trimmed_request_is_still_known(self, place: Place) -> None:
        journal = await place.journal()
        key = IDS.idempotency_key(CLOCK.wall())
        id = await journal.submit(create("wanted", key, b"print"))
        await fill(journal, 8)
        await journal.trim()
        assert await (await place.journal()).submit(create("wanted", key, b"print")) == id

    @story
    async def test_damage_is_not_packed(self, place: Place) -> None:
        journal = await place.journal()
        await fill(journal, 9)
        await place.overwrite(2, _flipped(await place.bytes_of(2)))
        with pytest.raises(Corrupt, match="record 2 "):
            await (await place.journal()).trim()
        assert not await place.slots().has_segment(0)

    @story
    async def test_what_a_process_has_folded_is_packed_without_reading(self, place: Place) -> None:
        """Whatever became of the slots meanwhile. It is its own records, and those of others that it has folded."""
        asked: list[int] = []

        async def read(slots: Slots, number: int) -> bytes | None:
            asked.append(number)
            return await slots.read(number)

        journal, other = await place.journal(slots=Interposed(place.slots(), read=read)), await place.journal()
        await fill(other, 2, "other")
        await fill(journal, 3)
        await fill(other, 2, "another")
        await fill(journal, 2, "later")
        written = [await place.bytes_of(number) for number in range(1, 10)]
        await place.overwrite(2, _flipped(written[1]))
        asked.clear()
        assert (await journal.trim()).packed == 2
        assert min(asked) == 10, "it looks for the end of the journal, and at nothing before"
        packed = [segments.decode(await place.slots().read_segment(group) or b"", "").records for group in range(2)]
        assert [data for records_ in packed for data in records_] == written[:7]
        cold = await place.journal()
        assert (await cold.fresh()).checkpoint() == journal.tail.state.checkpoint()

    @story
    async def test_groups_that_it_no_longer_remembers_are_read(self, place: Place) -> None:
        journal = await place.journal()
        await fill(journal, 4)
        journal.tail.recent.forget_below(6)
        await fill(journal, 9, "later")
        written = [await place.bytes_of(number) for number in range(1, 12)]
        assert (await journal.trim()).packed == 3
        packed = [segments.decode(await place.slots().read_segment(group) or b"", "").records for group in range(3)]
        assert [data for records_ in packed for data in records_] == written

    @story
    async def test_whoever_writes_trims_behind_itself(self, place: Place) -> None:
        journal, slots = await place.journal(settings=Settings("test", checkpoint_every=4)), place.slots()
        await fill(journal, 35)
        await journal.close()
        journal._trimmed_at = float("-inf")  # long ago
        await fill(journal, 1, "last")
        await journal.close()
        assert await slots.has_segment(8)
        assert len(await journal.checkpoints.found()) <= 4 or slots.aged
        left = [listed.number async for listed in slots.listed(100)]
        assert left == ([36] if not slots.aged else list(range(1, 37)))
        cold = await place.journal()
        assert (await cold.fresh()).checkpoint() == journal.tail.state.checkpoint()
        assert place.alarms == []

    @story
    async def test_old_checkpoints_go(self, place: Place) -> None:
        journal = await place.journal()
        for index in range(6):
            await fill(journal, 1, f"repo-{index}")
            await journal.checkpoint()
        await journal.trim()
        assert [found.number for found in await journal.checkpoints.found()] == [3, 4, 5, 6]


async def _refused_everywhere(place: Place, journal: Journal, error: type[LochanError], match: str) -> None:
    cold = await place.journal()
    with pytest.raises(error, match=match):
        await cold.fresh()
    with pytest.raises(error, match=match):
        await journal.fresh()
    with pytest.raises(error, match=match):
        await cold.submit(create("wanted"))
    assert await place.slots().read(4) is None, "nothing was written after it"


def _record(journal: Journal, *changes: RecordChange) -> bytes:
    state = journal.tail.state
    entry = RecordEntry(ACTOR, "", b"", changes)
    return records.encode(Record(state.number + 1, IDS.put_id(), "other", 0, JOURNAL, state.digest, (entry,))).data


def _delete(name: str) -> AppendRequest:
    return AppendRequest(ACTOR, lambda state: [RepositoryDeleted(state.of(Repositories).get(name).id)])


def _flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
