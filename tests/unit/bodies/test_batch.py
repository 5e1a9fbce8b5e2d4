"""Bodies written together: small ones share a file, large ones have their own, and each is read back as it was."""

import asyncio
from collections.abc import AsyncIterator

from lochan.ids import Ids
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.memory import MemoryStore
from lochan.versioning.bodies import write as batches
from lochan.versioning.bodies.body import PACKED_BYTES_MAX
from lochan.versioning.bodies.read import BodyReader
from lochan.versioning.bodies.write import Batch, Bodies
from tests.run import run
from tests.unit.store.clocks import StillClock


async def in_chunks(data: bytes, size: int = 100_000) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def test_small_bodies_share_files_and_large_ones_do_not() -> None:
    async def play() -> None:
        counts = RequestCounts()
        store = CountingStore(MemoryStore(), counts)
        batch = Batch(Bodies(store, prefix="r", clock=StillClock(), ids=Ids(), writer="w"), 7)
        sizes = (0, 1, PACKED_BYTES_MAX - 1, PACKED_BYTES_MAX, PACKED_BYTES_MAX + 1, 3 * PACKED_BYTES_MAX)
        bodies = {f"b{size}": bytes([size % 251]) * size for size in sizes}
        await asyncio.gather(
            *(
                batch.write(path, in_chunks(data), content_type="t", metadata={"k": path})
                for path, data in bodies.items()
            )
        )
        entries = await batch.finish()
        assert {entry.path: await BodyReader(store).read_all(entry) for entry in entries} == bodies
        assert all((entry.content_type, entry.metadata) == ("t", {"k": entry.path}) for entry in entries)
        addresses = {entry.path: entry.blocks[0].address for entry in entries}
        assert len({addresses[f"b{size}"] for size in sizes[:4]}) == 1
        assert len(set(addresses.values())) == 3
        assert counts.put.requests == 3

    run(play())


def test_a_pack_has_its_limit() -> None:
    async def play() -> None:
        counts = RequestCounts()
        store = CountingStore(MemoryStore(), counts)
        batch = Batch(Bodies(store, prefix="r", clock=StillClock(), ids=Ids(), writer="w"), 7)
        count = 2 * batches._PACK_BYTES // PACKED_BYTES_MAX + 1
        for number in range(count):
            await batch.write(f"{number}", in_chunks(bytes(PACKED_BYTES_MAX)))
        assert counts.put.requests == 2
        assert len(await batch.finish()) == count
        assert counts.put.requests == 3

    run(play())


def test_nothing_costs_nothing() -> None:
    async def play() -> None:
        counts = RequestCounts()
        store = CountingStore(MemoryStore(), counts)
        assert await Batch(Bodies(store, prefix="r", clock=StillClock(), ids=Ids(), writer="w"), 7).finish() == []
        assert counts.put.requests == 0

    run(play())
