"""A stream of events: a comment where nothing happens, and no more read from the journal than the client takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from lochan.api.wrappers.guard import RightsGuard
from lochan.clock import SystemClock
from lochan.journal.feed import EventLine
from lochan.server.rest import events
from lochan.server.rest.events import EventResponse, _Feed
from tests.run import run
from tests.until import until


class Lines:
    """Of a journal that never ends."""

    def __init__(self, count: int) -> None:
        self.read = 0
        self._count = count

    async def __call__(self) -> AsyncIterator[EventLine]:
        while self.read < self._count:
            self.read += 1
            yield EventLine(self.read, 0, 0, "ann", "test", "", "r", "staged", {}, "", cursor=f"r:{self.read}")
        await asyncio.Event().wait()


def feed(lines: Lines) -> Any:
    async def repositories() -> AsyncIterator[Any]:
        yield SimpleNamespace(id="r", name="shop")

    api = SimpleNamespace(
        clock=SystemClock(), stopping=asyncio.Event(), lake=SimpleNamespace(repositories=repositories), access=None
    )
    call = SimpleNamespace(api=api, context=SimpleNamespace(requester=None, login_session=""))
    return _Feed(call, lines(), None)  # type: ignore[arg-type]


async def never() -> dict[str, str]:
    await asyncio.Event().wait()
    return {}


def test_a_client_that_takes_nothing_holds_up_only_its_own_stream() -> None:
    async def play() -> None:
        lines, sent, room = Lines(10_000), list[bytes](), asyncio.Semaphore(5)

        async def send(message: Any) -> None:
            if message["type"] == "http.response.body":
                await room.acquire()
                sent.append(message["body"])

        answering = asyncio.ensure_future(EventResponse(feed(lines))({}, never, send))
        await until(lambda: len(sent) == 5)
        for _ in range(100):
            await asyncio.sleep(0)
        assert lines.read <= 6, "what was not taken is not read"
        room.release()
        await until(lambda: len(sent) == 6)
        answering.cancel()
        await asyncio.wait([answering])

    run(play())


def test_a_comment_is_sent_where_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_CHECK_S", 0.01)
    monkeypatch.setattr(events, "_ALIVE_S", 0.02)
    monkeypatch.setattr(RightsGuard, "may", lambda self, rights: _yes())

    async def play() -> None:
        sent: list[bytes] = []

        async def send(message: Any) -> None:
            sent.append(message.get("body", b""))

        answering = asyncio.ensure_future(EventResponse(feed(Lines(0)))({}, never, send))
        await until(lambda: sent.count(b": alive\n\n") == 2)
        answering.cancel()
        await asyncio.wait([answering])
        assert b": begun\n\n" in sent

    run(play())


async def _yes() -> bool:
    return True
