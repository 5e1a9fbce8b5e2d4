"""Every kind of file of a lake, damaged in every way: what is shown is right, or the damage is reported."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from lochan.access.users import ensure_admin
from lochan.api.lake import read_events
from lochan.errors import Corrupt
from lochan.formats import job
from lochan.formats.entry_table import table_of
from lochan.jobs.record import job as job_record
from lochan.journal.trim import TrimResult
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from lochan.versioning.bodies.write import Batch
from lochan.versioning.bulk import puts, stage
from lochan.versioning.heads.commit import CommitRequest as Commit
from lochan.versioning.heads.commit import commit
from lochan.versioning.objects import put
from tests.run import run
from tests.unit.engines.lake import ANN, QueryLake
from tests.unit.pools.place import once

JOB = job.JobRecord(1, "2YbqGSxjZ1ZrbNTLhGzTPuOjz8X", "query", "logs", "ann", "", "", "", 1_000, 2_000, state=job.DONE)
ID, NUMBER = "[0-9A-Za-z]{27}", r"\d{20}"


@dataclass(frozen=True)
class Kind:
    pattern: str
    harmless: bool = False  # if it is damaged, readers do without it
    by_content: bool = False  # its name tells what it holds, and bits of Parquet that hold nothing do not matter

    def __str__(self) -> str:
        return self.pattern


KINDS = {
    "lake.json": Kind(r"lake\.json"),
    "record of the lake": Kind(rf"_lake/journal/{NUMBER}"),
    "record of a repository": Kind(rf"FILES/journal/{NUMBER}"),
    "segment": Kind(rf"FILES/journal/seg/{NUMBER}"),
    "checkpoint": Kind(rf"FILES/checkpoints/{NUMBER}", harmless=True),
    "run": Kind(r"FILES/runs/.+"),
    "metarange": Kind(r"FILES/metaranges/.+", by_content=True),
    "range": Kind(r"FILES/ranges/.+", by_content=True),
    "body": Kind(rf"FILES/data/{NUMBER}-{ID}/.+"),
    "metarange of a pool": Kind(r"LOGS/metaranges/.+", by_content=True),
    "range of a pool": Kind(r"LOGS/ranges/.+", by_content=True),
    "data object": Kind(rf"LOGS/data/{NUMBER}-{ID}/.+"),
    "key of secrets": Kind(r"_lake/keys/secrets"),
    "key of tokens": Kind(r"_lake/keys/address-tokens"),
    "job": Kind(rf"_lake/jobs/{ID}\.json"),
}


def _flipped(share: float, bit: int) -> Callable[[bytes, bytes], bytes]:
    def damage(data: bytes, _: bytes) -> bytes:
        at = min(int(len(data) * share), len(data) - 1)
        return data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]

    return damage


WAYS: dict[str, Callable[[bytes, bytes], bytes]] = {
    **{
        f"a bit at {share}": _flipped(share, number % 8)
        for number, share in enumerate((0, 0.1, 0.3, 0.5, 0.8, 0.99, 1))
    },
    "cut": lambda data, _: data[: len(data) * 2 // 3],
    "empty": lambda data, _: b"",
    "the end is zeros": lambda data, _: data[: len(data) // 2] + bytes(len(data) - len(data) // 2),
    "another file of its kind": lambda data, other: other,
}


@dataclass(frozen=True)
class Place:
    objects: dict[str, bytes]
    ids: dict[str, str]  # of the repositories
    truth: Any

    def paths(self, kind: Kind) -> list[str]:
        pattern = kind.pattern.replace("FILES", self.ids["files"]).replace("LOGS", self.ids["logs"])
        return [path for path in self.objects if re.fullmatch(pattern, path)]


@pytest.fixture(scope="module")
def place() -> Place:
    return run(_made())


async def _made() -> Place:
    store = MemoryStore()
    lake = await Lake.create(store)
    await ensure_admin(lake.open_access(), actor=ANN)
    await lake.create_repository("files", actor=ANN)
    files = await lake.open_repository("files")
    await files.token_key.get()
    for number in range(255):
        await put(files, "main", f"p{number:03}", once(b"%d" % number), actor=ANN)
    await commit(files, "main", Commit("one"), actor=ANN)
    _, mint = await files.refs()
    batch = Batch(files.bodies, mint)
    for number in range(600):
        await batch.write(f"staged/{number:03}", once(b"staged %d" % number))
    changes = puts(table_of(sorted(await batch.finish(), key=lambda entry: entry.path)))
    await stage(files, "main", changes, actor=ANN, read_at=mint)
    assert isinstance(await files.journal.trim(), TrimResult)
    fixture = QueryLake(lake)
    await fixture.pool("logs", [{"k": 1, "x": 1}], [{"k": 2, "x": 2}])
    await store.put(job.path_of(JOB.id), job.encode(JOB))
    ids = {each.name: each.id for each in await lake.repositories()}
    await files.close()
    await lake.close()
    for path in [stat.path async for stat in store.list("") if re.search(rf"/journal/{NUMBER}$", stat.path)]:
        if path.startswith(ids["files"]) and int(path.rpartition("/")[2]) < 256:
            await store.delete(path)  # what the trimmer does a day later
    objects = {stat.path: await store.get(stat.path) async for stat in store.list("")}
    return Place(objects, ids, await _everything(store))


async def _everything(store: MemoryStore) -> Any:
    """Reads everything that a lake reports about itself. Raises Corrupt."""
    lake = await Lake.open(store)
    try:
        files = await lake.open_repository("files")
        shown: dict[str, Any] = {"repositories": await lake.repositories()}
        try:
            view = await files.view(await files.resolve("main"))
            entries = (await view.list("", "", limit=10_000)).entries
            shown["bodies"] = {entry.path: await files.reader.read_all(entry) for entry in entries}
            shown["tokens"] = await files.token_key.get()
        finally:
            await files.close()
        shown["events"] = [line async for line in read_events(lake, "files")][-3:]
        shown["rows"] = await QueryLake(lake).rows("from logs")
        shown["secret"] = await lake.open_access().encryption.get()
        shown["job"] = await job_record(store, JOB.id, 0)
        return shown
    finally:
        await lake.close()


def test_there_is_a_file_of_every_kind_and_no_other(place: Place) -> None:
    named = {name: place.paths(kind) for name, kind in KINDS.items()}
    assert [name for name, paths in named.items() if not paths] == []
    known = {path for paths in named.values() for path in paths}
    others = [path for path in place.objects if path not in known]
    assert [path for path in others if not re.match(rf"{place.ids['logs']}/(journal|checkpoints)/", path)] == []


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KINDS)
def test_damage_is_reported_or_harmless(place: Place, name: str, way: str) -> None:
    async def play() -> None:
        kind = KINDS[name]
        paths = place.paths(kind)
        if way == "another file of its kind" and len(paths) == 1:
            pytest.skip("there is one only")
        outcomes = [
            await _outcome(place, path, WAYS[way], paths) for path in (paths if kind.by_content else paths[-1:])
        ]
        if kind.harmless:
            assert outcomes == ["right"]
        elif kind.by_content and way.startswith("a bit"):
            assert set(outcomes) <= {"right", "told"}
        else:
            assert "told" in outcomes  # of several, some may be of commits that nobody looked at
            assert set(outcomes) <= ({"right", "told"} if kind.by_content else {"told"})

    run(play())


async def _outcome(place: Place, path: str, damage: Callable[[bytes, bytes], bytes], paths: list[str]) -> str:
    data = place.objects[path]
    damaged = damage(data, place.objects[next((each for each in paths if each != path), path)])
    assert damaged != data
    store = MemoryStore()
    for each, whole in place.objects.items():
        await store.put(each, damaged if each == path else whole)
    try:
        shown = await _everything(store)
    except Corrupt as error:
        return "told" if error.message else "wordless"
    return "right" if shown == place.truth else "wrong"
