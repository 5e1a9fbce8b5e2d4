"""A body of 300 MiB goes to disk and comes back within a small part of that memory."""

import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lochan.store.local import LocalStore
from lochan.versioning.bodies.read import BodyReader
from lochan.versioning.bodies.write import BLOCK_BYTES
from tests.run import run
from tests.store_contract import MIB
from tests.unit.bodies.factories import bodies

SIZE = 300 * MIB
WRITE_BYTES_MAX = 24 * MIB  # three parts of 8 MiB
READ_BYTES_MAX = 40 * MIB  # pieces of 4 MiB: used, fetched, hashed, waiting to be hashed, and not yet let go


async def generated() -> AsyncIterator[bytes]:
    for number in range(SIZE // (256 << 10)):
        yield bytes([number % 251]) * (256 << 10)


@pytest.mark.thorough
def test_300_mib_in_bounded_memory(tmp_path: Path) -> None:
    async def play() -> None:
        store = LocalStore(str(tmp_path), create=True)
        entry = await bodies(store).write("big", generated(), mint=1)
        assert tracemalloc.get_traced_memory()[1] < WRITE_BYTES_MAX
        assert [block.size for block in entry.blocks] == [BLOCK_BYTES] * 4 + [SIZE - 4 * BLOCK_BYTES]
        tracemalloc.reset_peak()
        size = 0
        async for piece in BodyReader(store).read(entry):
            size += len(piece)
        assert size == SIZE
        assert tracemalloc.get_traced_memory()[1] < READ_BYTES_MAX

    tracemalloc.start()
    try:
        run(play())
    finally:
        tracemalloc.stop()
