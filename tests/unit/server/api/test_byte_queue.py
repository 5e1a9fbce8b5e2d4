"""A queue of bytes from a thread to an event loop, with little read ahead."""

import asyncio
import threading

import pytest

from lochan.runtime import ByteQueue, QueueRefused
from tests.run import run


def test_the_producer_waits_for_the_consumer() -> None:
    async def work() -> None:
        pieces, made = ByteQueue(), []

        def make() -> None:
            for number in range(10):
                pieces.put(b"%d" % number)
                made.append(number)
            pieces.end()

        thread = threading.Thread(target=make)
        thread.start()
        await asyncio.sleep(0.1)
        assert len(made) == 2
        assert [await pieces.take() for _ in range(10)] == [b"%d" % number for number in range(10)]
        assert [await pieces.take(), await pieces.take()] == [None, None]
        thread.join()

    run(work())


def test_nobody_wants_them_any_more() -> None:
    async def work() -> None:
        pieces, ended = ByteQueue(), threading.Event()

        def make() -> None:
            with pytest.raises(QueueRefused):
                while True:
                    pieces.put(b"x")
            ended.set()

        thread = threading.Thread(target=make)
        thread.start()
        await pieces.take()
        pieces.refuse()
        await asyncio.to_thread(thread.join, 10)
        assert ended.is_set()

    run(work())
