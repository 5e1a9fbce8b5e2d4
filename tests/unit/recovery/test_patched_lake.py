"""A lake whose trees have patches: collection keeps the bases, rebuild makes both again, fsck and backup know them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from lochan.errors import Corrupt, Gone
from lochan.formats.entry import Entry, Tombstone
from lochan.formats.entry_table import table_of
from lochan.formats.run import changes_table
from lochan.lake import Lake
from lochan.recovery.live_files import LiveCheck
from lochan.recovery.live_set import live_set
from lochan.recovery.rebuild import LOST, MADE, SAME, SAME_CONTENT
from lochan.recovery.rebuild_lake import RebuildRequest
from lochan.store.memory import MemoryStore
from lochan.store.threads import for_tables
from lochan.tree import patches
from lochan.tree.trees import Trees
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.refs import Refs
from tests.small_patches import ALWAYS, small_patches
from tests.unit.recovery.history import Place, make
from tests.unit.recovery.plants import ranges_of
from tests.unit.recovery.test_rebuild import rebuilt


@pytest.fixture(autouse=True)
def _every_range_is_patched() -> Iterator[None]:
    with small_patches():
        yield


@pytest.fixture
def place() -> Place:
    return asyncio.run(make())


async def read_everything(store: MemoryStore) -> int:
    """All entries of all branches, by one who has nothing in memory."""
    lake = await Lake.open(store)
    files: OpenRepository = await lake.open_repository("files")
    refs, _ = await files.refs()
    total = 0
    for branch in refs.branches():
        tree = await files.tree(refs.recorded(branch.head))
        total += sum([batch.num_rows async for batch in tree.scan()])
    await files.close()
    await lake.close()
    return total


def test_collection_keeps_the_base_of_a_patch(place: Place) -> None:
    collected = asyncio.run(make(collected=True))
    patched = [each for each in ranges_of(collected) if each.base is not None]
    assert patched
    for each in patched:
        assert each.base is not None
        assert f"{collected.repository}/{each.base.file}" in collected.objects
    whole = asyncio.run(read_everything(asyncio.run(place.store())))
    assert asyncio.run(read_everything(asyncio.run(collected.store()))) == whole


def test_everything_is_the_same_byte_for_byte(place: Place) -> None:
    found = rebuilt(asyncio.run(place.store()), RebuildRequest(check=True))
    assert found.files == ()
    assert set(found.outcomes) == {SAME}


def test_a_lake_that_was_written_without_patches_is_rebuilt_as_it_was(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert place.objects
    monkeypatch.setattr(patches, "STANDARD", patches.NEVER)
    old = asyncio.run(make())
    assert not any(each.base for each in ranges_of(old))
    monkeypatch.setattr(patches, "STANDARD", ALWAYS)
    found = rebuilt(asyncio.run(old.store()), RebuildRequest(check=True))
    assert found.files == ()
    assert set(found.outcomes) <= {SAME, SAME_CONTENT}


def test_no_tree_is_left(place: Place) -> None:
    gone = {path: None for folder in ("metaranges", "ranges") for path in place.paths(folder)}
    store = asyncio.run(place.store(**gone))
    found = rebuilt(store)
    assert [each for each in found.files if each.outcome == LOST] == []
    assert found.outcomes[MADE] > 5
    assert asyncio.run(read_everything(store)) == asyncio.run(read_everything(asyncio.run(place.store())))


def test_each_range_alone(place: Place) -> None:
    for path in place.paths("ranges"):
        store = asyncio.run(place.store(**{path: None}))
        found = rebuilt(store, RebuildRequest(missing=True))
        assert {each.path for each in found.files if each.outcome == MADE} <= {path}
        assert [each for each in found.files if each.outcome == LOST] == []


def test_a_backup_takes_the_bases_along(place: Place) -> None:
    async def live() -> set[str]:
        lake = await Lake.open(await place.store())
        journal = await lake.journal(place.repository)
        found = await live_set(lake.files, place.repository, (await journal.fresh()).of(Refs))
        assert found.damaged == ()
        await journal.close()
        await lake.close()
        return set(found.files)

    files = asyncio.run(live())
    bases = [each.base.file for each in ranges_of(place) if each.base is not None and each.file in files]
    assert bases
    assert set(bases) <= files


def named(path: str, content: str = "") -> Entry:
    return Entry(path, (), len(content), content, content, 0)


class _OneAfterAnother(MemoryStore):
    """Answers the first who asks for a file when the second has asked, and the second after that."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._asked = 0
        self._twice, self._answered = asyncio.Event(), asyncio.Event()

    async def get(self, path: str) -> bytes:
        if path == self._path:
            self._asked += 1
            if self._asked == 1:
                await self._twice.wait()
                self._answered.set()
            else:
                self._twice.set()
                await self._answered.wait()
        return await super().get(path)


def test_a_base_that_is_gone_is_told_though_a_patch_of_it_is_read_at_the_same_time() -> None:
    async def check() -> LiveCheck:
        trees = Trees(MemoryStore(), "repo")
        base = await trees.build(table_of([named(name) for name in "abc"]), 1)
        patched = await trees.apply(base, changes_table([named("a", "other")]), 2)
        assert patched.ranges[0].base == base.ranges[0]
        store = _OneAfterAnother(f"repo/{base.ranges[0].file}")
        async for stat in trees._store.list("repo/"):
            if base.ranges[0].file not in stat.path:
                await store.put(stat.path, await trees._store.get(stat.path))
        found = LiveCheck(store, "repo", for_tables())
        await asyncio.wait_for(found.check([base.ref, patched.ref], []), 60)
        return found

    found = asyncio.run(check())
    assert [(each.what, each.file.partition("/")[0]) for each in found.damaged.values()] == [("missing", "ranges")]


@pytest.mark.parametrize("what", ["flipped", "cut", "missing"])
def test_damage_of_a_base_or_a_patch_is_told_and_never_read(what: str) -> None:
    """By fsck, and by readers of both trees: rows that are wrong are never returned."""

    async def play(harmed: int) -> None:
        store = MemoryStore()
        trees = Trees(store, "repo")
        base = await trees.build(table_of([named(name) for name in "abc"]), 1)
        patched = await trees.apply(base, changes_table([named("a", "other")]), 2)
        file = (patched.ranges[0], base.ranges[0])[harmed].file
        data = await store.get(f"repo/{file}")
        await store.delete(f"repo/{file}")
        if what != "missing":
            middle = len(data) // 2
            bad = data[:middle] if what == "cut" else data[:40] + bytes([data[40] ^ 255]) + data[41:]
            await store.put(f"repo/{file}", bad)
        found = LiveCheck(store, "repo", for_tables())
        await found.check([patched.ref], [])
        assert [*found.damaged] == [file]
        reader = await Trees(store, "repo").open(patched.ref)
        with pytest.raises((Corrupt, Gone)):
            await reader.get("b")

    for harmed in (0, 1):
        asyncio.run(play(harmed))


def test_a_range_that_was_a_base_first_still_tells_its_entries() -> None:
    async def play() -> list[str]:
        store = MemoryStore()
        trees = Trees(store, "repo")
        base = await trees.build(table_of([named(name) for name in "abc"]), 1)
        patched = await trees.apply(base, changes_table([Tombstone("a")]), 2)
        told: list[str] = []
        found = LiveCheck(store, "repo", for_tables(), lambda file, rows: told.extend(rows["path"].to_pylist()))
        await found.check([patched.ref], [])
        assert told == ["b", "c"]
        await found.check([base.ref], [])
        return told

    assert asyncio.run(play()) == ["b", "c", "a", "b", "c"]
