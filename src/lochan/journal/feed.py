"""The events of one journal or of several, in the order in which they happened.

Within a journal the numbers order events. Between journals only the wall clocks of their writers do, which may be off
by a little.
"""

import heapq
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lochan.clock import Clock
from lochan.formats import events
from lochan.formats.record import SealedRecord
from lochan.journal.event_text import describe
from lochan.journal.journal import Journal

_FOLLOW_PAUSE_S = 0.5

OpenJournals = Callable[[], Awaitable[Sequence[Journal]]]


@dataclass(frozen=True, slots=True)
class EventLine:
    """One event, with everything that is known of it."""

    number: int  # the logical time: of two events of one journal, the later has the larger
    index: int  # its place in the record
    time: int  # wall, microseconds since 1970
    user: str
    client: str
    source: str
    repository: str  # id, or _lake
    type: str
    payload: dict[str, Any]  # the event's fields by name, without secrets
    text: str  # one line that says what happened
    author: str = ""  # whom the user says to speak for, if anybody


async def read_events(
    open: OpenJournals, clock: Clock, *, last: int | None = None, after: int | None = None, follow: bool = False
) -> AsyncIterator[EventLine]:
    """The newest come last. Either the `last` so many of all the journals, or those of records `after` a number, for
    which there must be one journal only; with `follow`, also those to come."""
    if after is not None:
        (journal,) = await open()
        seen = {journal.journal: after}
        if not follow:
            async for line in events_after(journal, after):
                yield line
    else:
        found, seen = await last_events(await open(), last)
        for line in found:
            yield line
    if follow:
        async for line in follow_events(open, seen, clock):
            yield line


async def last_events(journals: Sequence[Journal], count: int | None) -> tuple[list[EventLine], dict[str, int]]:
    """The last `count` events of all the journals together, or every one, the newest last; and the last number of each
    journal, for who goes on to follow them."""
    several = [await _tail(journal, count) for journal in journals]
    merged = list(heapq.merge(*several, key=lambda line: line.time))
    seen = {lines[-1].repository: lines[-1].number for lines in several if lines}
    return (merged if count is None else merged[max(0, len(merged) - count) :]), seen


async def follow_events(open: OpenJournals, seen: dict[str, int], clock: Clock) -> AsyncIterator[EventLine]:
    """Every event to come, until the caller stops. `seen` holds the last number of each journal that is known already;
    journals that are opened later are followed from their beginning."""
    while True:
        for journal in await open():
            async for line in events_after(journal, seen.get(journal.journal, 0)):
                seen[journal.journal] = line.number
                yield line
        await clock.sleep(_FOLLOW_PAUSE_S)


async def events_after(journal: Journal, number: int) -> AsyncIterator[EventLine]:
    """Those of records with a larger number, as far as there are any."""
    async for sealed in journal.records(number):
        for line in lines(sealed):
            yield line


async def _tail(journal: Journal, count: int | None) -> list[EventLine]:
    """A record holds one event at least, so the last `count` records hold all that are wanted."""
    after = 0 if count is None else max(0, (await journal.fresh()).number - count)
    return [line async for line in events_after(journal, after)]


def lines(sealed: SealedRecord) -> list[EventLine]:
    """The events of a record."""
    record = sealed.record
    changes = ((entry, change) for entry in record.entries for change in entry.changes)
    return [
        EventLine(
            record.number,
            index,
            record.time,
            entry.actor.user,
            entry.actor.client,
            entry.actor.source,
            record.journal,
            change.type,
            events.named(change),
            describe(events.read(change), change.type),
            entry.actor.author,
        )
        for index, (entry, change) in enumerate(changes)
    ]
