"""A repository whose files lie in a folder of its own, beside the lake: every verb follows, and what cannot be is
refused with nothing made."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import lochan
from lochan.connection import configuration
from lochan.errors import AlreadyExists, Invalid, LochanError, NotFound, Refused
from lochan.lake import Lake as OpenLake
from lochan.lake_check import restore
from lochan.store.local import LocalStore

pytestmark = pytest.mark.thorough


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[lochan.Lake]:
    async def made() -> None:
        await (await OpenLake.create(LocalStore(str(tmp_path / "lake"), create=True))).close()

    asyncio.run(made())
    with lochan.connect(tmp_path / "lake", user="ann") as found:
        yield found


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_files_lie_in_the_storage_and_nowhere_else(lake: lochan.Lake, tmp_path: Path) -> None:
    own, home = tmp_path / "own", tmp_path / "lake"
    shop = lake.create_repository("shop", storage=str(own))
    main = shop.branch("main")
    main.put("a.txt", b"one")
    main.commit("first")
    id = shop.show().id
    assert shop.show().storage == own.as_uri()
    assert not [path for path in files(home) if id in path], "nothing of it is in the lake"
    assert "storage.json" in files(own) and any(path.startswith(f"{id}/journal/") for path in files(own))
    with lochan.connect(home) as other:
        assert other.repository("shop").ref("main").read("a.txt") == b"one"
        assert [each.text for each in other.events("_lake")][-1] == f"created repository shop in {own.as_uri()}"
    # Beside one that lies in the lake, between which objects are copied.
    there = lake.create_repository("there")
    for size in (3, 5_000_000):
        main.put("a.txt", b"x" * size)
        there.branch("main").copy(main, "a.txt", "b.txt")
        main.copy(there.branch("main"), "b.txt", "c.txt")
        assert there.ref("main").read("b.txt") == main.read("c.txt") == b"x" * size
    with lochan.connect(home) as other:
        assert other.repository("shop").ref("main").read("c.txt") == b"x" * 5_000_000
        assert other.repository("there").ref("main").read("b.txt") == b"x" * 5_000_000
    assert lake.fsck(data=True).damaged == 0


def test_a_pool_elsewhere(lake: lochan.Lake, tmp_path: Path) -> None:
    logs = lake.create_pool("logs", key="k", storage=str(tmp_path / "own"))
    here = lake.create_pool("here", key="k")
    for number in range(3):
        logs.load([{"k": number, "v": "x"}])
        here.load([{"k": number, "w": "y"}])
    assert len(list(lake.query("select * from logs join here on logs.k = here.k").rows())) == 3
    logs.delete_rows("k == 0")
    logs.compact()
    assert [row["k"] for row in lake.query("from logs | sort k").rows()] == [1, 2]


def test_upkeep_and_recovery_follow(lake: lochan.Lake, tmp_path: Path) -> None:
    own = tmp_path / "own"
    shop = lake.create_repository("shop", storage=str(own))
    shop.branch("main").put("a.txt", b"one" * 50_000)
    shop.branch("main").commit("first")
    checked = lake.fsck(data=True)
    assert (checked.damaged, checked.repositories) == (0, 1)
    assert lake.rebuild(check=True).is_whole
    data = next(path for path in own.rglob("*") if "/data/" in str(path) and path.is_file())
    before = data.read_bytes()
    data.write_bytes(b"two" * 50_000)
    assert lake.fsck(data=True).damaged, "damage there is found"
    data.write_bytes(before)

    lake.backup(str(tmp_path / "backup"))
    again = tmp_path / "again"
    asyncio.run(restore(configuration(), str(tmp_path / "backup"), str(again), check=True))
    with lochan.connect(again) as restored:
        found = restored.repository("shop")
        assert found.show().storage == "", "what is restored lies in the new lake, and leaves the old storage alone"
        found.branch("main").put("a.txt", b"changed")
        assert found.ref("main@").read("a.txt") == before
    assert shop.ref("main").read("a.txt") == before


def test_garbage_collection_follows(lake: lochan.Lake, tmp_path: Path) -> None:
    own, home = tmp_path / "own", tmp_path / "lake"
    shop = lake.create_repository("shop", storage=str(own))
    beside = lake.create_repository("beside").branch("main")
    main = shop.branch("main")
    for letter in (b"a", b"b"):
        main.put("a.txt", letter * 300_000)
        beside.put("a.txt", letter * 300_000)
    main.put("copy.txt", b"b" * 300_000)
    main.put("kept.txt", b"c" * 1_000_000)  # a sweep refuses to delete more than half
    main.commit("first")
    assert shop.gc.preview(grace_hours=0).bytes >= 300_000
    assert shop.storage.dedupe().duplicate_bytes == 300_000
    before = data_bytes(home)
    for _ in range(4):
        shop.gc.run(grace_hours=0)
    assert data_bytes(own) == 1_300_000, "one body is left of three"
    assert data_bytes(home) == before, "nothing is collected elsewhere"
    assert [path for path in files(own) if "/plans/" in path], "its lists lie with it"
    assert not [path for path in files(home) if shop.show().id in path]
    assert main.read("a.txt") == main.read("copy.txt") == b"b" * 300_000
    assert lake.fsck(data=True).damaged == 0
    assert lake.rebuild(check=True).is_whole

    lake.backup(str(tmp_path / "backup"))
    asyncio.run(restore(configuration(), str(tmp_path / "backup"), str(tmp_path / "again"), check=True))
    with lochan.connect(tmp_path / "again") as restored:
        assert restored.repository("shop").ref("main").read("copy.txt") == b"b" * 300_000
        for _ in range(3):
            restored.repository("shop").gc.run(grace_hours=0)
        assert restored.repository("shop").ref("main").read("copy.txt") == b"b" * 300_000
        assert restored.fsck(data=True).damaged == 0


def test_the_files_of_a_deleted_repository_go_from_its_storage(lake: lochan.Lake, tmp_path: Path) -> None:
    own = tmp_path / "own"
    shop = lake.create_repository("shop", storage=str(own))
    shop.branch("main").put("a.txt", b"a" * 300_000)
    shop.branch("main").commit("first")
    shop.gc.set_rules([], 0)
    shop.delete()
    for _ in range(3):
        lake.deleted.run(grace_hours=0, confirmed=True)
    assert data_bytes(own) == 0
    assert lake.fsck(data=True).damaged == 0


def data_bytes(folder: Path) -> int:
    return sum((folder / path).stat().st_size for path in files(folder) if "/data/" in path)


def test_deletion_and_undelete_follow(lake: lochan.Lake, tmp_path: Path) -> None:
    own = tmp_path / "own"
    shop = lake.create_repository("shop", storage=str(own))
    shop.branch("main").put("a.txt", b"one")
    shop.rename("store")
    lake.repository("store").delete()
    with pytest.raises(Refused, match="overlap"):
        lake.create_repository("next", storage=str(own))
    lake.restore_repository("store", "shop")
    assert lake.repository("shop").ref("main").read("a.txt") == b"one"


@pytest.mark.parametrize(
    ("storage", "words"),
    [
        ("lake/inside", "overlap"),
        ("", "overlap"),
        ("lake", "overlap"),
        ("taken/below", "overlap"),
        ("another-lake", "is a lake"),
        ("of-another-lake", "belongs to repository"),
        ("a-file/below", "cannot be used"),
    ],
)
def test_places_that_are_refused(lake: lochan.Lake, tmp_path: Path, storage: str, words: str) -> None:
    lake.create_repository("taken", storage=str(tmp_path / "taken"))
    (tmp_path / "a-file").write_text("x")

    async def another() -> None:
        other = await OpenLake.create(LocalStore(str(tmp_path / "another-lake"), create=True))
        await other.close()

    asyncio.run(another())
    with lochan.connect(tmp_path / "another-lake") as other:
        other.create_repository("mine", storage=str(tmp_path / "of-another-lake"))
    before = files(tmp_path)
    with pytest.raises(Refused, match=words):
        lake.create_repository("new", storage=str(tmp_path / storage))
    assert files(tmp_path) == before, "nothing was made"


def test_names_and_words_that_are_refused(lake: lochan.Lake, tmp_path: Path) -> None:
    lake.create_repository("there")
    own = tmp_path / "own"
    with pytest.raises(AlreadyExists):
        lake.create_repository("there", storage=str(own))
    with pytest.raises(Invalid):
        lake.create_repository("No", storage=str(own))
    with pytest.raises(Invalid, match="ftp:// cannot be the storage"):
        lake.create_repository("new", storage="ftp://x")
    with pytest.raises(Invalid, match="profiles of S3"):
        lake.create_repository("new", storage=str(own), credentials="x")
    with pytest.raises(Invalid, match="none is named"):
        lake.create_repository("new", credentials="x")
    with pytest.raises(NotFound, match=r"'nobody'|credentials file"):
        lake.create_repository("new", storage="s3://bucket/x", credentials="nobody")
    assert not own.exists()


def test_a_storage_that_is_gone_or_another(lake: lochan.Lake, tmp_path: Path) -> None:
    own = tmp_path / "own"
    lake.create_repository("shop", storage=str(own)).branch("main").put("a.txt", b"one")
    own.rename(tmp_path / "elsewhere")
    with lochan.connect(tmp_path / "lake") as other, pytest.raises(LochanError):
        other.repository("shop").ref("main").read("a.txt")
    own.mkdir()
    with (
        lochan.connect(tmp_path / "lake") as other,
        pytest.raises(Refused, match="does not hold its files"),
    ):
        other.repository("shop").branch("main").put("a.txt", b"two")
    assert files(own) == []


def test_a_repository_whose_files_are_all_gone_is_found(lake: lochan.Lake, tmp_path: Path) -> None:
    lake.create_repository("shop", storage=str(tmp_path / "own"))
    lake.create_repository("here")
    places = {"shop": tmp_path / "own", "here": tmp_path / "lake"}
    for name, folder in places.items():
        assert lake.fsck().damaged == 0
        moved = folder / lake.repository(name).show().id
        moved.rename(tmp_path / "aside")
        (found,) = lake.fsck().findings
        assert (found.kind, found.repository) == ("record-missing", name)
        (tmp_path / "aside").rename(moved)
