"""Blocks on a disk are hashed when they are read, but not each time; and what changes meanwhile is noticed."""

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lochan.clock import SystemClock
from lochan.errors import Corrupt
from lochan.formats.entry import Entry
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Store
from lochan.versioning.bodies.read import BodyReader
from tests.run import run
from tests.store_contract import joined
from tests.unit.bodies.making import in_blocks

BODY = [bytes([number]) * 100_000 for number in range(3)]


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes were, and how often."""
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
    """As if the files were not as new as they are."""

    def wall(self) -> int:
        return super().wall() + 60_000_000


def _tick(file: Path) -> None:
    """Until the file system's clock has moved on from when this was written."""
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


def test_part_of_a_block_says_nothing_of_it(tmp_path: Path, hashed: list[int]) -> None:
    async def play() -> None:
        reader, entry, read = await _scene(LocalStore(str(tmp_path), create=True, clock=Later()))
        hashed.clear()
        await joined(reader.read(entry, 10, 90_000))
        assert not hashed
        await read()
        assert sum(hashed) == 300_000

    run(play())
