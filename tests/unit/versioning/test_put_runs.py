"""Many small puts of one record are applied together. The state, the answers and the alarms are those of one by one."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.clock import SystemClock
from lochan.errors import Gone, LochanError, NotFound, Protected
from lochan.formats import events
from lochan.formats import record as records
from lochan.formats.entry import Block, Entry
from lochan.formats.events import Event
from lochan.formats.record import Actor, Record, RecordEntry
from lochan.formats.repository_events import (
    BranchCreated,
    Protection,
    ProtectionSet,
    ReadOnlySet,
    RepositoryOpened,
    Sealed,
    Staged,
)
from lochan.ids import Ids
from lochan.journal.group import AppendRequest
from lochan.journal.journal import Journal
from lochan.journal.slots import ObjectSlots
from lochan.journal.state import Schema, State
from lochan.store.memory import MemoryStore
from lochan.versioning.state.protection import STAGE
from lochan.versioning.state.refs import Refs
from tests.run import run
from tests.unit.versioning.folded_events import FIRST

ANN, BEN = Actor("ann", "test", ""), Actor("ben", "test", "", "an author")
ID = "repo"
CUT = 3  # files minted before this number can no longer be named
BEGIN: tuple[Event, ...] = (
    RepositoryOpened("files", "main", FIRST),
    BranchCreated("dev", FIRST.id),
    BranchCreated("locked", FIRST.id),
    ProtectionSet((Protection("locked", (STAGE,), 2),)),
)


class OneByOne(Refs):
    runs = ()


def put(branch: str, path: str, mint: int = CUT, **more: Any) -> Staged:
    block = Block(f"{ID}/data/{mint}-x/{path}", 0, 1, bytes(32))
    return Staged(branch, (Entry(path, (block,), 1, "0" * 32, "0" * 32, mint),), **more)


paths = st.sampled_from(["a", "b", "c/d", "e"])
branches = st.sampled_from(["main", "main", "main", "dev", "locked", "missing"])
puts = st.builds(put, branches, paths, st.sampled_from([CUT, CUT, CUT + 1, CUT - 1]))
rarer = st.one_of(
    st.builds(lambda branch, path: Staged(branch, deletes=(path,)), branches, paths),
    st.builds(lambda branch, path: put(branch, path, read_at=1), branches, paths),
    st.builds(lambda branch, path: put(branch, path, closes=("nothing",)), branches, paths),
    st.builds(lambda branch: Staged(branch, (*put(branch, "a").puts, *put(branch, "b").puts)), branches),
    st.builds(Sealed, st.just("main")),
    st.builds(ReadOnlySet, st.booleans()),
)
requests = st.tuples(
    st.one_of(puts, puts, puts, puts, rarer), st.sampled_from([ANN, ANN, BEN]), st.sampled_from(["", "", "", "key"])
)
batches = st.lists(st.lists(requests, min_size=1, max_size=12), min_size=1, max_size=6)


def folded(part: type[Refs], batches: list[list[tuple[Event, Actor, str]]]) -> tuple[State, list[str]]:
    alarms: list[str] = []
    state = Schema(part, alarm=alarms.append).empty(ID)
    for batch in [[(event, ANN, "")] for event in BEGIN] + batches:
        entries = tuple(RecordEntry(actor, key, b"", (events.change(event),)) for event, actor, key in batch)
        number = state.number + 1
        sealed = records.encode(Record(number, bytes(16), "test", number, ID, state.digest, entries))
        state.fold(records.decode(sealed.data, "a record"))
        if number == len(BEGIN):
            state.of(part).collection._numbers.put("cut", CUT)
    return state, alarms


@given(batches)
def test_the_state_is_that_of_one_by_one(batches: list[list[tuple[Event, Actor, str]]]) -> None:
    together, alarms = folded(Refs, batches)
    one_by_one, expected = folded(OneByOne, batches)
    assert alarms == expected
    assert together.checkpoint() == one_by_one.checkpoint()
    for mine, its in zip(together.of(Refs).branches(), one_by_one.of(OneByOne).branches(), strict=True):
        assert mine.layers.inline_bytes == its.layers.inline_bytes


async def _answers(batch: list[Event], *, fixed: bool) -> tuple[list[Any], State, int]:
    """Of requests that come at once, the state in the end, and the number of records."""
    store = MemoryStore()
    journal = await Journal.open(ID, Schema(Refs), ObjectSlots(store, ID, aged=False), store, SystemClock(), Ids())
    for event in BEGIN:
        await journal.submit(AppendRequest(ANN, lambda state, event=event: (event,)))  # type: ignore[misc]
    journal.tail.state.of(Refs).collection._numbers.put("cut", CUT)
    asked = [
        AppendRequest(ANN, lambda state, event=event: (event,), event=event if fixed else None)  # type: ignore[misc]
        for event in batch
    ]
    answers = await asyncio.gather(*map(journal.submit, asked), return_exceptions=True)
    state = await journal.fresh()
    await journal.close()
    return [str(each) if isinstance(each, LochanError) else each for each in answers], state, state.number


@given(st.lists(puts, min_size=1, max_size=12))
def test_each_request_gets_its_own_answer(batch: list[Event]) -> None:
    async def play() -> None:
        answers, state, number = await _answers(batch, fixed=True)
        expected, other, its_number = await _answers(batch, fixed=False)
        assert (answers, number) == (expected, its_number)
        mine, its = state.of(Refs).branches(), other.of(Refs).branches()
        assert [branch.dump() for branch in mine] == [branch.dump() for branch in its]

    run(play())


@pytest.mark.parametrize(
    "refused, error",
    [
        pytest.param(put("missing", "x"), NotFound, id="no such branch"),
        pytest.param(put("locked", "x"), Protected, id="protected branch"),
        pytest.param(put("main", "x", CUT - 1), Gone, id="bytes from before a collection"),
    ],
)
def test_a_refused_one_fails_alone(refused: Event, error: type[LochanError]) -> None:
    async def play() -> None:
        batch = [put("main", "a"), put("main", "b"), refused, put("main", "c"), put("main", "d")]
        answers, state, number = await _answers(batch, fixed=True)
        assert number == len(BEGIN) + 1, "the others share a record"
        assert [each for each in answers if each == number] == [number] * 4
        assert isinstance(answers[2], str)
        assert state.of(Refs).branch("main").layers.count == 4

    run(play())


def test_a_long_run_makes_one_state_and_not_many(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    whole = Refs.apply_run

    def counting(self: Refs, events: Any, at: Any) -> Any:
        applied = whole(self, events, at)
        asked.append(applied.length)
        return applied

    main = folded(OneByOne, [])[0].of(OneByOne).branch("main")
    monkeypatch.setattr(Refs, "apply_run", counting)
    monkeypatch.setattr(Refs, "apply", None)
    state = Schema(Refs).empty(ID)
    state.of(Refs).branch_table.put("main", main)
    entries = tuple(RecordEntry(ANN, "", b"", (events.change(put("main", str(n))),)) for n in range(100))
    state.fold(records.encode(Record(1, bytes(16), "test", 1, ID, state.digest, entries)))
    assert asked == [100]
    assert state.of(Refs).branch("main").layers.count == 100
