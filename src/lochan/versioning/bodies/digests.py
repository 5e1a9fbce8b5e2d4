"""Hashes bodies in threads: while pieces of a body are hashed, the store writes them or fetches the next.

hashlib releases the interpreter lock for more than 2 KiB, so the hashers of one body run at the same time, each in its
own thread and at its own pace. MD5 takes more than twice as long as SHA-256."""

import hashlib
from base64 import b64encode
from collections.abc import AsyncIterable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from lochan.runtime import running_loop
from lochan.versioning.bodies.checksums import ALGORITHMS, Hasher

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

INLINE_BYTES_MAX = 128 << 10  # MD5 takes about 0.2 ms for it; a round trip through a thread takes about 0.1 ms
_LAG_BYTES_MAX = 8 << 20  # how far the slowest hasher may be behind, which is memory for each incoming body
_TURN_BYTES = 2 << 20  # the least that wakes a thread while others are at work
_WORKERS = 4  # more would only take processors from the event loop


class Hashing:
    """The threads that hash."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    def threads(self) -> "ThreadPoolExecutor":
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="lochan-hash")
        return self._pool


class Feed:
    """Feeds pieces to hashers, in order, with a delay. Hashers may be used only after `done`."""

    def __init__(self, hashing: Hashing, hashers: Sequence[Hasher]) -> None:
        self._hashing = hashing
        self._lanes = [_Lane(hasher, self) for hasher in hashers]
        self.lock = Lock()  # guards what both the event loop and the lanes use
        self.failed: BaseException | None = None
        self._loop: Any = None
        self._gathered: list[bytes] = []  # for the next turn of the lanes
        self._gathered_bytes = 0
        self._behind = False
        self._waiting: Any = None  # a future, while a caller waits until the lag is at most `_lag_awaited`
        self._lag_awaited = 0

    async def add(self, data: bytes) -> None:
        """Adds a piece. It is hashed at once if it is too small for a thread, or if there is no event loop to block,
        and all pieces before it are hashed."""
        size, lag = len(data), self._lag() + self._gathered_bytes
        if lag + size > _LAG_BYTES_MAX:
            await self._until(max(0, _LAG_BYTES_MAX - size))
        loop = running_loop() if size > INLINE_BYTES_MAX or lag else None
        if loop is None:
            for lane in self._lanes:
                lane.hasher.update(data)
            return
        self._loop, self._behind = loop, True
        self._gathered.append(data)
        self._gathered_bytes += size
        if self._gathered_bytes >= _TURN_BYTES or not self._lag():
            self._hand_over()

    @property
    def is_behind(self) -> bool:
        """Returns whether some pieces may not be hashed yet."""
        return self._behind

    async def done(self) -> None:
        await self._until(0)
        self._behind = False

    def advanced(self) -> None:
        """Wakes the waiter if the lag is small enough. A lane calls it after each piece, with the lock held."""
        if self._waiting is not None and self._lag() <= self._lag_awaited:
            waiting, self._waiting = self._waiting, None
            self._loop.call_soon_threadsafe(_wake, waiting)

    async def _until(self, lag: int) -> None:
        """Waits until the lag is at most `lag`. Raises what a hasher has raised."""
        self._hand_over()
        waiting = None
        with self.lock:
            if self._lag() > lag:
                waiting = self._waiting = self._loop.create_future()
                self._lag_awaited = lag
        if waiting is not None:
            await waiting
        if self.failed is not None:
            raise self.failed

    def _hand_over(self) -> None:
        if self._gathered:
            for lane in self._lanes:
                lane.add(self._gathered, self._gathered_bytes, self._hashing.threads())
            self._gathered, self._gathered_bytes = [], 0

    def _lag(self) -> int:
        return max([lane.lag for lane in self._lanes], default=0)


class _Lane:
    """One hasher and the pieces that it has not hashed yet. It takes a thread for all waiting pieces and then asks for
    a thread again, so that the lanes of many bodies take turns."""

    def __init__(self, hasher: Hasher, feed: Feed) -> None:
        self.hasher = hasher
        self.lag = 0  # bytes that wait or are being hashed
        self._feed = feed
        self._waiting: list[bytes] = []
        self._requested = False  # whether it has asked for a thread that has not begun
        self._busy = False

    def add(self, pieces: Sequence[bytes], size: int, pool: "ThreadPoolExecutor") -> None:
        with self._feed.lock:
            self._waiting += pieces
            self.lag += size
        self._ask(pool)

    def _ask(self, pool: "ThreadPoolExecutor") -> None:
        with self._feed.lock:
            if self._requested or self._busy or not self._waiting:
                return
            self._requested = True
        try:
            pool.submit(self._run, pool)
        except RuntimeError:  # the system has no more threads; an existing one may still take it
            self._run(pool)

    def _run(self, pool: "ThreadPoolExecutor") -> None:
        with self._feed.lock:
            if not self._requested:
                return
            self._requested, self._busy = False, True
            pieces, self._waiting = self._waiting[::-1], []
        while pieces:
            self._hash(pieces.pop())  # nothing else holds the piece
        with self._feed.lock:
            self._busy = False
        self._ask(pool)

    def _hash(self, piece: bytes) -> None:
        failed: BaseException | None = None
        try:
            self.hasher.update(piece)
        except BaseException as error:  # raised to the waiter, who would otherwise wait for ever
            failed = error
        with self._feed.lock:
            self._feed.failed = self._feed.failed or failed
            self.lag -= len(piece)
            self._feed.advanced()


def _wake(waiting: Any) -> None:
    if not waiting.done():  # the waiter may have been cancelled
        waiting.set_result(None)


async def digests(body: AsyncIterable[bytes], algorithms: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Reads a body only to hash it. Returns its MD5 in hex, and the requested checksums in base64."""
    md5 = hashlib.md5(usedforsecurity=False)
    hashers = {name: ALGORITHMS[name]() for name in algorithms}
    feed = Feed(_of_reads, [md5, *hashers.values()])
    async for piece in body:
        await feed.add(piece)
    await feed.done()
    return md5.hexdigest(), {name: b64encode(hasher.digest()).decode() for name, hasher in hashers.items()}


_of_reads = Hashing()
