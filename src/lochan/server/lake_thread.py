"""Does work for the lake beside answering requests. It runs on a thread of its own, with a lake of its own, so that
requests do not wait for it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lochan.api.session import Session

_STOP_S = 20.0
_log = logging.getLogger("lochan.server")


class LakeThread:
    """A thread that does `work` until it is cancelled. The next start continues the work. `client` is the program that
    the journal names as the actor."""

    def __init__(
        self,
        client: str,
        open_session: Callable[[], Awaitable[Session]],
        work: Callable[[Session], Awaitable[None]],
    ) -> None:
        self._client = client
        self._open_session = open_session
        self._work = work
        self._thread = threading.Thread(target=self._run, name=f"lochan-{client}", daemon=True)
        self._stop: Callable[[], object] | None = None
        self._is_stopped = threading.Event()

    def start(self) -> None:
        self._thread.start()

    async def close(self) -> None:
        """Stops the work that is under way."""
        self._is_stopped.set()
        if self._stop is not None:
            with suppress(RuntimeError):  # its loop has just ended
                self._stop()
        await asyncio.to_thread(self._thread.join, _STOP_S)

    def _run(self) -> None:
        try:
            with suppress(asyncio.CancelledError):
                asyncio.run(self._main())
        except Exception:
            _log.exception("%s has stopped", self._client)

    async def _main(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._stop = lambda: loop.call_soon_threadsafe(task.cancel)
        if self._is_stopped.is_set():
            return
        session = (await self._open_session()).acting_as("lochan", self._client)
        try:
            await self._work(session)
        finally:
            await session.close()
