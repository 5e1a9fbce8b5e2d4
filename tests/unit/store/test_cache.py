"""The cache: what it saves, what it never serves, and that it stays within its limit."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lochan.errors import Corrupt, NotFound
from lochan.store.cache import CacheStore
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.memory import MemoryStore
from tests.run import run
from tests.store_contract import MIB
from tests.unit.store.clocks import StillClock


class Rig:
    def __init__(self, folder: Path, bytes_max: int = MIB) -> None:
        self.folder = folder
        self.bytes_max = bytes_max
        self.clock = StillClock()
        self.memory = MemoryStore()
        self.counts = RequestCounts()
        self.store = self.opened()

    def opened(self) -> CacheStore:
        """Opens the cache as another process would, or after a restart."""
        counting = CountingStore(self.memory, self.counts)
        return CacheStore(counting, str(self.folder), self.bytes_max, self.clock, lambda path: path.startswith("fix/"))

    def files(self) -> list[Path]:
        return sorted(path for path in self.folder.rglob("*") if path.is_file())

    @property
    def asked(self) -> int:
        return self.counts.total.requests

    @property
    def bytes(self) -> int:
        return sum(path.stat().st_size for path in self.files())


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path / "cache")
    run(rig.memory.put("fix/k", b"0123456789"))
    return rig


def test_the_second_read_asks_nobody(rig: Rig) -> None:
    for store in (rig.store, rig.store, rig.opened()):
        assert run(store.get("fix/k")) == b"0123456789"
        assert run(store.get_range("fix/k", 2, 5)) == b"234"
    assert rig.asked == 1


def test_ranges_are_kept_by_themselves(rig: Rig) -> None:
    for store in (rig.store, rig.opened()):
        assert run(store.get_range("fix/k", 2, 5)) == b"234"
        assert run(store.get_range("fix/k", 4, 6)) == b"45"
    assert rig.asked == 2
    assert rig.counts.get_range.bytes_in == 5


def test_what_may_change_is_never_kept(rig: Rig) -> None:
    run(rig.memory.put("moving", b"1"))
    for _ in range(2):
        run(rig.store.get("moving"))
        run(rig.store.get_range("moving", 0, 1))
    assert rig.asked == 4
    assert rig.files() == []


def test_absence_is_never_kept(rig: Rig) -> None:
    for _ in range(2):
        with pytest.raises(NotFound):
            run(rig.store.get("fix/later"))
    run(rig.memory.put("fix/later", b"1"))
    assert run(rig.store.get("fix/later")) == b"1"


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "a flipped bit": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "cut": lambda data: data[:-1],
    "cut in the header": lambda data: data[:20],
    "empty": lambda data: b"",
    "zero-filled tail": lambda data: data[:-4] + bytes(4),
    "longer": lambda data: data + b"x",
    "all zeros": lambda data: bytes(len(data)),
}


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("restart", [True, False], ids=["after a restart", "while running"])
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "range"])
def test_a_damaged_copy_is_fetched_again_and_never_served(rig: Rig, how: str, restart: bool, whole: bool) -> None:
    run(rig.store.get("fix/k"))
    run(rig.store.get_range("fix/k", 6, 10))
    [file] = rig.files()
    file.write_bytes(DAMAGE[how](file.read_bytes()))
    store = rig.opened() if restart else rig.store
    read = store.get("fix/k") if whole else store.get_range("fix/k", 6, 10)
    assert run(read) == (b"0123456789" if whole else b"6789")
    assert rig.asked == 2
    assert run(rig.store.get("fix/k")) == b"0123456789"


def test_exchanged_copies_are_found_out(rig: Rig) -> None:
    run(rig.memory.put("fix/l", b"abcdefghij"))
    run(rig.store.get("fix/k"))
    run(rig.store.get("fix/l"))
    one, two = (path.read_bytes() for path in rig.files())
    for file, data in zip(rig.files(), (two, one), strict=True):
        file.write_bytes(data)
    assert run(rig.opened().get("fix/k")) == b"0123456789"
    assert run(rig.opened().get("fix/l")) == b"abcdefghij"


def test_a_copy_from_another_store_is_not_taken_for_ours(rig: Rig) -> None:
    run(rig.store.get("fix/k"))
    rig.memory = MemoryStore("another")
    with pytest.raises(NotFound):
        run(rig.opened().get("fix/k"))


def test_it_stays_within_its_limit_and_drops_the_longest_unused(tmp_path: Path) -> None:
    rig = Rig(tmp_path, bytes_max=100_000)
    for number in range(40):
        run(rig.memory.put(f"fix/{number}", bytes(5_000)))
        rig.clock.now += 100
        run(rig.store.get(f"fix/{number}"))
        run(rig.opened().get("fix/0"))  # in use all the time
        assert rig.bytes <= 100_000
    rig.counts.get.requests = 0
    for number in (0, 39, 38, 37):
        run(rig.store.get(f"fix/{number}"))
    assert rig.counts.get.requests == 0
    run(rig.store.get("fix/1"))
    assert rig.counts.get.requests == 1


def test_several_processes_share_the_limit(tmp_path: Path) -> None:
    rig = Rig(tmp_path, bytes_max=100_000)
    stores = [rig.opened() for _ in range(4)]
    for number in range(80):
        run(rig.memory.put(f"fix/{number}", bytes(5_000)))
        run(stores[number % 4].get(f"fix/{number}"))
    assert rig.bytes <= 100_000 * (1 + 4 / 16)


def test_an_object_too_large_for_the_cache_is_not_kept(tmp_path: Path) -> None:
    rig = Rig(tmp_path, bytes_max=8_000)
    run(rig.memory.put("fix/big", bytes(1_001)))
    run(rig.store.get("fix/big"))
    assert rig.files() == []


@pytest.mark.parametrize("size", [0, 1, 3 * MIB], ids=["empty", "small", "large"])
def test_sizes(tmp_path: Path, size: int) -> None:
    rig = Rig(tmp_path, bytes_max=64 * MIB)
    data = os.urandom(size)
    run(rig.memory.put("fix/k", data))
    for store in (rig.store, rig.store, rig.opened()):
        assert run(store.get("fix/k")) == data
        if size:
            assert run(store.get_range("fix/k", size - 1, size)) == data[-1:]
    assert rig.asked == 1


def test_a_folder_that_cannot_be_written_only_costs_speed(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    assert run(rig.store.get("fix/k")) == b"0123456789"
    assert rig.files() == []


def test_a_folder_removed_while_running(rig: Rig) -> None:
    run(rig.store.get("fix/k"))
    rig.folder.rename(rig.folder.with_name("away"))
    assert run(rig.store.get("fix/k")) == b"0123456789"
    assert len(rig.files()) == 1


def test_bytes_that_fail_the_check_are_not_kept(rig: Rig) -> None:
    def check(path: str, data: bytes) -> None:
        if data.startswith(b"wrong"):
            raise Corrupt(path)

    store = CacheStore(rig.memory, str(rig.folder), MIB, rig.clock, lambda path: True, check)
    run(rig.memory.put("fix/k", b"wrong"))
    with pytest.raises(Corrupt):
        run(store.get("fix/k"))
    run(rig.memory.put("fix/k", b"right"))
    assert run(store.get("fix/k")) == b"right"


def test_forgotten_copies_are_fetched_again(rig: Rig) -> None:
    run(rig.store.get("fix/k"))
    run(rig.store.get_range("fix/k", 0, 3))
    rig.store.forget("fix/k")
    assert rig.files() == []
    run(rig.store.get_range("fix/k", 0, 3))
    run(rig.store.delete("fix/k"))
    assert rig.files() == []
