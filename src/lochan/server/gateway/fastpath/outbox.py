"""Sends answers without a body together: those of all requests that one turn of the event loop has finished.
`read_batch.py` explains why."""

import asyncio
from typing import Any

from lochan.server.gateway.request import Headers


class Outbox:
    """The waiting answers of one event loop."""

    def __init__(self) -> None:
        self._held: list[tuple[Any, Headers, asyncio.Future[None]]] = []

    async def send(self, protocol: Any, headers: Headers) -> None:
        """Sends an answer with status 200. Returns when the answer has left, because Granian sees no answer from a task
        that ends before."""
        loop = asyncio.get_running_loop()
        left = loop.create_future()  # each has its own, so that cancelling one request does not cancel another
        if not self._held:
            loop.call_soon(self._flush)
        self._held.append((protocol, headers, left))
        await left

    def _flush(self) -> None:
        held, self._held = self._held, []
        for protocol, headers, _ in held:
            protocol.response_empty(200, headers)
        for _, _, left in held:
            if not left.done():
                left.set_result(None)
