"""The local cache of ranges: damage by a crash, the disk or another process is found, and costs a fetch."""

import os
from pathlib import Path

import pyarrow as pa
import pytest

from lochan.tree.cache import ArrowCache


class Time:
    def __init__(self) -> None:
        self.now = 1_790_000_000_000_000

    def wall(self) -> int:
        return self.now

    def boot(self) -> float:
        return self.now / 1e6

    async def sleep(self, seconds: float) -> None:
        self.now += int(seconds * 1e6)


BATCH = pa.record_batch({"path": [f"path-{number}" for number in range(1000)]})
OTHER = pa.record_batch({"path": [f"other-{number}" for number in range(1000)]})
SIZE = 16_000  # a little more than a file takes


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "cache")


def cache(folder: str, bytes_max: int = 1 << 20, clock: Time | None = None) -> ArrowCache:
    """The cache as another process sees it."""
    return ArrowCache(folder, bytes_max, clock or Time())


def file(folder: str) -> Path:
    (found,) = Path(folder).rglob("*.arrow")
    return found


def test_what_is_kept_is_mapped(folder: str) -> None:
    first = cache(folder)
    assert first.open("ranges/a") is None
    first.keep("ranges/a", BATCH)
    for each in (first, cache(folder)):
        found = each.open("ranges/a")
        assert found is not None and found == BATCH
    before = pa.total_allocated_bytes()
    found = first.open("ranges/a")
    assert pa.total_allocated_bytes() - before < 1000
    first.forget("ranges/a")
    assert first.open("ranges/a") is None
    assert found == BATCH  # mapped, though the file is gone


@pytest.mark.parametrize("keep", [0, 1, 11, 12, 100, 5000, -1])
def test_a_torn_file_is_removed(folder: str, keep: int) -> None:
    cache(folder).keep("ranges/a", BATCH)
    data = file(folder).read_bytes()
    file(folder).write_bytes(data[:keep])
    assert cache(folder).open("ranges/a") is None
    assert list(Path(folder).rglob("*.arrow")) == []


def test_a_flipped_bit_is_found_at_the_first_use_in_a_process(folder: str) -> None:
    cache(folder).keep("ranges/a", BATCH)
    data = file(folder).read_bytes()
    for at in range(0, len(data), 499):
        file(folder).write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
        assert cache(folder).open("ranges/a") is None
        cache(folder).keep("ranges/a", BATCH)


def test_a_file_that_changed_is_checked_again(folder: str) -> None:
    used = cache(folder)
    used.keep("ranges/a", BATCH)
    assert used.open("ranges/a") is not None
    file(folder).write_bytes(file(folder).read_bytes().replace(b"path-5", b"path-6", 1))
    assert used.open("ranges/a") is None


def test_two_files_exchanged_are_found_out(folder: str) -> None:
    cache(folder).keep("ranges/a", BATCH)
    kept = file(folder)
    cache(folder).keep("ranges/b", OTHER)
    (other,) = set(Path(folder).rglob("*.arrow")) - {kept}
    other.replace(kept)
    assert cache(folder).open("ranges/a") is None


def test_the_longest_unused_goes_first(folder: str) -> None:
    clock = Time()
    used = cache(folder, 4 * SIZE, clock)
    for name in "abc":
        used.keep(name, BATCH)
        clock.now += 100_000_000
    assert used.open("a") is not None  # used again
    clock.now += 100_000_000
    for name in "de":
        used.keep(name, BATCH)
        clock.now += 100_000_000
    assert [name for name in "abcde" if used.open(name) is not None] == ["a", "c", "d", "e"]
    assert used.evict() <= 4 * SIZE


def test_half_written_files_of_dead_processes_go_too(folder: str) -> None:
    used = cache(folder, 4 * SIZE)
    used.keep("a", BATCH)
    dead = file(folder).with_suffix(".arrow.1-0")
    dead.write_bytes(bytes(5 * SIZE))
    os.utime(dead, (1, 1))
    used.evict()
    assert not dead.exists() and used.open("a") is not None


def test_one_that_is_too_large_is_not_kept(folder: str) -> None:
    cache(folder, SIZE).keep("a", BATCH)
    assert not Path(folder).exists()


def test_without_permission_there_is_no_copy_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    used = cache(str(tmp_path / "cache"))
    used.keep("a", BATCH)
    assert used.open("a") is None


def test_without_room_there_is_no_copy_and_no_error(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    cache(folder).keep("a", BATCH)
    assert [each for each in Path(folder).rglob("*") if each.is_file()] == []


def test_a_folder_removed_while_running(folder: str) -> None:
    used = cache(folder)
    used.keep("a", BATCH)
    Path(folder).rename(f"{folder}-away")
    assert used.open("a") is None
    used.keep("a", BATCH)
    assert used.open("a") == BATCH


def test_several_processes_share_the_limit(folder: str) -> None:
    users = [cache(folder, 8 * SIZE) for _ in range(4)]
    for number in range(40):
        users[number % 4].keep(str(number), BATCH)
    kept = sum(each.stat().st_size for each in Path(folder).rglob("*.arrow"))
    assert kept <= 8 * SIZE * (1 + 4 / 16)
