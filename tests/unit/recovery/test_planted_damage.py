"""Every kind of file, damaged in every way: fsck names the damage, and no reader is given anything wrong."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from dataclasses import replace

import pytest

from lochan.lake import Lake
from lochan.recovery.journal_walk import slot_path
from lochan.recovery.scrub import scrub_step
from lochan.versioning.collection.dedupe import dedupe
from tests.small_patches import small_patches
from tests.unit.recovery.history import ANN, Place, collect, make, written
from tests.unit.recovery.plants import FILES, OTHERS, WAYS, findings, paths, plants, shown, truth

pytestmark = pytest.mark.thorough

_PLANTS_MIN = 500
_SEGMENT = 256
_SAME = "the same bytes, to be deduped"


@pytest.fixture(scope="module")
def place() -> Place:
    """With whatever a lake may have: patches, segments, aliases, a report of a scrub."""
    with small_patches():
        return asyncio.run(_made())


async def _made() -> Place:
    made = await make(collected=True)
    store = await made.store()
    lake = await Lake.open(store)
    files = await lake.open_repository("files")
    for number in range(_SEGMENT):
        await written(files, "topic", f"y/{number % 4}", _SAME)
    assert len((await dedupe(files, actor=ANN)).aliases) >= 3
    await collect(files, lake.id)
    await scrub_step(files, rate=1_000_000)
    await files.journal.checkpoint()
    await files.journal.trim()
    await files.close()
    await lake.close()
    packed = {slot_path(made.repository, number) for number in range(_SEGMENT)}  # a trimmer deletes them a day later
    left = [stat.path async for stat in store.list("") if stat.path not in packed]
    return replace(made, objects={path: await store.get(path) for path in left})


def test_nothing_is_wrong_with_the_lake(place: Place) -> None:
    found = asyncio.run(findings(asyncio.run(place.store())))
    assert [each for each in found if each.is_damage] == []


def test_every_file_has_a_kind(place: Place) -> None:
    known = {path for name in FILES for path in paths(place, name)}
    others = sorted(set(place.objects) - known)
    assert [path for path in others if not re.fullmatch(OTHERS, path)] == []
    assert [name for name in FILES if not paths(place, name)] == []


def test_so_many_are_planted(place: Place) -> None:
    planted = Counter(name for name in FILES for way in WAYS for _ in plants(place, name, way))
    print(f"{planted.total()} planted damages of {len(planted)} kinds of files: {dict(planted)}")
    assert planted.total() >= _PLANTS_MIN
    assert planted.keys() == FILES.keys()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FILES)
def test_damage_is_found_and_not_served(place: Place, name: str, way: str) -> None:
    async def play() -> None:
        kind = FILES[name]
        for path, data, is_last in plants(place, name, way):
            store = await place.store(**{path: data})
            found = [each for each in await findings(store) if each.is_damage]
            kinds = {each.kind for each in found}
            if way == "gone":
                # Nobody can tell that there was a last record; and of a run that a commit was made from, only a rebuild
                # would need it.
                unseen = not kind.gone or (name.startswith("record") and is_last) or name == "run"
                assert kinds & kind.gone or (unseen and not kinds), (path, kinds)
            elif kinds:
                assert kinds <= kind.damaged | {"record-missing"}, (path, kinds)
                said = [f"{each.path} {each.detail}" for each in found]
                assert any(path in each for each in said), (path, said)
            else:
                assert kind.is_parquet and way.startswith("a bit"), (path, "nothing was found")
            assert await shown(store) in (await truth(place), "told"), path

    asyncio.run(play())
