"""Chunks are cut again into other sizes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.versioning.bodies.body import Cutter
from tests.run import run
from tests.unit.bodies.factories import sent


@settings(deadline=None)
@given(st.lists(st.binary(max_size=20)), st.integers(1, 30))
@pytest.mark.thorough
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


@settings(deadline=None)
@given(st.lists(st.binary(max_size=20)), st.integers(1, 30), st.integers(1, 30))
def test_some_are_as_many_as_asked_for_but_the_last(chunks: list[bytes], least: int, most: int) -> None:
    async def play() -> None:
        cutter = Cutter(sent(*chunks))
        pieces = []
        while piece := await cutter.take_some(least, most):
            pieces.append(piece)
        assert b"".join(pieces) == b"".join(chunks)
        assert all(min(least, most) <= len(piece) <= most for piece in pieces[:-1])
        assert all(len(piece) <= most for piece in pieces)

    run(play())


def test_a_chunk_that_is_large_enough_is_not_copied() -> None:
    async def play() -> None:
        small, large = bytes(10), bytes(1000)
        cutter = Cutter(sent(large, small, large, large))
        assert await cutter.take_some(500, 2000) is large
        assert await cutter.take_some(500, 2000) == small + large
        assert await cutter.take_some(500, 2000) is large

    run(play())


@settings(deadline=None)
@given(st.lists(st.binary(max_size=20)), st.integers(0, 60))
def test_to_ask_how_much_there_is_takes_nothing(chunks: list[bytes], than: int) -> None:
    async def play() -> None:
        cutter = Cutter(sent(*chunks))
        whole = b"".join(chunks)
        assert await cutter.more(than) == (len(whole) > than)
        assert await cutter.take(1_000) == whole

    run(play())
