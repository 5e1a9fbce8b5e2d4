"""A lake is copied while it is used. Whatever happens, the last complete backup gives a lake back."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext, suppress

import pytest

from lochan import failpoints
from lochan.clock import SystemClock
from lochan.errors import Corrupt, DiskFull, Gone, NotFound, Refused
from lochan.lake import Lake
from lochan.recovery.backup import MANIFEST, Backup, BackupManifest, read_manifest
from lochan.recovery.findings import Finding
from lochan.recovery.fsck import Fsck, FsckRequest
from lochan.recovery.rebuild_lake import LakeRebuild, RebuildRequest
from lochan.recovery.restore import RestoredLake
from lochan.recovery.verify_backup import verify_backup
from lochan.store.memory import MemoryStore
from lochan.versioning.collection.plan import plan
from lochan.versioning.collection.sweep import sweep
from tests.unit.recovery.history import ANN, NOW, Place, committed, make, play, written
from tests.unit.recovery.plants import shown

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def place() -> Place:
    return asyncio.run(make())


async def backed_up(store: MemoryStore, target: MemoryStore) -> BackupManifest:
    lake = await Lake.open(store)
    try:
        return (await Backup(lake, target, ANN).run())[0]
    finally:
        await lake.close()


async def restored(backup: MemoryStore) -> MemoryStore:
    target = MemoryStore()
    await RestoredLake(backup, target).run()
    return target


async def damage(store: MemoryStore) -> list[Finding]:
    work = Fsck(store, FsckRequest((), True, False), lambda: nullcontext(MemoryStore()), SystemClock())
    return [each async for each in work.run() if each.is_damage]


def test_the_new_lake_is_the_old_one(place: Place) -> None:
    async def play() -> None:
        store, target = await place.store(), MemoryStore("backup-1")
        await backed_up(store, target)
        await verify_backup(target)
        again = await restored(target)
        assert await damage(again) == []
        assert await shown(again) == await shown(store)
        check = LakeRebuild(again, RebuildRequest(check=True), lambda: nullcontext(MemoryStore()), SystemClock())
        assert [each.files async for each in check.run()] == [(), ()]
        with pytest.raises(NotFound):
            await Lake.open(target)  # a backup is no lake

    asyncio.run(play())


def test_a_second_backup_copies_what_is_new(place: Place) -> None:
    async def play() -> None:
        store, target = await place.store(), MemoryStore("backup-2")
        first = await backed_up(store, target)
        lake = await Lake.open(store)
        files = await lake.open_repository("files")
        await written(files, "main", "new", "new")
        await committed(files, "main", "new")
        await files.close()
        await lake.close()
        second = await backed_up(store, target)
        assert second.files < first.files / 2
        assert await shown(await restored(target)) == await shown(store)

    asyncio.run(play())


@pytest.mark.thorough
def test_while_everything_writes_and_garbage_is_collected() -> None:
    """Every backup is a state that the lake once had: of two objects that are always written in order, the second is
    never newer. What it names is all there, though garbage is collected at each step."""

    async def go() -> None:
        store, target = MemoryStore(), MemoryStore("backup-3")
        lake = await Lake.create(store)
        await lake.create_repository("files", actor=ANN)
        files = await lake.open_repository("files")
        await play(files)
        done = False

        async def write() -> None:
            number = 0
            while not done and number < 200:
                number += 1
                for path in ("x", "y"):
                    await again_if_collected(path, f"{number:06}")
                if number % 5 == 0:
                    await committed(files, "main", f"commit {number}")
                await asyncio.sleep(0)

        async def again_if_collected(path: str, text: str) -> None:
            while True:
                with suppress(Gone):  # without a grace, bytes may be too old before they are named
                    return await written(files, "main", path, text)

        async def collect() -> None:
            for _ in range(40):
                with suppress(Refused):
                    await plan(files, lake.id, NOW, actor=ANN)
                    await sweep(files, lake.id, NOW, actor=ANN)
                await asyncio.sleep(0)

        tasks = [asyncio.create_task(write()), asyncio.create_task(collect())]
        for _ in range(2):
            await backed_up(store, target)
            again = await restored(target)
            assert await damage(again) == []
            main = (await shown(again))["main"]
            assert b"000000" <= main.get("y", b"") <= main.get("x", b"") or "x" not in main
        done = True
        await asyncio.gather(*tasks)
        refs, _ = await files.refs()
        assert refs.collection.all_held() == []
        await files.close()
        await lake.close()

    asyncio.run(go())


class _Killed(BaseException):
    pass


@pytest.mark.parametrize("point", ["backup.held", "backup.snapshot", "copy.file", "copy.record", "backup.copied"])
def test_a_killed_backup_leaves_the_last_one(place: Place, point: str) -> None:
    async def go() -> None:
        store, target = await place.store(), MemoryStore(f"backup-{point}")
        await backed_up(store, target)
        before = await shown(store)
        lake = await Lake.open(store)
        files = await lake.open_repository("files")
        for number in range(3):
            await written(files, "main", "a/01", f"again {number}")
            await committed(files, "main", "again")
        await files.close()
        await lake.close()

        def kill(name: str) -> None:
            if name == point:
                raise _Killed

        failpoints.arm(kill)
        try:
            with pytest.raises(_Killed):
                await backed_up(store, target)
        finally:
            failpoints.arm(None)
        again = await restored(target)
        assert await damage(again) == []
        assert await shown(again) == before
        await backed_up(store, target)
        assert await shown(await restored(target)) == await shown(store)

    asyncio.run(go())


def test_a_place_that_holds_something_else_is_refused(place: Place) -> None:
    async def go() -> None:
        store = await place.store()
        other = MemoryStore("other")
        lake = await Lake.create(other)
        await lake.close()
        with pytest.raises(Refused, match="another lake"):
            await backed_up(store, other)
        foreign = MemoryStore("foreign")
        await foreign.put("holiday.jpg", b"")
        with pytest.raises(Refused, match="not empty"):
            await backed_up(store, foreign)
        backup = MemoryStore("of-another")
        await backed_up(other, backup)
        with pytest.raises(Refused, match="a backup of another lake"):
            await backed_up(store, backup)
        with pytest.raises(Refused, match="not empty"):
            await RestoredLake(backup, foreign).run()
        with pytest.raises(Refused, match="there is a lake"):
            await RestoredLake(backup, other).run()
        with pytest.raises(NotFound, match="no complete backup"):
            await RestoredLake(foreign, MemoryStore()).run()

    asyncio.run(go())


def test_a_lake_that_was_set_back_is_not_mixed_with_its_backup(place: Place) -> None:
    async def go() -> None:
        store, target = await place.store(), MemoryStore("set-back")
        await backed_up(store, target)
        older = await place.store()
        lake = await Lake.open(older)
        files = await lake.open_repository("files")
        for number in range(10):
            await written(files, "main", f"other/{number}", "another history")
        await files.close()
        await lake.close()
        with pytest.raises(Refused, match="restored from an older copy"):
            await backed_up(older, target)

    asyncio.run(go())


def test_damage_is_not_copied(place: Place) -> None:
    async def go() -> None:
        path = place.paths("data")[0]
        store, target = await place.store(**{path: b"?" * len(place.objects[path])}), MemoryStore("damaged")
        manifest = await backed_up(store, target)
        assert [each for each, _ in manifest.lost] == [path]
        with pytest.raises(NotFound):
            await target.get(path)
        await verify_backup(target)
        kept = [stat.path async for stat in target.list(f"{place.repository}/ranges/")]  # of the live ones
        await target.put(kept[0], b"?")
        with pytest.raises(Corrupt, match="are damaged"):
            await verify_backup(target)

    asyncio.run(go())


def test_no_room(place: Place) -> None:
    class Full(MemoryStore):
        left = 20

        async def put(self, path: str, data: bytes) -> None:
            self.left -= 1
            if self.left < 0:
                raise DiskFull("no room")
            await super().put(path, data)

    async def go() -> None:
        store, target = await place.store(), Full("full")
        with pytest.raises(DiskFull):
            await backed_up(store, target)
        with pytest.raises(NotFound):
            await read_manifest(target)
        target.left = 10_000
        await backed_up(store, target)
        assert await target.get(MANIFEST)

    asyncio.run(go())
