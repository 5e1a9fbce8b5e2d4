"""An open lake and who acts on it; behind every handle, which asks it for open repositories."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from lochan.errors import LochanError
from lochan.journal.request_key import keyed

if TYPE_CHECKING:
    from lochan.formats.record import Actor
    from lochan.lake import Lake
    from lochan.versioning.open_repository import OpenRepository

_IDLE_MAX = 32  # repositories that stay open though nobody uses them just now


class Session:
    def __init__(self, lake: Lake, actor: Actor) -> None:
        self.lake = lake
        self.actor = actor
        self._open: dict[str, OpenRepository] = {}  # by id, the one used longest ago first
        self._users: dict[str, int] = {}
        self._opening = asyncio.Lock()

    def acting(self, key: str, *request: object) -> Actor:
        """Who acts, under an idempotency key; `request` is what makes this request another one than its neighbour."""
        return keyed(self.actor, key, *request)

    @asynccontextmanager
    async def opened(self, name: str) -> AsyncIterator[OpenRepository]:
        """By its name of this moment: one that was renamed or deleted is not found. Raises NotFound."""
        id = (await self.lake.repository(name)).id
        async with self._opening:
            repository = self._open.pop(id, None) or await self.lake.open_repository(name)
            self._open[id] = repository
            self._users[id] = self._users.get(id, 0) + 1
        try:
            with about(name):
                yield repository
        finally:
            self._users[id] -= 1
            await self._close_idle()

    async def close(self) -> None:
        """With the lake."""
        for repository in self._open.values():
            await repository.close()
        self._open.clear()
        await self.lake.close()

    async def _close_idle(self) -> None:
        idle = [id for id in self._open if not self._users[id]]
        for id in idle[: max(0, len(self._open) - _IDLE_MAX)]:
            repository = self._open.pop(id)
            del self._users[id]
            await repository.close()


@contextmanager
def about(repository: str) -> Iterator[None]:
    """The commands that errors advise name this repository."""
    try:
        yield
    except LochanError as error:
        error.hint = error.hint_about(repository)
        raise
