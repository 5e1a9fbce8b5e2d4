"""Files that are written anew under other names: never while somebody may need them, and never with old bytes left."""

# ruff: noqa: PTH115
import errno
import os
import time
from pathlib import Path

import pytest

from lochan.errors import Unknown
from lochan.store.local import LocalStore
from lochan.store.scribe import Scribe
from tests.run import run

LONG_S = 3_600.0


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def wall(self) -> int:
        return round(self.now * 1e6)

    def boot(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


class Reusing:
    """A store that reuses files, as a scribe does."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "lake"
        self.clock = Clock()
        self.store = LocalStore(str(self.root), create=True, clock=self.clock)
        self.drop = self.store.reuse_files()

    def put(self, path: str, data: bytes) -> int:
        """Returns the inode."""
        self.store.put_now(path, data)
        assert (self.root / path).read_bytes() == data
        return (self.root / path).stat().st_ino

    def delete(self, *paths: str) -> None:
        self.store.delete_for_reuse_now(paths)
        assert not any((self.root / path).exists() for path in paths)

    def spares(self) -> list[Path]:
        return sorted((self.root / ".tmp").iterdir())


pytestmark = pytest.mark.skipif(not Scribe.suits(), reason="only a scribe reuses files")


@pytest.fixture
def reusing(tmp_path: Path) -> Reusing:
    return Reusing(tmp_path)


@pytest.mark.parametrize("data", [b"", b"short", b"x" * 1_000, b"y" * 5_000])
@pytest.mark.parametrize("verb", ["put", "put_if_absent"])
def test_only_the_new_bytes_are_in_it(reusing: Reusing, verb: str, data: bytes) -> None:
    inode = reusing.put("journal/1", b"o" * 1_000)
    reusing.delete("journal/1")
    reusing.clock.now += 2
    (reusing.store.put_now if verb == "put" else reusing.store.put_if_absent_now)("data/a", data)
    assert (reusing.root / "data/a").read_bytes() == data
    assert (reusing.root / "data/a").stat().st_ino == inode
    assert reusing.spares() == []


def test_it_rests_for_a_second(reusing: Reusing) -> None:
    """Whoever opened it just before has that long to read."""
    first = reusing.put("journal/1", b"first")
    with (reusing.root / "journal/1").open("rb") as reader:
        reusing.delete("journal/1")
        assert reusing.put("data/a", b"a") != first
        reusing.clock.now += 0.9
        assert reusing.put("data/b", b"b") != first
        assert reader.read() == b"first"
    reusing.clock.now += 0.2
    assert reusing.put("data/c", b"c") == first
    assert reusing.put("data/d", b"d") != first, "once"


def test_a_file_with_another_name_is_left_alone(reusing: Reusing) -> None:
    """A copy of the lake may be made of links."""
    inode = reusing.put("journal/1", b"kept elsewhere")
    copy = reusing.root.parent / "copy"
    os.link(reusing.root / "journal/1", copy)
    reusing.delete("journal/1")
    reusing.clock.now += 2
    assert reusing.put("data/a", b"new") != inode
    assert copy.read_bytes() == b"kept elsewhere"
    assert reusing.spares() == []


def test_none_is_written_to_before_its_old_name_is_durably_gone(
    reusing: Reusing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a power cut could give it the old name again, beside the new one."""
    folders: list[str] = []
    sync = os.fsync

    def watched(fd: int) -> None:
        folders.append(os.readlink(f"/proc/self/fd/{fd}"))
        sync(fd)

    reusing.put("journal/1", b"1")
    reusing.put("journal/2", b"2")
    monkeypatch.setattr(os, "fsync", watched)
    reusing.delete("journal/1", "journal/2")
    assert folders == [str(reusing.root / "journal")]


def test_none_is_written_to_if_that_fails(reusing: Reusing, monkeypatch: pytest.MonkeyPatch) -> None:
    reusing.put("journal/1", b"1")
    inode = reusing.put("journal/2", b"2")

    def failing(fd: int) -> None:
        raise OSError(errno.EIO, "the disk is gone")

    with monkeypatch.context() as broken, pytest.raises(Unknown):
        broken.setattr(os, "fsync", failing)
        reusing.store.delete_for_reuse_now(["journal/2"])
    reusing.clock.now += 2
    assert reusing.store._spares is not None
    assert reusing.store._spares.take() is None
    [left] = reusing.spares()
    assert left.stat().st_ino == inode


def test_a_put_that_finds_the_name_taken_loses_nothing(reusing: Reusing) -> None:
    reusing.put("journal/1", b"old")
    reusing.put("journal/2", b"there")
    reusing.delete("journal/1", "journal/missing")
    reusing.clock.now += 2
    with pytest.raises(Exception, match="already in"):
        reusing.store.put_if_absent_now("journal/2", b"late")
    assert (reusing.root / "journal/2").read_bytes() == b"there"
    assert reusing.spares() == []


def test_spares_that_somebody_removed_are_not_missed(reusing: Reusing) -> None:
    reusing.put("journal/1", b"1")
    reusing.put("journal/2", b"2")
    reusing.delete("journal/1", "journal/2")
    reusing.spares()[0].unlink()
    reusing.clock.now += 2
    reusing.put("data/a", b"a")
    assert reusing.spares() == []


def test_a_sweep_of_old_temporary_files_takes_none_that_was_just_given(reusing: Reusing) -> None:
    inode = reusing.put("journal/1", b"old")
    os.utime(reusing.root / "journal/1", (0, 0))
    reusing.delete("journal/1")
    reusing.clock.now = time.time() + 2.0
    assert reusing.store.sweep_temp(60.0, reusing.clock) == 0
    assert reusing.put("journal/2", b"new") == inode


def test_what_is_left_is_removed_in_the_end(reusing: Reusing) -> None:
    for number in range(3):
        reusing.put(f"journal/{number}", b"x")
    reusing.delete(*(f"journal/{number}" for number in range(3)))
    assert len(reusing.spares()) == 3
    reusing.drop()
    assert reusing.spares() == []


def test_without_a_scribe_files_are_deleted(tmp_path: Path) -> None:
    async def play() -> None:
        store = LocalStore(str(tmp_path / "lake"), create=True)
        paths = [f"journal/{number}" for number in range(600)]
        for path in paths[:3]:
            await store.put(path, b"x")
        await store.delete_for_reuse(paths)
        assert [stat.path async for stat in store.list()] == []

    run(play())
    assert list((tmp_path / "lake/.tmp").iterdir()) == []


def test_a_scribe_deletes_and_reuses(tmp_path: Path) -> None:
    async def play() -> None:
        store = LocalStore(str(tmp_path / "lake"), create=True)
        end = store.write_beside()
        await store.put("journal/1", b"a record")
        inode = (tmp_path / "lake/journal/1").stat().st_ino
        await store.delete_for_reuse(["journal/1", "journal/missing"])
        assert not (tmp_path / "lake/journal/1").exists()
        assert store._threads._pool is None, "no thread had anything to do"
        [spare] = (tmp_path / "lake/.tmp").iterdir()
        assert spare.stat().st_ino == inode
        end()

    run(play())
