"""The events of one journal or of several, in the order in which they happened.

Within a journal the numbers order events. Between journals only the wall clocks of their writers do, which may be off
by a little.
"""

import heapq
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from lochan.clock import Clock
from lochan.journal.journal import Journal
from lochan.journal.lines import EventLine, lines

_FOLLOW_PAUSE_S = 0.5

OpenJournals = Callable[[], Awaitable[Sequence[Journal]]]


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
