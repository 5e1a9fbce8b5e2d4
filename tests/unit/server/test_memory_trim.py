"""Free memory goes back to the system."""

import asyncio
import os
import resource
from contextlib import suppress

import pytest

from lochan.clock import SystemClock
from lochan.server import maintenance as memory
from tests.run import run
from tests.servers.memory import own

PIECE = 100_000  # below what the C library asks the system for one by one


class Soon(SystemClock):
    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0.01)


@pytest.mark.thorough
def test_what_lies_free_between_pieces_in_use_is_given_back() -> None:
    async def work() -> int:
        pieces = [bytes([number % 256]) * PIECE for number in range(1_000)]
        kept = pieces[::10]
        before = own(os.getpid())
        del pieces
        task = asyncio.create_task(memory.keep_memory_trimmed(Soon()))
        await asyncio.sleep(0.3)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert len(kept) == 100
        return before - own(os.getpid())

    assert run(work()) > 50 << 20, "of 90 MB that are free"


def test_what_is_needed_again_at_once_is_not_given_back_in_between() -> None:
    async def work() -> int:
        task = asyncio.create_task(memory.keep_memory_trimmed(SystemClock()))
        await asyncio.sleep(0)
        _come_and_go()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(20):
            _come_and_go()
        task.cancel()
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    assert run(work()) < 8 * 256 * 5, "pages fetched, of 8 MiB that come and go twenty times"


def _come_and_go() -> None:
    pieces = [b"x" * (1 << 20) for _ in range(8)]
    while pieces:
        pieces.pop()


def test_where_there_is_nothing_of_the_kind_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda name: object())
    run(asyncio.wait_for(memory.keep_memory_trimmed(Soon()), 5))
