"""How long bodies are waited for: one timer for all of them, for to set one takes as long as half of a signature."""

import asyncio
from typing import Any


class Patience:
    """Of one event loop."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._waiting: dict[asyncio.Task[Any], float] = {}  # since when, the longest first
        self._timer: asyncio.TimerHandle | None = None

    async def body(self, protocol: Any) -> bytes:
        """The whole of it. Raises TimeoutError."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._waiting[task] = since = loop.time()
        if self._timer is None:
            self._timer = loop.call_at(since + self._seconds, self._look, loop)
        try:
            return bytes(await protocol())
        except asyncio.CancelledError:
            if task not in self._waiting and task.uncancel() == 0:  # it was the timer, and nobody else
                raise TimeoutError from None
            raise
        finally:
            self._waiting.pop(task, None)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        while self._waiting:
            task, since = next(iter(self._waiting.items()))
            if since + self._seconds > loop.time():
                self._timer = loop.call_at(since + self._seconds, self._look, loop)
                return
            del self._waiting[task]
            task.cancel()
