"""Bytes from the thread that makes them to the event loop that sends them. Whoever makes them waits while nobody takes
them, so a slow client costs time and no memory."""

import asyncio
import threading

_AHEAD = 2  # one is sent while another is made


class Unwanted(Exception):
    """Nobody takes them any more."""


class Pieces:
    """Made on the loop that takes from it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._made: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        self._unwanted = False

    def put(self, piece: bytes) -> None:
        """On the thread. Raises Unwanted."""
        self._room.acquire()
        if self._unwanted:
            self._room.release()
            raise Unwanted
        self._tell(piece)

    def end(self) -> None:
        """On the thread, once; also where it was broken off."""
        self._tell(None)

    async def take(self) -> bytes | None:
        """None at the end, and from then on."""
        piece = await self._made.get()
        if piece is None:
            self._made.put_nowait(None)
        else:
            self._room.release()
        return piece

    def refuse(self) -> None:
        """From any thread: whoever makes them is told when they have made the next."""
        self._unwanted = True
        self._room.release()

    def drop(self) -> None:
        """Those that nobody has taken, once it has ended. On the loop."""
        while not self._made.empty():
            self._made.get_nowait()
        self._made.put_nowait(None)

    def _tell(self, piece: bytes | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._made.put_nowait, piece)
        except RuntimeError:  # the loop has ended, and the process with it
            raise Unwanted from None
