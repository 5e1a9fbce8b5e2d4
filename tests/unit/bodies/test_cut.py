"""Chunks cut anew, and hashes that lag behind, give what they would give at once."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.versioning.bodies.cut import Cutter
from lochan.versioning.bodies.hashing import INLINE_BYTES_MAX, Feed, Hashing
from tests.run import run
from tests.unit.bodies.making import sent


@settings(deadline=None)
@given(st.lists(st.binary(max_size=20)), st.integers(1, 30))
def test_pieces_are_full_but_the_last(chunks: list[bytes], size: int) -> None:
    async def play() -> None:
        cutter = Cutter(sent(*chunks))
        pieces = []
        while await cutter.more():
            pieces.append(await cutter.take(size))
        assert await cutter.take(size) == b""
        assert b"".join(pieces) == b"".join(chunks)
        assert all(len(piece) == size for piece in pieces[:-1])
        assert all(pieces)

    run(play())


def test_a_chunk_of_the_right_size_is_not_copied() -> None:
    async def play() -> None:
        chunk = bytes(1000)
        cutter = Cutter(sent(chunk, chunk))
        assert await cutter.take(1000) is chunk
        assert await cutter.take(2000) is chunk

    run(play())


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param([], id="nothing"),
        pytest.param([1, 0, 2], id="at once"),
        pytest.param([INLINE_BYTES_MAX, INLINE_BYTES_MAX + 1, 1], id="on either side of the limit"),
        pytest.param([5 << 20, 1, 5 << 20, 0, 100], id="more than may lag behind"),
        pytest.param([1 << 20] * 10, id="steadily"),
    ],
)
def test_a_feed_gives_the_digest_of_all_pieces_in_order(sizes: list[int]) -> None:
    async def play() -> None:
        sha256, md5 = hashlib.sha256(), hashlib.md5()
        feed = Feed(_HASHING, [sha256, md5])
        for number, size in enumerate(sizes):
            await feed.add(bytes([number]) * size)
        await feed.done()
        body = b"".join(bytes([number]) * size for number, size in enumerate(sizes))
        assert sha256.digest() == hashlib.sha256(body).digest()
        assert md5.digest() == hashlib.md5(body).digest()

    run(play())


_HASHING = Hashing()
