"""Hashing beside the event loop: while pieces of a body are hashed, the store moves them and fetches the next.

hashlib gives up the interpreter lock for more than 2 KiB, so the hashers of one body run at once, each in its thread.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lochan.versioning.bodies.checksums import Hasher

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

INLINE_BYTES_MAX = 128 << 10  # MD5 takes about 0.2 ms for it, a turn through a thread about 0.1 ms
_LAG_BYTES_MAX = 4 << 20  # waiting to be hashed, besides what is being hashed
_WORKERS = 4  # they keep processors busy; more would only take them from the event loop


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
    """Feeds pieces to hashers, in order, a little behind. No hasher may be asked before `done`."""

    def __init__(self, hashing: Hashing, hashers: Sequence[Hasher]) -> None:
        self._hashing = hashing
        self._hashers = hashers
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._busy: list[Any] = []  # futures, one for each hasher

    async def add(self, data: bytes) -> None:
        if self._waiting and self._waiting_bytes + len(data) > _LAG_BYTES_MAX:
            await self._caught_up()
            self._start()
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        if all(future.done() for future in self._busy):
            self._start()

    @property
    def is_behind(self) -> bool:
        """Whether there is anything left to be hashed."""
        return bool(self._busy or self._waiting)

    async def done(self) -> None:
        while self._busy or self._waiting:
            await self._caught_up()
            self._start()

    def _start(self) -> None:
        """On a body that is so small as not to be worth a thread, or without an event loop to hold up, it is done at
        once."""
        pieces, self._waiting = self._waiting, []
        size, self._waiting_bytes = self._waiting_bytes, 0
        loop = running_loop() if size > INLINE_BYTES_MAX else None
        if loop is None:
            for hasher in self._hashers:
                _update(hasher, pieces)
            self._busy = []
        else:
            pool = self._hashing.threads()
            self._busy = [loop.run_in_executor(pool, _update, hasher, pieces) for hasher in self._hashers]

    async def _caught_up(self) -> None:
        for future in self._busy:
            await future


def running_loop() -> Any:
    """None without one: there is nobody to hold up then, and no reason to import asyncio."""
    if "asyncio" not in sys.modules:
        return None
    import asyncio

    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _update(hasher: Hasher, pieces: list[bytes]) -> None:
    for piece in pieces:
        hasher.update(piece)
