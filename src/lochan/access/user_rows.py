"""The lake's users as rows of a query. No secret is among them."""

from __future__ import annotations

from typing import Any

from lochan.access.state import Access, principal
from lochan.journal.journal import Journal
from lochan.journal.state import StatePart
from lochan.pools.keys import Instant
from lochan.query.sources.meta.past import state_at


async def user_rows(journal: Journal, parts: tuple[type[StatePart], ...], time: int | None) -> list[dict[str, Any]]:
    """`journal` is the lake's own; `time`: as they were at that moment."""
    state = await journal.fresh() if time is None else await state_at(journal, parts, time)
    access = state.of(Access)
    return [
        {
            "name": user.name,
            "created": Instant(user.created),
            "created_by": user.created_by,
            "policies": list(access.attached_to(principal(user.name))),
            "keys": len(access.keys_of(user.name)),
        }
        for user in access.users()
    ]
