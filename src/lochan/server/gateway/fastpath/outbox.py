"""Answers without a body that leave together: those of all requests that one turn of the event loop has finished. Why,
`read_batch.py` says."""

import asyncio
from typing import Any

from lochan.server.gateway.request import Headers


class Outbox:
    """Of one event loop."""

    def __init__(self) -> None:
        self._held: list[tuple[Any, Headers, asyncio.Future[None]]] = []

    async def send(self, protocol: Any, headers: Headers) -> None:
        """With status 200. Returns when the answer has left: to Granian, a task that ends before has none."""
        loop = asyncio.get_running_loop()
        left = loop.create_future()  # one for each: who is cancelled takes no other along
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
