"""Reading bodies: every span of every cut is checked, and missing or wrong bytes are an error."""

import asyncio
import hashlib
import re
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from lochan.errors import Corrupt, Gone, Invalid, Transient
from lochan.formats.entry import Block, Entry
from lochan.store.capabilities import Wrapper
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.store.open import stack
from lochan.store.protocol import Store
from lochan.versioning.bodies.read import BodyReader
from tests.run import run
from tests.store_contract import joined
from tests.store_faults import FaultStore, StoreFault
from tests.unit.bodies.factories import bodies, in_blocks, sent
from tests.unit.store.clocks import StillClock, counting_ids


@pytest.mark.thorough
@settings(deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=6), st.integers(1, 20), st.integers(0, 200), st.integers(0, 200))
def test_any_span_over_any_cutting(blocks: list[bytes], piece: int, start: int, stop: int) -> None:
    body = b"".join(blocks)
    start, stop = sorted((min(start, len(body)), min(stop, len(body))))

    async def play() -> None:
        store = MemoryStore()
        entry = await in_blocks(store, blocks)
        reader = BodyReader(store, piece_bytes=piece)
        pieces = [data async for data in reader.read(entry, start, stop)]
        assert b"".join(pieces) == body[start:stop]
        assert all(0 < len(data) <= piece for data in pieces)
        assert await joined(reader.read(entry, start)) == body[start:]
        assert await reader.read_all(entry) == body

    run(play())


@pytest.mark.parametrize("start, stop", [(0, 11), (11, None), (-1, 3), (5, 4), (11, 11)])
def test_a_span_that_is_none(start: int, stop: int | None) -> None:
    async def play() -> None:
        store = MemoryStore()
        entry = await in_blocks(store, [b"01234", b"56789"])
        with pytest.raises(Invalid, match="a/b"):
            await joined(BodyReader(store).read(entry, start, stop))

    run(play())


def test_what_a_read_costs() -> None:
    async def play() -> None:
        store, counts = MemoryStore(), RequestCounts()
        entry = await in_blocks(store, [b"01234", b"56789", b"abcde"])
        reader = BodyReader(CountingStore(store, counts), piece_bytes=5)
        assert await joined(reader.read(entry, 6, 9)) == b"678"
        assert (counts.get_range.requests, counts.get_range.bytes_in, counts.total.requests) == (1, 3, 1)
        assert await joined(reader.read(entry, 4, 11)) == b"456789a"
        assert (counts.get_range.requests, counts.get_range.bytes_in) == (4, 10)

    run(play())


def test_never_more_than_one_piece_ahead_and_none_after_the_reader_stops() -> None:
    begun, ended = [], []

    class Slow(Wrapper):
        async def get_range(self, path: str, start: int, stop: int) -> bytes:
            begun.append(start)
            await asyncio.sleep(0.001)
            ended.append(start)
            return await super().get_range(path, start, stop)

    async def play() -> None:
        store = MemoryStore()
        entry = await in_blocks(store, [bytes(10)])
        async with aclosing(BodyReader(Slow(store), piece_bytes=1).read(entry)) as pieces:
            for taken in range(1, 4):
                await anext(pieces)
                await asyncio.sleep(0.005)
                assert len(begun) == taken + 1
            await anext(pieces)
            await asyncio.sleep(0)  # a fifth is begun now, and cancelled
        await asyncio.sleep(0.005)  # nothing more may be read meanwhile
        assert (len(begun), len(ended)) == (5, 4)

    run(play())


def test_on_a_local_disk_a_small_body_needs_no_event_loop(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path), create=True)
    entry = run(in_blocks(store, [b"01234", b"56789"]))
    for size in (3, 100):
        with pytest.raises(StopIteration) as done:
            BodyReader(store, piece_bytes=size).read_all(entry).send(None)
        assert done.value.value == b"0123456789"


def test_a_missing_file_is_gone(tmp_path: Path) -> None:
    async def play() -> None:
        for store in (MemoryStore(), LocalStore(str(tmp_path), create=True)):
            entry = await in_blocks(store, [b"01234", b"56789"])
            await store.delete("file1")
            reader = BodyReader(store)
            assert await joined(reader.read(entry, 0, 5)) == b"01234"
            for call in (reader.read_all(entry), joined(reader.read(entry, 7))):
                with pytest.raises(Gone, match=r"'a/b': block 2 of 2, at file1, is gone .*lifecycle rule"):
                    await call

    run(play())


def test_damage_names_path_block_and_address() -> None:
    async def play() -> None:
        store = MemoryStore()
        entry = await in_blocks(store, [b"01234", b"56789"])
        await store.put("file1", b"before" + b"56_89" + b"after")
        with pytest.raises(Corrupt, match="'a/b': block 2 of 2, at file1, is damaged: its SHA-256"):
            await BodyReader(store).read_all(entry)
        await store.put("file1", b"before" + b"56")
        with pytest.raises(Corrupt, match=re.escape("block 2 of 2, at file1, is damaged: bytes 6 to 11 are past")):
            await BodyReader(store).read_all(entry)

    run(play())


def test_an_entry_whose_blocks_do_not_add_up() -> None:
    entry = replace(run(in_blocks(MemoryStore(), [b"0123"])), size=5)
    with pytest.raises(Corrupt, match="'a/b' has 5 bytes, but its blocks have 4"):
        run(BodyReader(MemoryStore()).read_all(entry))


def test_a_block_without_a_digest_is_not_checked() -> None:
    async def play() -> None:
        store = MemoryStore()
        await store.put("f", b"1234")
        entry = Entry(path="a", blocks=(Block("f", 0, 4, b""),), size=4, checksum="", etag="", mtime=0)
        assert await BodyReader(store).read_all(entry) == b"1234"

    run(play())


@pytest.mark.parametrize("damaged", range(4))
def test_damage_on_the_way_is_read_again_or_told(damaged: int) -> None:
    """One of four pieces is wrong, once. The last can still be replaced; the others are already out."""

    async def play() -> None:
        store = MemoryStore()
        entry = await in_blocks(store, [b"0123456789abcdef"])
        choose = _once(damaged, StoreFault.CORRUPT)
        reader = BodyReader(FaultStore(store, StillClock(), choose), piece_bytes=4)
        if damaged == 3:
            assert await joined(reader.read(entry)) == b"0123456789abcdef"
        else:
            with pytest.raises(Transient, match="was damaged when it was read first"):
                await joined(reader.read(entry))

    run(play())


@pytest.mark.thorough
@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from([None, None, StoreFault.UNAVAILABLE, StoreFault.TIMEOUT, StoreFault.CORRUPT, StoreFault.SLOW])
    )
)
def test_never_wrong_bytes(faults: list[StoreFault | None]) -> None:
    """Whatever comes between: a body read to its end is right, or there is an error."""

    async def play() -> None:
        body = b"0123456789abcdef" * 3
        inner = MemoryStore()
        entry = await bodies(inner, block_bytes=20).write("a", sent(body), mint=1)
        left = list(faults)
        store: Store = FaultStore(inner, StillClock(), lambda verb, path: left.pop(0) if left else None)
        if len(faults) % 2:
            store = stack(store, clock=StillClock(), ids=counting_ids(), immutable=lambda path: True)
        try:
            assert await BodyReader(store, piece_bytes=7).read_all(entry) == body
        except (Transient, Corrupt):
            assert {StoreFault.UNAVAILABLE, StoreFault.TIMEOUT, StoreFault.CORRUPT} & set(faults)

    run(play())


def test_a_body_is_right_after_lost_answers_and_retries() -> None:
    async def play() -> None:
        inner = MemoryStore()
        faults = [StoreFault.LOST, StoreFault.UNAVAILABLE, StoreFault.TIMEOUT, None]
        faulty = FaultStore(inner, StillClock(), lambda verb, path: faults.pop(0) if faults else None)
        store = stack(faulty, clock=StillClock(), ids=counting_ids())
        entry = await bodies(store).write("a", sent(b"1234"), mint=1)
        assert await BodyReader(store).read_all(entry) == b"1234"
        assert entry.blocks[0].sha256 == hashlib.sha256(b"1234").digest()

    run(play())


def _once(number: int, fault: StoreFault) -> Callable[[str, str], StoreFault | None]:
    asked: list[str] = []

    def choose(verb: str, path: str) -> StoreFault | None:
        asked.append(path)
        return fault if len(asked) - 1 == number else None

    return choose
