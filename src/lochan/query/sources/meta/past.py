"""The state of a journal as it was at a moment: folded anew from its first record."""

from __future__ import annotations

from lochan.journal.journal import Journal
from lochan.journal.state import Schema, State, StatePart


async def state_at(journal: Journal, parts: tuple[type[StatePart], ...], time: int) -> State:
    """With every record up to the first one that is of a later time. Clocks differ: the records' own order counts."""
    state = Schema(*parts).empty(journal.journal)
    async for sealed in journal.records():
        if sealed.record.time > time:
            break
        state.fold(sealed)
    return state
