"""Writers of several processes take turns, and one that knows of no other never waits."""

import asyncio
from pathlib import Path

import pytest

from lochan.clock import SystemClock
from lochan.formats.lake_events import RepositoryCreated
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.journal.group import AppendRequest
from lochan.journal.journal import Journal, Settings
from lochan.journal.rivals import Rivals
from lochan.journal.slots import ObjectSlots
from lochan.journal.state import Schema
from lochan.store.local import LocalStore
from lochan.versioning.repositories import Repositories
from tests.run import run

EACH = 200


class HandClock(SystemClock):
    def __init__(self) -> None:
        self.at = 5.0

    def boot(self) -> float:
        return self.at


def rivals(*others: str, clock: HandClock | None = None) -> Rivals:
    found = Rivals("ben", clock or HandClock(), aged=False)
    for other in others:
        found.saw(other)
    return found


def test_a_lone_writer_waits_for_nobody() -> None:
    alone = rivals()
    for _ in range(100):
        alone.appended(0.01)
        assert not alone.ahead()


@pytest.mark.parametrize(
    ("last", "ahead"),
    [
        pytest.param("ann", [], id="it is our turn"),
        pytest.param("ben", ["cat", "ann"], id="after our own record"),
        pytest.param("cat", ["ann"], id="around the end of the circle"),
        pytest.param("bob", ["cat", "ann"], id="a newcomer has its place at once"),
    ],
)
def test_the_circle_goes_by_name(last: str, ahead: list[str]) -> None:
    some = rivals("ann", "cat", *([last] if last != "ben" else []))
    if last == "ben":
        some.appended(0.01)
    assert some.ahead() == ahead


def test_one_whose_turn_passes_is_left_out_until_it_appends_again() -> None:
    some = rivals("ann", "cat")
    some.appended(0.01)
    some.forget("cat")
    assert some.ahead() == ["ann"]
    some.forget("ann")
    assert not some.ahead()
    some.saw("cat")
    some.appended(0.01)
    assert some.ahead() == ["cat"]


def test_others_that_are_gone_are_forgotten() -> None:
    clock = HandClock()
    some = rivals("ann", "cat", clock=clock)
    some.appended(0.01)
    clock.at += 10
    assert not some.ahead()


def test_one_of_those_that_are_near_leads() -> None:
    clock = HandClock()
    assert rivals(clock=clock).leads
    assert rivals("cat", clock=clock).leads
    second = rivals("ann", "cat", clock=clock)
    assert not second.leads
    clock.at += 10
    assert second.leads, "the first one is gone"


@pytest.mark.parametrize("ahead", [1, 3, 100])
@pytest.mark.parametrize("took_s", [0.0, 0.0003, 0.02, 30.0])
@pytest.mark.parametrize("aged", [True, False])
def test_a_turn_is_short_however_long_an_append_takes(ahead: int, took_s: float, aged: bool) -> None:
    some = Rivals("ben", HandClock(), aged=aged)
    some.appended(took_s)
    assert 0 < sum(some.looks(ahead)) < 1.6
    assert max(some.looks(ahead)) <= 0.5


def test_two_writers_share_the_numbers(tmp_path: Path) -> None:
    """Neither starves: both want all that they can get, and each has its part of the records."""
    run(_two_writers(tmp_path))


async def _two_writers(tmp_path: Path) -> None:
    LocalStore(str(tmp_path), create=True)
    journals = [await _journal(tmp_path, name) for name in ("a", "b")]

    async def client(at: int, number: int) -> None:
        for each in range(EACH // 8):
            await journals[at].submit(_create(f"r-{at}-{number}-{each}"))

    await asyncio.gather(*(client(at, number) for at in (0, 1) for number in range(8)))
    records = [sealed.record async for sealed in journals[0].records()]
    for journal in journals:
        await journal.close()
    assert sum(len(record.entries) for record in records) == 2 * EACH
    middle = [record.writer for record in records[5 : len(records) * 2 // 3]]
    assert 0.25 < middle.count("a") / len(middle) < 0.75


def _create(name: str) -> AppendRequest:
    event = RepositoryCreated(name.rjust(27, "0"), name, "files", "main")
    return AppendRequest(Actor("ada", "test/1", ""), lambda state: [event])


async def _journal(folder: Path, writer: str) -> Journal:
    store = LocalStore(str(folder))
    slots = ObjectSlots(store, "_lake", aged=False)
    schema = Schema(Repositories)
    settings = Settings(writer, trims=False)
    return await Journal.open("_lake", schema, slots, store, SystemClock(), Ids(), settings)
