"""Blocks on a disk are hashed when they are read, but not each time, and changes are noticed."""

import asyncio
import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lochan.clock import SystemClock
from lochan.errors import Corrupt
from lochan.formats.entry import Entry
from lochan.store.capabilities import Wrapper
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Store
from lochan.store.verified_files import VerifiedFiles
from lochan.versioning.bodies.read import BodyReader
from tests.run import run
from tests.store_contract import joined
from tests.unit.bodies.factories import in_blocks

BODY = [bytes([number]) * 100_000 for number in range(3)]


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes were hashed, and how often."""
    sizes: list[int] = []
    sha256 = hashlib.sha256

    class Counted:
        def __init__(self, data: bytes = b"") -> None:
            self._inner = sha256(data)

        def update(self, data: bytes) -> None:
            sizes.append(len(data))
            self._inner.update(data)

        def digest(self) -> bytes:
            return self._inner.digest()

    monkeypatch.setattr("lochan.versioning.bodies.read.hashlib.sha256", Counted)
    return sizes


class Later(SystemClock):
    """As if the files were older than they are."""

    def wall(self) -> int:
        return super().wall() + 60_000_000


def _tick(file: Path) -> None:
    """Waits until the file system's clock has moved on since this was written."""
    beside = file.with_name("beside")
    while not beside.exists() or beside.stat().st_mtime_ns == file.stat().st_mtime_ns:
        time.sleep(0.001)
        beside.write_text("")


async def _scene(store: Store) -> tuple[BodyReader, Entry, Callable[[], Any]]:
    entry = await in_blocks(store, BODY)
    reader = BodyReader(store, piece_bytes=30_000)

    async def read() -> None:
        assert await joined(reader.read(entry)) == b"".join(BODY)

    return reader, entry, read


def test_on_a_disk_every_sixteenth_read_is_hashed(tmp_path: Path, hashed: list[int]) -> None:
    async def play() -> None:
        _, _, read = await _scene(LocalStore(str(tmp_path), create=True, clock=Later()))
        hashed.clear()
        for number in range(1, 33):
            await read()
            assert sum(hashed) == 300_000 * (1 if number <= 16 else 2)

    run(play())


def test_from_elsewhere_each_is(hashed: list[int]) -> None:
    async def play() -> None:
        _, _, read = await _scene(MemoryStore())
        hashed.clear()
        for _ in range(3):
            await read()
        assert sum(hashed) == 900_000

    run(play())


def test_a_file_that_somebody_wrote_to_is_checked(tmp_path: Path) -> None:
    async def play() -> None:
        _, entry, read = await _scene(LocalStore(str(tmp_path), create=True, clock=Later()))
        await read()
        _tick(tmp_path / entry.blocks[1].address)
        with (tmp_path / entry.blocks[1].address).open("r+b") as opened:
            opened.seek(95_000)
            opened.write(b"?")
        with pytest.raises(Corrupt, match="block 2 of 3"):
            await read()

    run(play())


def test_a_file_that_is_written_to_while_it_is_read(tmp_path: Path) -> None:
    async def play() -> None:
        reader, entry, read = await _scene(LocalStore(str(tmp_path), create=True, clock=Later()))
        await read()
        pieces = reader.read(entry)
        await anext(pieces)
        _tick(tmp_path / entry.blocks[0].address)
        with (tmp_path / entry.blocks[0].address).open("r+b") as opened:
            opened.seek(95_000)
            opened.write(b"?")
        with pytest.raises(Corrupt, match="block 1 of 3"):
            await joined(pieces)

    run(play())


def test_what_was_written_just_now_is_checked_each_time(tmp_path: Path, hashed: list[int]) -> None:
    async def play() -> None:
        _, _, read = await _scene(LocalStore(str(tmp_path), create=True))
        hashed.clear()
        for _ in range(3):
            await read()
        assert sum(hashed) == 900_000

    run(play())


def _flip(file: Path, at: int) -> None:
    _tick(file)
    with file.open("r+b") as opened:
        opened.seek(at)
        [byte] = opened.read(1)
        opened.seek(at)
        opened.write(bytes([byte ^ 1]))


@pytest.mark.parametrize("clock", [Later(), SystemClock()], ids=["old", "new"])
def test_a_part_of_a_damaged_block_is_never_handed_out(tmp_path: Path, clock: SystemClock) -> None:
    """Wherever the damage is, in the part or not."""

    async def play() -> None:
        reader, entry, read = await _scene(LocalStore(str(tmp_path), create=True, clock=clock))
        await read()
        for at in (0, 150, 250, 50_000, 99_999):
            _flip(tmp_path / entry.blocks[1].address, 6 + at)
            for start, stop in ((100_000, 100_200), (100_100, 199_999), (50_000, 150_000), (199_000, 250_000)):
                with pytest.raises(Corrupt, match="block 2 of 3, at file1, is damaged"):
                    await joined(reader.read(entry, start, stop))
            assert await joined(reader.read(entry, 0, 99_999)) == BODY[0][:-1]
            _flip(tmp_path / entry.blocks[1].address, 6 + at)
            assert await joined(reader.read(entry, 99_990, 200_010)) == BODY[0][-10:] + BODY[1] + BODY[2][:10]

    run(play())


def test_a_block_is_hashed_once_for_all_its_parts(tmp_path: Path, hashed: list[int]) -> None:
    async def play() -> None:
        reader, entry, _ = await _scene(LocalStore(str(tmp_path), create=True, clock=Later()))
        hashed.clear()
        for start in range(0, 90_000, 1_000):
            assert await joined(reader.read(entry, start, start + 100)) == bytes(100)
        assert sum(hashed) == 100_000
        for _ in range(16):
            await joined(reader.read(entry, 1, 100_000))
        assert sum(hashed) == 200_000  # after so much of it, once more

    run(play())


def test_those_who_come_at_once_hash_it_once(tmp_path: Path, hashed: list[int]) -> None:
    async def play() -> None:
        reader, entry, _ = await _scene(LocalStore(str(tmp_path), create=True, clock=Later()))
        hashed.clear()
        found = await asyncio.gather(*(joined(reader.read(entry, at, at + 10)) for at in range(100_000, 100_050)))
        assert found == [BODY[1][:10]] * 50
        assert sum(hashed) == 100_000

    run(play())


def test_a_new_block_is_hashed_once_for_each_read(tmp_path: Path, hashed: list[int]) -> None:
    async def play() -> None:
        reader, entry, _ = await _scene(LocalStore(str(tmp_path), create=True, clock=Still()))
        hashed.clear()
        assert await joined(reader.read(entry, 1, 95_000)) == BODY[0][1:95_000]  # in four pieces
        assert sum(hashed) == 100_000

    class Still(SystemClock):
        def wall(self) -> int:
            return (tmp_path / "file0").stat().st_ctime_ns // 1_000 if (tmp_path / "file0").exists() else 0

    run(play())


def test_large_blocks_are_hashed_once_by_all_processes_together(tmp_path: Path, hashed: list[int]) -> None:
    async def play() -> None:
        store = LocalStore(str(tmp_path / "lake"), create=True, clock=Later())
        entry = await in_blocks(store, [bytes(2 << 20)])
        for _ in range(2):
            verified = VerifiedFiles(store.url, Later(), str(tmp_path / "marks"))
            assert await joined(BodyReader(store, verified=verified).read(entry, 5, 10)) == bytes(5)
            assert sum(hashed) == 2 << 20
        _flip(tmp_path / "lake" / "file0", 1_000_000)
        verified = VerifiedFiles(store.url, Later(), str(tmp_path / "marks"))
        with pytest.raises(Corrupt, match="is damaged"):
            await joined(BodyReader(store, verified=verified).read(entry, 5, 10))

    hashed.clear()
    run(play())


def test_a_part_that_came_damaged_once_is_read_again(tmp_path: Path) -> None:
    async def play() -> None:
        store = LocalStore(str(tmp_path), create=True, clock=Later())
        entry = await in_blocks(store, BODY)
        damaged_store = DamagingStore(store)
        reader = BodyReader(damaged_store, piece_bytes=30_000)
        for number in range(20):
            damaged_store.at = number
            assert await joined(reader.read(entry, 100_001, 100_009)) == BODY[1][:8]

    class DamagingStore(Wrapper):
        """Its answer with this number is wrong."""

        at = 0

        def stamp(self, path: str) -> None:
            return None

        def identity(self, path: str) -> None:
            return None

        async def get_range(self, path: str, start: int, stop: int) -> bytes:
            self.at -= 1
            data = await super().get_range(path, start, stop)
            return b"?" * len(data) if self.at == -1 else data

    run(play())


def test_from_elsewhere_a_part_is_as_it_comes(hashed: list[int]) -> None:
    async def play() -> None:
        store = MemoryStore()
        reader, entry, _ = await _scene(store)
        await store.put("file0", b"before" + b"?" * 100_000 + b"after")
        hashed.clear()
        assert await joined(reader.read(entry, 0, 200)) == b"?" * 200
        assert not hashed

    run(play())
