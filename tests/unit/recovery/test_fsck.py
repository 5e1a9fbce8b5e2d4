"""What fsck says of a lake that is whole, what it repairs, and what it leaves alone."""

from __future__ import annotations

import asyncio

import pytest

from lochan.recovery.findings import KINDS
from tests.unit.recovery.history import Place, make
from tests.unit.recovery.plants import findings, paths, shown, truth

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def place() -> Place:
    return asyncio.run(make(collected=True))


def test_nothing_is_wrong_with_a_lake(place: Place) -> None:
    found = asyncio.run(findings(asyncio.run(place.store())))
    assert [each for each in found if each.is_damage] == []


def test_what_is_there_besides(place: Place) -> None:
    async def play() -> set[str]:
        store = await place.store(
            **{
                f"{place.repository}/notes.txt": b"mine",
                "photo.jpg": b"mine too",
                "2YbqGSxjZ1ZrbNTLhGzTPuOjz8X/journal/00000000000000000001": b"of a load that was killed",
                f"{place.repository}/ranges/{'0' * 64}-1-{'0' * 16}.parquet": b"of a commit that was killed",
                "_lake/quarantine/1/x": b"moved aside",
            }
        )
        found = await findings(store)
        assert not any(each.is_damage for each in found)
        return {each.kind for each in found}

    assert asyncio.run(play()) >= {"file-foreign", "repository-unnamed", "file-unnamed", "file-quarantined"}


@pytest.mark.parametrize("name", ["metarange", "range", "run", "checkpoint", "job", "report"])
def test_repair_replaces_what_is_derived(place: Place, name: str) -> None:
    async def play() -> None:
        repaired = 0
        for path in paths(place, name):
            data = place.objects[path]
            store = await place.store(**{path: data[:-7]})
            found = [each for each in await findings(store, repair=True) if each.is_damage]
            if not found:
                continue  # nothing names it
            assert [each.path for each in found] == [path]
            aside = [await store.get(stat.path) async for stat in store.list("_lake/quarantine/")]
            if found[0].repaired:
                repaired += 1
                assert aside == [data[:-7]]
                if name not in ("job", "report"):
                    assert await store.get(path) == data
                    assert await shown(store) == await truth(place)
                assert not any(each.is_damage for each in await findings(store))
            else:
                assert "cannot be made again" in found[0].detail
                assert await store.get(path) == data[:-7]
        assert repaired

    asyncio.run(play())


def test_a_lost_key_is_noted(place: Place) -> None:
    async def play() -> None:
        assert "key-missing" not in {each.kind for each in await findings(await place.store())}
        [lost] = await findings(await place.store(**{"_lake/keys/secrets": None}))
        assert (lost.kind, lost.is_damage, lost.detail) == ("key-missing", False, "access keys: 1")

    asyncio.run(play())


def test_every_kind_says_what_can_be_done() -> None:
    for kind in KINDS.values():
        assert kind.meaning
        assert kind.remedy
