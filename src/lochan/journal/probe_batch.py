"""One probe of the journals for all requests that have arrived by the time it is sent (rule A1).

    loop turns    request request request ▏look▏answer answer answer ▏request …
                     └───────┴───────┴── have arrived before the look was sent

A look is a few system calls, at each of which the interpreter changes threads: for each request by itself they would
take as long as all the rest.
"""

import asyncio
from contextlib import suppress

from lochan.errors import LochanError
from lochan.journal.journal import Journal


class ProbeBatch:
    """Of one event loop."""

    def __init__(self) -> None:
        self._next: asyncio.Future[None] | None = None
        self._journals: set[Journal] = set()

    async def wait(self, *journals: Journal) -> None:
        """Returns when these have been looked at. Whether that was enough, their tails tell: `anchor.sent` is later
        than what the caller's clock showed before."""
        if self._next is None:
            loop = asyncio.get_running_loop()
            self._next = loop.create_future()
            loop.call_soon(self._look)
        self._journals.update(journals)
        try:
            await self._next
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Another who waited was cancelled, and the look with it. Its tails tell.

    def _look(self) -> None:
        looked, self._next = self._next, None
        journals, self._journals = self._journals, set()
        for journal in journals:
            with suppress(LochanError):  # told to whoever asks again, and waits for the answer
                journal.tail.glance()
        if looked is not None and not looked.done():
            looked.set_result(None)
