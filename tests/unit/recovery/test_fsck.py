"""Every kind of file, damaged in every way: fsck names the damage, and no reader is given anything wrong."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from lochan.clock import SystemClock
from lochan.errors import Corrupt, FutureFormat, Gone, NotFound
from lochan.lake import Lake
from lochan.recovery.findings import KINDS, Finding
from lochan.recovery.fsck import Fsck, FsckRequest
from lochan.store.memory import MemoryStore
from tests.unit.recovery.history import Place, make

NUMBER = r"\d{20}"
# The files of a lake, and what is found if one is damaged, or is gone. Some damage looks like another kind of damage.
FILES: dict[str, tuple[str, set[str], set[str]]] = {
    "lake.json": (r"lake\.json", {"lake-damaged"}, {"lake-missing"}),
    "key": (r"_lake/keys/.+", {"key-damaged"}, set()),
    "job": (r"_lake/jobs/.+", {"job-damaged"}, set()),
    "record of the lake": (
        rf"_lake/journal/{NUMBER}",
        {"record-damaged", "record-misplaced", "chain-broken"},
        {"record-missing"},
    ),
    "record": (rf"ID/journal/{NUMBER}", {"record-damaged", "record-misplaced", "chain-broken"}, {"record-missing"}),
    "checkpoint": (rf"ID/checkpoints/{NUMBER}", {"checkpoint-damaged", "checkpoint-differs"}, set()),
    "run": (r"ID/runs/.+", {"run-damaged"}, {"run-missing"}),
    "metarange": (r"ID/metaranges/.+", {"metarange-damaged"}, {"metarange-missing"}),
    "range": (r"ID/ranges/.+", {"range-damaged"}, {"range-missing"}),
    "plan": (r"ID/plans/.+-[0-9a-f]{64}\.(?:parquet|json)", {"plan-damaged"}, {"plan-missing"}),
    "report": (r"ID/plans/.+-report\.json", {"report-damaged"}, set()),
    "data": (r"ID/data/.+", {"data-damaged", "data-short"}, {"data-missing"}),
}


def flipped(share: float, bit: int) -> Callable[[bytes, bytes], bytes]:
    def damage(data: bytes, _: bytes) -> bytes:
        at = min(int(len(data) * share), len(data) - 1)
        return data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]

    return damage


WAYS: dict[str, Callable[[bytes, bytes], bytes | None]] = {
    **{f"a bit at {share}": flipped(share, at) for at, share in enumerate((0, 0.2, 0.4, 0.6, 0.8, 0.97, 1))},
    "cut": lambda data, _: data[: len(data) * 2 // 3],
    "cut by a byte": lambda data, _: data[:-1],
    "empty": lambda data, _: b"",
    "the end is zeros": lambda data, _: data[: len(data) // 2] + bytes(len(data) - len(data) // 2),
    "another file of its kind": lambda data, other: other,
    "gone": lambda data, _: None,
}


@pytest.fixture(scope="module")
def place() -> Place:
    return asyncio.run(make(collected=True))


async def findings(store: MemoryStore, *, data: bool = True, repair: bool = False) -> list[Finding]:
    work = Fsck(store, FsckRequest((), data, repair), lambda: nullcontext(MemoryStore()), SystemClock())
    return [each async for each in work.run()]


def paths(place: Place, name: str) -> list[str]:
    pattern = FILES[name][0].replace("ID", place.repository)
    return sorted(path for path in place.objects if re.fullmatch(pattern, path))


def test_nothing_is_wrong_with_a_lake(place: Place) -> None:
    found = asyncio.run(findings(asyncio.run(place.store())))
    assert [each for each in found if each.is_damage] == []


def test_every_file_has_a_kind(place: Place) -> None:
    known = {path for name in FILES for path in paths(place, name)}
    others = sorted(set(place.objects) - known)
    rest = rf"(_lake|{place.repository})/(journal/sync|checkpoints/.+|plans/clock|workspaces/_committed/.+)"
    assert [path for path in others if not re.fullmatch(rest, path)] == []
    assert [name for name in FILES if not paths(place, name)] == []


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FILES)
def test_damage_is_found_and_not_served(place: Place, name: str, way: str) -> None:
    async def play() -> None:
        _, damaged, gone = FILES[name]
        every = paths(place, name)
        for path in _some(every):
            data = place.objects[path]
            others = (place.objects[each] for each in every)
            other = next((each for each in others if not each.startswith(data)), None)  # what is longer holds it too
            if other is None and way == "another file of its kind":
                continue
            planted = WAYS[way](data, other or b"")
            store = await place.store(**{path: planted})
            found = await findings(store)
            kinds = {each.kind for each in found if each.is_damage}
            if way == "gone":
                expected = gone or {""}
                if name.startswith("record") and path == every[-1]:
                    expected = {""}  # the last record: nobody can tell that there was one
                if name == "run" and not kinds:
                    expected = {""}  # a commit was made from it, and only a rebuild would need it
                assert kinds & expected or (expected == {""} and not kinds), (path, kinds)
            elif kinds:
                assert kinds <= damaged | {"record-missing"}, (path, kinds)
                said = [f"{each.path} {each.detail}" for each in found if each.is_damage]
                assert any(path in each for each in said), (path, said)
            else:
                assert name in ("metarange", "range"), (path, kinds)  # a bit of Parquet that holds nothing
                assert way.startswith("a bit")
            assert await shown(store) in (await _truth(place), "told")

    asyncio.run(play())


def _some(every: list[str]) -> list[str]:
    return every if len(every) <= 4 else [every[0], every[len(every) // 2], every[-2], every[-1]]


async def shown(store: MemoryStore) -> Any:
    """What readers see of every branch and commit; `told`: an error."""
    seen: dict[str, Any] = {}
    try:
        lake = await Lake.open(store)
        try:
            files = await lake.open_repository("files")
            try:
                refs, _ = await files.refs()
                for branch in refs.branches():
                    view = await files.view(await files.resolve(branch.name))
                    entries = (await view.list("", "", limit=10_000)).entries
                    seen[branch.name] = {entry.path: await files.reader.read_all(entry) for entry in entries}
            finally:
                await files.close()
        finally:
            await lake.close()
    except (Corrupt, Gone, FutureFormat, NotFound):
        return "told"
    return seen


_KNOWN: dict[str, Any] = {}


async def _truth(place: Place) -> Any:
    if place.lake not in _KNOWN:
        _KNOWN[place.lake] = await shown(await place.store())
    return _KNOWN[place.lake]


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
                    assert await shown(store) == await _truth(place)
                assert not any(each.is_damage for each in await findings(store))
            else:
                assert "cannot be made again" in found[0].detail
                assert await store.get(path) == data[:-7]
        assert repaired

    asyncio.run(play())


def test_every_kind_says_what_can_be_done() -> None:
    for kind in KINDS.values():
        assert kind.meaning
        assert kind.remedy
