"""Hashes that are computed later give the same as at once."""

import asyncio
import hashlib
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from lochan.versioning.bodies.digests import INLINE_BYTES_MAX, Feed, Hashing
from tests.run import run

MIB = 1 << 20


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


def test_a_slow_hasher_holds_up_no_other_and_only_so_much_memory() -> None:
    async def play() -> None:
        slow, fast = Stubborn(), Counter()
        feed = Feed(_HASHING, [slow, fast])
        adding = asyncio.create_task(_add(feed, [bytes(MIB)] * 20))
        await asyncio.wait([adding], timeout=0.2)
        assert not adding.done()
        assert (slow.size, fast.size) == (0, 8 * MIB)
        slow.may_go.set()
        await adding
        await feed.done()
        assert slow.size == fast.size == 20 * MIB

    run(play())


def test_what_a_hasher_raises_is_raised_and_nobody_waits_for_ever() -> None:
    async def play() -> None:
        feed = Feed(_HASHING, [Counter(), Broken()])
        with pytest.raises(ValueError, match="broken"):
            await _add(feed, [bytes(MIB)] * 20)
            await feed.done()
        with pytest.raises(ValueError, match="broken"):
            await feed.done()

    run(play())


def test_who_is_cancelled_while_waiting_leaves_the_feed_whole() -> None:
    async def play() -> None:
        slow = Stubborn()
        feed = Feed(_HASHING, [slow])
        adding = asyncio.create_task(_add(feed, [bytes(MIB)] * 20))
        await asyncio.wait([adding], timeout=0.05)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        slow.may_go.set()
        await feed.done()
        assert slow.size == 8 * MIB

    run(play())


@pytest.mark.thorough
def test_many_bodies_at_once() -> None:
    async def one(number: int) -> None:
        pieces = [bytes([number, at]) * (300 << 10) for at in range(20)]
        md5, sha256 = hashlib.md5(), hashlib.sha256()
        feed = Feed(_HASHING, [md5, sha256])
        for piece in pieces:
            await feed.add(piece)
            await asyncio.sleep(0)
        await feed.done()
        assert md5.digest() == hashlib.md5(b"".join(pieces)).digest()
        assert sha256.digest() == hashlib.sha256(b"".join(pieces)).digest()

    async def play() -> None:
        await asyncio.gather(*map(one, range(10)))

    run(play())


@pytest.mark.parametrize("threads", [0, 1])
def test_a_system_without_more_threads(threads: int) -> None:
    """The pool accepts the work, and then reports that it could not start a thread."""

    class Exhausted(ThreadPoolExecutor):
        def submit(self, *given: Any, **named: Any) -> Any:
            if threads:
                super().submit(*given, **named)
            raise RuntimeError("can't start new thread")

    async def play(pool: ThreadPoolExecutor) -> None:
        hashing = Hashing()
        hashing.threads = lambda: pool  # type: ignore[method-assign]
        pieces = [bytes([at]) * (300 << 10) for at in range(30)]
        sha256 = hashlib.sha256()
        feed = Feed(hashing, [sha256])
        await _add(feed, pieces)
        await feed.done()
        assert sha256.digest() == hashlib.sha256(b"".join(pieces)).digest()

    with Exhausted(1) as pool:
        run(play(pool))


class Counter:
    def __init__(self) -> None:
        self.size = 0

    def update(self, data: bytes, /) -> None:
        self.size += len(data)

    def digest(self) -> bytes:
        return b"%d" % self.size


class Stubborn(Counter):
    def __init__(self) -> None:
        super().__init__()
        self.may_go = Event()

    def update(self, data: bytes, /) -> None:
        assert self.may_go.wait(20)
        super().update(data)


class Broken(Counter):
    def update(self, data: bytes, /) -> None:
        raise ValueError("broken")


async def _add(feed: Feed, pieces: list[bytes]) -> None:
    for piece in pieces:
        await feed.add(piece)


_HASHING = Hashing()
