"""The bridge between plain code, threads and the event loop.

    Runtime          one thread runs the loop, and other threads wait for its results
    run_in_thread    runs one coroutine on a loop of its own, for callers that may have a loop already
    ByteQueue        hands pieces of bytes from a thread to the loop, a few ahead of their reader
    running_loop     the running loop, if there is one
    read_piece       reads from a file or a pipe, on the loop
    PipeReader       reads from a file or a pipe on a thread, until the task that wants it is cancelled

asyncio is imported when it is needed. A command that reads a local lake never needs it.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import IO, Any, BinaryIO, TypeVar

T = TypeVar("T")
_LOOK_MS = 100  # how often a thread that waits for a pipe checks whether its task still runs


class Runtime:
    def __init__(self, opener: Any = None) -> None:
        """`opener` is the object with which another process can open the same lake, or None if there is none."""
        import asyncio

        self.opener = opener
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="lochan", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs the work on the loop and returns its result. An interrupt (Ctrl-C) cancels the work."""
        import asyncio

        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, items: AsyncIterator[T]) -> Iterator[T]:
        """Gets one item at a time. If the caller stops early, the source is closed."""
        try:
            while True:
                try:
                    item = self.wait(_next(items))
                except StopAsyncIteration:
                    return
                yield item
        finally:
            close = getattr(items, "aclose", None)
            if close is not None and self.is_running:
                self.wait(close())

    def stop(self) -> None:
        """Stops the loop and its thread. Calling it again does nothing."""
        if self.is_running:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


def run_in_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs a coroutine on a thread with a loop of its own, and returns its result: the caller may be in a notebook,
    which has a loop already."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1, "lochan") as threads:
        return threads.submit(lambda: asyncio.run(work())).result()


def running_loop() -> Any:
    """Returns the running loop, or None if there is none: then nothing can block it, and asyncio is not imported."""
    if "asyncio" not in sys.modules:
        return None
    import asyncio

    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def read_piece(stream: BinaryIO, size: int) -> bytes:
    """Reads the next bytes, at most `size`, and none at the end. A thread that waits for a pipe cannot be ended, and
    a process waits for its threads, so the loop itself waits for streams that it can watch: a pipe, a socket, a
    terminal."""
    import asyncio

    read, file = getattr(stream, "read1", None), _pipe_of(stream)
    if read is None or file is None:
        return await asyncio.to_thread(stream.read, size)
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    try:
        loop.add_reader(file, ready.set)
    except PermissionError:  # such as /dev/null, which never waits
        return await asyncio.to_thread(stream.read, size)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(file)
    piece: bytes = read(size)
    return piece


class PipeReader:
    """Reads for the task that makes it, if there is one. If that task is cancelled or has ended and no bytes are ready,
    reading raises InterruptedError."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._pipe = _pipe_of(stream) if hasattr(stream, "read1") else None
        self._task = _running_task()

    def read(self, size: int = -1) -> bytes:
        """Reads `size` bytes, and fewer only at the end."""
        if self._pipe is None or self._task is None:
            return self._stream.read(size)
        pieces: list[bytes] = []
        while size:
            self._wait(self._pipe)
            piece: bytes = self._stream.read1(size)  # type: ignore[attr-defined]
            if not piece:
                break
            pieces.append(piece)
            size -= len(piece) if size > 0 else 0
        return b"".join(pieces)

    def _wait(self, pipe: int) -> None:
        import select

        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        while not poll.poll(_LOOK_MS):
            if self._task.cancelling() or self._task.done():
                raise InterruptedError("nobody waits for it any more")


def _running_task() -> Any:
    if running_loop() is None:
        return None
    import asyncio

    return asyncio.current_task()


def _pipe_of(stream: IO[bytes]) -> int | None:
    try:
        file = stream.fileno()
        mode = os.fstat(file).st_mode
    except (AttributeError, OSError, ValueError):
        return None
    return file if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode) else None


class QueueRefused(Exception):
    """The reader of a queue no longer takes pieces."""


class ByteQueue:
    """A queue of bytes from a thread to a loop. It must be made on the loop that takes from it. At most `ahead` pieces
    wait in it: one is sent while another is made."""

    def __init__(self, ahead: int = 2) -> None:
        import asyncio

        self._loop = asyncio.get_running_loop()
        self._made: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(ahead)
        self._unwanted = False

    def put(self, piece: bytes) -> None:
        """Adds a piece, on the thread. Raises QueueRefused."""
        self._room.acquire()
        if self._unwanted:
            self._room.release()
            raise QueueRefused
        self._tell(piece)

    def end(self) -> None:
        """Marks the end, on the thread. It is called once, also after a failure."""
        self._tell(None)

    async def take(self) -> bytes | None:
        """Returns the next piece, or None at the end and from then on."""
        piece = await self._made.get()
        if piece is None:
            self._made.put_nowait(None)
        else:
            self._room.release()
        return piece

    def refuse(self) -> None:
        """Makes the next `put` raise QueueRefused. Any thread may call it."""
        self._unwanted = True
        self._room.release()

    def drop(self) -> None:
        """Drops the pieces that were not taken, once the queue has ended. It is called on the loop."""
        while not self._made.empty():
            self._made.get_nowait()
        self._made.put_nowait(None)

    def _tell(self, piece: bytes | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._made.put_nowait, piece)
        except RuntimeError:  # the loop has ended, and the process with it
            raise QueueRefused from None


async def _next(items: AsyncIterator[T]) -> T:
    return await anext(items)
