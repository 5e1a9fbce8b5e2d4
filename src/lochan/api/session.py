"""An open lake and who acts on it; behind every handle, which asks it for open repositories."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from copy import copy
from typing import TYPE_CHECKING

from lochan.errors import LochanError, Refused
from lochan.journal.keys import keyed

if TYPE_CHECKING:
    import asyncio

    from lochan.api.doctor import DoctorTarget
    from lochan.engines.spark.place import SparkPlace
    from lochan.formats.record import Actor
    from lochan.lake import Lake
    from lochan.versioning.open_repository import OpenRepository
    from lochan.versioning.repositories import Repository

_IDLE_MAX = 32  # repositories that stay open though nobody uses them just now


class Session:
    """`one_request`: it is closed after one request, which may look up a name once and keep to what it found."""

    def __init__(
        self,
        lake: Lake,
        actor: Actor,
        spark: Callable[[str | None], SparkPlace] | None = None,
        doctor: Callable[[], DoctorTarget] | None = None,
        *,
        one_request: bool = False,
    ) -> None:
        self.lake = lake
        self.actor = actor
        self._spark = spark
        self._doctor = doctor
        self._names: dict[str, Repository] | None = {} if one_request else None
        self._repositories = _OpenRepositories(lake)

    def acting(self, key: str, *request: object) -> Actor:
        """Who acts, under an idempotency key; `request` is what makes this request another one than its neighbour."""
        return keyed(self.actor, key, *request)

    def acting_as(self, user: str, client: str, source: str = "") -> Session:
        """The same for somebody else; the repositories that are open are shared. Closing it closes this one too."""
        from lochan.formats.record import Actor

        other = copy(self)
        other.actor = Actor(user, client, source)
        return other

    def spark(self, master: str | None = None) -> SparkPlace:
        """Where Spark runs: at that master, or where its opener has configured it."""
        if self._spark is not None:
            return self._spark(master)
        from lochan.engines.spark.place import STANDARD

        return STANDARD._replace(master=master) if master else STANDARD

    def doctor(self) -> DoctorTarget:
        """What `doctor` looks at. Raises Refused where the opener of the lake has not said."""
        if self._doctor is None:
            raise Refused("this lake was not opened from a configuration", hint="run `lochan doctor` beside it")
        return self._doctor()

    async def repository(self, name: str) -> Repository:
        """By its name of this moment. Raises NotFound."""
        if self._names is None:
            return await self.lake.repository(name)
        if name not in self._names:
            self._names[name] = await self.lake.repository(name)
        return self._names[name]

    @asynccontextmanager
    async def opened(self, name: str) -> AsyncIterator[OpenRepository]:
        """By its name of this moment: one that was renamed or deleted is not found. Raises NotFound."""
        found = await self.repository(name)
        async with self._repositories.opened(found) as repository:
            with about(name):
                yield repository

    async def close(self) -> None:
        """With the lake."""
        await self._repositories.close()
        await self.lake.close()


class _OpenRepositories:
    """Those that somebody uses, and some that were used last."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._open: dict[str, OpenRepository] = {}  # by id, the one used longest ago first
        self._users: dict[str, int] = {}
        self._opening: asyncio.Lock | None = None

    @asynccontextmanager
    async def opened(self, found: Repository) -> AsyncIterator[OpenRepository]:
        id = found.id
        async with self._alone():
            repository = self._open.pop(id, None) or await self._lake.open_known(found)
            self._open[id] = repository
            self._users[id] = self._users.get(id, 0) + 1
        try:
            yield repository
        finally:
            self._users[id] -= 1
            await self._close_idle()

    async def close(self) -> None:
        for repository in self._open.values():
            await repository.close()
        self._open.clear()

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """One at a time. Where nobody has imported an event loop there is no other to wait for."""
        asyncio = sys.modules.get("asyncio")
        if asyncio is None:
            yield
            return
        if self._opening is None:
            self._opening = asyncio.Lock()
        async with self._opening:
            yield

    async def _close_idle(self) -> None:
        idle = [id for id in self._open if not self._users[id]]
        for id in idle[: max(0, len(self._open) - _IDLE_MAX)]:
            repository = self._open.pop(id)
            del self._users[id]
            await repository.close()


def server_session(lake: Lake) -> Session:
    """Of a server, for what it does by itself; its users have sessions of their own: see `acting_as`."""
    from lochan.formats.record import Actor

    return Session(lake, Actor("lochan", "server", ""))


@contextmanager
def about(repository: str) -> Iterator[None]:
    """The commands that errors advise name this repository."""
    try:
        yield
    except LochanError as error:
        error.hint = error.hint_about(repository)
        raise
