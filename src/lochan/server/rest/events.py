"""Handles `GET /events`, which sends what happens in the lake as server-sent events. A client that was cut off
continues where it was, by the id of the last event that it has seen.

A stream reads with the rights that its user has now, and not with those they had when it began. It ends after a while,
so that the client shows its key again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lochan.access.sessions import is_open
from lochan.api.results import moment
from lochan.api.wrappers.guard import RightsGuard
from lochan.api.wrappers.resources import event_rights
from lochan.errors import LochanError
from lochan.server.rest.operation import Answer, Resource, RestCall

if TYPE_CHECKING:
    from lochan.journal.feed import EventLine

RESOURCE = Resource("events")
MEDIA = "text/event-stream"
_LAST_ID = "last-event-id"
_CHECK_S = 1.0  # the highest age of a look at the rights
_ALIVE_S = 15.0  # a comment is sent if nothing has happened for so long
_STREAM_S = 900.0
_ID_BYTES_MAX = 8_000  # the size that the header of a request may have


class EventsQuery(msgspec.Struct, frozen=True):
    repository: Annotated[str, msgspec.Meta(description="its name, or `_lake`; none: all of the lake")] = ""
    last: Annotated[int, msgspec.Meta(ge=0, description="begin with the last so many")] | None = None
    after: Annotated[str, msgspec.Meta(description="begin after the event with this id, as Last-Event-ID does")] = ""
    follow: Annotated[bool, msgspec.Meta(description="go on with those to come")] = True


@RESOURCE.operation("GET", "/events", {200: bytes}, query=EventsQuery, media=MEDIA)
async def stream_events(call: RestCall) -> Answer:
    """Follow what happens in the lake, or in one repository.

    The data of each event is a JSON object, its type the event's. Without `last` and an id, only events to come are
    sent; those that happened before as well if `follow` is false.
    """
    query: EventsQuery = call.query
    after = call.request.headers.get(_LAST_ID) or query.after or None
    last = 0 if after is None and query.last is None and query.follow else query.last
    # The first step checks the rights, the repository and the id, while another answer is still possible.
    lines = call.lake.events(query.repository or None, last=last, after=after, follow=query.follow)
    feed = _Feed(call, lines, query.repository or None)
    await feed.begin()
    return EventResponse(feed)


class _Feed:
    """The lines of events. One is read ahead, in a task of its own, so that waiting for the next one can be given
    up."""

    def __init__(self, call: RestCall, lines: AsyncIterator[EventLine], repository: str | None) -> None:
        self._api = call.api
        self._requester = call.context.requester
        self._session = call.context.login_session
        self._lines = lines
        self._repository = repository
        self._next: asyncio.Task[EventLine | None] | None = None
        self._names: dict[str, str] = {}
        self._checked = call.api.clock.boot()
        self.begun = self._checked

    async def begin(self) -> None:
        """Starts to read. Raises what the verb raises before its first event."""
        self._next = asyncio.create_task(self._one())
        await asyncio.wait([self._next], timeout=_CHECK_S)
        if self._next.done():
            self._next.result()

    async def take(self, seconds: float) -> EventLine | None:
        """Returns the next line, or None if nothing happens in so many seconds. Raises EOFError at the end."""
        if self._next is None:
            self._next = asyncio.create_task(self._one())
        done, _ = await asyncio.wait([self._next], timeout=seconds)
        await self._check()
        if not done:
            return None
        line, self._next = self._next.result(), None
        if line is None:
            raise EOFError
        return line

    async def name_of(self, id: str) -> str:
        """Returns the name of a repository. Deleted repositories, and the lake itself, have only their ids."""
        if id not in self._names:
            self._names = {each.id: each.name async for each in self._api.lake.repositories()}
            self._names.setdefault(id, id)
        return self._names[id]

    async def _one(self) -> EventLine | None:
        return await anext(self._lines, None)

    async def _check(self) -> None:
        """Raises EOFError if the user may no longer read events, if the session has ended, or if the stream has lasted
        long enough."""
        now = self._api.clock.boot()
        if now - self.begun > _STREAM_S or self._api.stopping.is_set():
            raise EOFError
        if self._session and not await is_open(self._api.access, self._session, now):
            raise EOFError
        if now - self._checked > _CHECK_S:
            if not await RightsGuard(self._api.access, self._requester, now).may(event_rights(self._repository)):
                raise EOFError
            self._checked = now

    async def close(self) -> None:
        if self._next is not None:
            self._next.cancel()
            with suppress(asyncio.CancelledError, LochanError):
                await self._next
        close = getattr(self._lines, "aclose", None)
        if close is not None:
            await close()


class EventResponse(Response):
    def __init__(self, feed: _Feed) -> None:
        self._feed = feed
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = [(b"content-type", MEDIA.encode()), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(_wait_for_disconnect(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            for each in (sending, leaving):
                each.cancel()
                with suppress(asyncio.CancelledError, LochanError, OSError):
                    await each
            await self._feed.close()

    async def _send(self, send: Send) -> None:
        silent = 0.0
        await _put(send, b": begun\n\n")
        while True:
            try:
                line = await self._feed.take(_CHECK_S)
            except EOFError:
                return
            except LochanError as error:  # such as a repository that was deleted
                await _put(send, b"event: error\ndata: " + msgspec.json.encode({"message": str(error)}) + b"\n\n")
                return
            if line is not None:
                silent = 0.0
                await _put(send, encode_event(line, await self._feed.name_of(line.repository)))
                continue
            silent += _CHECK_S
            if silent >= _ALIVE_S:
                silent = 0.0
                await _put(send, b": alive\n\n")


async def _put(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def encode_event(line: EventLine, repository: str) -> bytes:
    """Returns an event as it is sent. It has no id if that would not fit into a request. The client then continues from
    the last id that did fit."""
    id = f"id: {line.cursor}\n" if len(line.cursor) <= _ID_BYTES_MAX else ""
    data = msgspec.json.encode(event_fields(line, repository))
    return f"{id}event: {line.type}\n".encode() + b"data: " + data + b"\n\n"


def event_fields(line: EventLine, repository: str) -> dict[str, Any]:
    """Returns the fields with the names that `lochan events -f json` gives them."""
    return {
        "number": line.number,
        "index": line.index,
        "time": moment(line.time).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "user": line.user,
        "author": line.author,
        "client": line.client,
        "source": line.source,
        "repository": repository,
        "repository_id": line.repository,
        "type": line.type,
        "text": line.text,
        "payload": line.payload,
    }
