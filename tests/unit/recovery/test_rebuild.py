"""Derived files are made again, with the same names and bytes, and what cannot be is listed with its reason (V5)."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

import pytest

from lochan.clock import SystemClock
from lochan.errors import Corrupt
from lochan.recovery.journal_walk import JournalDamage
from lochan.recovery.rebuild import LOST, MADE, SAME
from lochan.recovery.rebuild_lake import JournalRebuild, LakeRebuild, RebuildRequest
from lochan.store.memory import MemoryStore
from tests.unit.recovery.history import Place, make

pytestmark = pytest.mark.thorough

ALL = RebuildRequest()


@pytest.fixture(scope="module")
def place() -> Place:
    return asyncio.run(make())


def rebuilt(store: MemoryStore, request: RebuildRequest = ALL) -> JournalRebuild:
    async def run() -> JournalRebuild:
        work = LakeRebuild(store, request, lambda: nullcontext(MemoryStore()), SystemClock())
        return [each async for each in work.run()][-1]

    return asyncio.run(run())


def test_everything_is_the_same_byte_for_byte(place: Place) -> None:
    found = rebuilt(asyncio.run(place.store()), RebuildRequest(check=True))
    assert found.files == ()
    assert set(found.outcomes) == {SAME}
    # Every live tree, run and checkpoint has a recipe: only what a bulk load staged is primary.
    live = len(place.paths("metaranges")) + len(place.paths("ranges"))
    assert found.outcomes[SAME] > live / 2
    assert found.primary == 0


def test_no_tree_and_no_checkpoint_is_left(place: Place) -> None:
    gone = {path: None for folder in ("metaranges", "ranges", "checkpoints") for path in place.paths(folder)}

    async def play() -> tuple[MemoryStore, MemoryStore]:
        return await place.store(**gone), await place.store()

    store, whole = asyncio.run(play())
    found = rebuilt(store)
    assert [each for each in found.files if each.outcome == LOST] == []
    assert found.outcomes[MADE] > 10
    for each in found.files:
        if each.kind != "checkpoint":
            assert asyncio.run(store.get(each.path)) == asyncio.run(whole.get(each.path))
    assert rebuilt(store, RebuildRequest(check=True)).files == ()


@pytest.mark.parametrize("folder", ["metaranges", "ranges", "runs", "checkpoints"])
def test_each_file_alone(place: Place, folder: str) -> None:
    """A flipped bit: the file is made again, and the damaged one is moved aside."""
    for path in place.paths(folder):
        data = place.objects[path]
        damaged = data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]
        store = asyncio.run(place.store(**{path: damaged}))
        found = rebuilt(store, RebuildRequest(missing=True))
        for each in found.files:
            assert each.path == path
            if each.outcome == MADE:
                assert asyncio.run(store.get(path)) == data
                assert asyncio.run(_aside(store)) == [damaged]
            else:
                assert each.reason
                assert asyncio.run(store.get(path)) == damaged


async def _aside(store: MemoryStore) -> list[bytes]:
    return [await store.get(stat.path) async for stat in store.list("_lake/quarantine/")]


def test_what_a_commit_was_made_from_is_kept_while_the_commit_is(place: Place) -> None:
    collected = asyncio.run(make(collected=True))
    assert not set(collected.paths("runs")) >= set(place.paths("runs"))
    gone = dict.fromkeys((*collected.paths("metaranges"), *collected.paths("ranges")))
    found = rebuilt(asyncio.run(collected.store(**gone)))
    assert [each for each in found.files if each.outcome == LOST] == []
    assert len([each for each in found.files if each.outcome == MADE]) > 10


def test_inputs_that_are_gone_are_named(place: Place) -> None:
    collected = asyncio.run(make(collected=True))
    assert rebuilt(asyncio.run(collected.store()), RebuildRequest(missing=True)).files == ()
    gone = dict.fromkeys((*collected.paths("metaranges"), *collected.paths("ranges"), *collected.paths("runs")))
    found = rebuilt(asyncio.run(collected.store(**gone)))
    lost = [each for each in found.files if each.outcome == LOST]
    made = [each for each in found.files if each.outcome == MADE]
    assert made  # what was staged one by one is in the journal
    assert all("cannot be read" in each.reason or "primary" in each.reason for each in lost)
    assert any("runs/" in each.reason for each in lost)


def test_a_damaged_record_stops_it_by_name(place: Place) -> None:
    slots = [path for path in place.paths("journal") if path.rpartition("/")[2].isdigit()]
    damaged = dict.fromkeys(slots[10:11], place.objects[slots[10]][:-1])
    with pytest.raises(JournalDamage) as error:
        rebuilt(asyncio.run(place.store(**damaged)))
    assert isinstance(error.value, Corrupt)
    assert (error.value.number, error.value.path) == (11, slots[10])


def test_a_missing_record_stops_it_by_name(place: Place) -> None:
    slots = [path for path in place.paths("journal") if path.rpartition("/")[2].isdigit()]
    with pytest.raises(JournalDamage, match=r"record 11 .* is missing"):
        rebuilt(asyncio.run(place.store(**dict.fromkeys(slots[10:11]))))


def test_elsewhere(place: Place) -> None:
    elsewhere = MemoryStore()
    rebuilt(asyncio.run(place.store()), RebuildRequest(to=elsewhere))

    async def same() -> list[bool]:
        return [await elsewhere.get(stat.path) == place.objects[stat.path] async for stat in elsewhere.list("")]

    found = asyncio.run(same())
    assert len(found) > 10
    assert all(found)
