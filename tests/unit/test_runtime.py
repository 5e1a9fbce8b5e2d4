"""Bytes that a loop waits for: of files, pipes and terminals."""

import asyncio
import io
import os
import pty
import tty
from pathlib import Path
from typing import BinaryIO

import pytest

from lochan.runtime import PipeReader, read_piece


async def _all(stream: BinaryIO, size: int = 1 << 20) -> list[bytes]:
    found = []
    while piece := await read_piece(stream, size):
        found.append(piece)
    return found


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abcde")
    with (tmp_path / "a").open("rb") as file:
        assert asyncio.run(_all(file, 2)) == [b"ab", b"cd", b"e"]
    assert asyncio.run(_all(io.BytesIO(b"abc"), 2)) == [b"ab", b"c"]
    with Path(os.devnull).open("rb") as nothing:
        assert asyncio.run(_all(nothing)) == []


def test_a_pipe() -> None:
    reads, writes = os.pipe()
    os.write(writes, b"abcde")
    os.close(writes)
    with os.fdopen(reads, "rb") as pipe:
        assert b"".join(asyncio.run(_all(pipe, 2))) == b"abcde"


def test_a_terminal() -> None:
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    os.write(ours, b"typed")

    async def typed() -> bytes:
        with os.fdopen(theirs, "rb") as terminal:
            return await read_piece(terminal, 100)

    assert asyncio.run(typed()) == b"typed"
    os.close(ours)


def test_who_waits_for_a_pipe_can_be_cancelled() -> None:
    """A thread could not: the loop would wait for it when it is closed."""
    reads, writes = os.pipe()
    with os.fdopen(reads, "rb") as pipe:

        async def cancelled() -> None:
            async with asyncio.timeout(0.01):
                await read_piece(pipe, 10)

        with pytest.raises(TimeoutError):
            asyncio.run(cancelled())
        os.write(writes, b"later")
        assert asyncio.run(read_piece(pipe, 10)) == b"later"
    os.close(writes)


def test_a_thread_that_waits_for_a_pipe_ends_with_its_task() -> None:
    reads, writes = os.pipe()
    with os.fdopen(reads, "rb") as pipe:

        async def cancelled() -> None:
            reader = PipeReader(pipe)
            async with asyncio.timeout(0.01):
                await asyncio.to_thread(reader.read, 10)

        with pytest.raises(TimeoutError):
            asyncio.run(cancelled())  # which waits for the thread
    os.close(writes)


@pytest.mark.parametrize("size, pieces", [(2, [b"ab", b"cd", b"e", b""]), (-1, [b"abcde", b""]), (9, [b"abcde", b""])])
def test_a_thread_reads_all_of_a_pipe(size: int, pieces: list[bytes]) -> None:
    reads, writes = os.pipe()
    os.write(writes, b"abcde")
    os.close(writes)

    async def read(stream: BinaryIO) -> list[bytes]:
        reader = PipeReader(stream)
        return [await asyncio.to_thread(reader.read, size) for _ in pieces]

    with os.fdopen(reads, "rb") as pipe:
        assert asyncio.run(read(pipe)) == pieces
    assert PipeReader(io.BytesIO(b"abcde")).read(3) == b"abc"
