"""An open lake and the user who acts on it. It is behind every handle, and opens repositories for them."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING

from lochan.errors import LochanError, Refused
from lochan.formats.record import Actor
from lochan.journal.keys import with_key
from lochan.versioning import lineage

if TYPE_CHECKING:
    import asyncio
    from types import TracebackType

    from lochan.api.doctor import DoctorTarget
    from lochan.api.load_group import LoadGroups
    from lochan.engines.spark.place import SparkPlace
    from lochan.journal.journal import ProbeBatch
    from lochan.lake import Lake
    from lochan.pools.upkeep import Upkeep
    from lochan.usage.notes import ReadNotes
    from lochan.versioning.open_repository import OpenRepository
    from lochan.versioning.repositories import Repository
    from lochan.versioning.revisions.resolve import ResolvedRef

Credentials = tuple[str, tuple[tuple[str, ...], ...]]
_IDLE_MAX = 32  # repositories that stay open while they are not in use


class OpenRepositories:
    """The open repositories of a lake, by id, because a name may later belong to another one. With `idle_max`, at most
    so many stay open while they are not in use; without, all do."""

    def __init__(self, lake: Lake, idle_max: int | None = _IDLE_MAX) -> None:
        self._lake = lake
        self._idle_max = idle_max
        self._open: dict[str, OpenRepository] = {}  # the one that was used longest ago comes first
        self._users: dict[str, int] = {}
        self._opening: asyncio.Lock | None = None

    def find(self, found: Repository) -> OpenRepository | None:
        """Returns the repository if it is open. It may have another name by now, which policies use."""
        repository = self._open.get(found.id)
        if repository is not None and repository.repository is not found:
            repository.repository = found
        return repository

    def hold(self, found: Repository) -> OpenRepository | None:
        """Returns the same, and holds it. The caller releases it."""
        repository = self.find(found)
        return None if repository is None else self._count_user(repository)

    async def open(self, found: Repository, *, earlier: bool = False) -> OpenRepository:
        """Opens a repository. The caller releases it. One that was found `earlier` may have got another name since, and
        keeps that."""
        repository = self._open.get(found.id) if earlier else self.find(found)
        if repository is not None:
            return self._count_user(repository)
        async with self._hold_opening():
            return self._count_user(self.find(found) or await self._lake.open_known(found))

    def _count_user(self, repository: OpenRepository) -> OpenRepository:
        id = repository.repository.id
        self._open.pop(id, None)
        self._open[id] = repository
        self._users[id] = self._users.get(id, 0) + 1
        return repository

    def release(self, id: str) -> None:
        self._users[id] -= 1

    @property
    def are_too_many(self) -> bool:
        return self._idle_max is not None and len(self._open) > self._idle_max

    async def close_idle(self) -> None:
        """Closes the repositories that were used longest ago, until no more than the allowed number are open."""
        idle = [id for id in self._open if not self._users[id]]
        for id in idle[: len(self._open) - (self._idle_max or 0)]:
            repository = self._open.pop(id)
            del self._users[id]
            await repository.close()

    async def close(self) -> None:
        for repository in self._open.values():
            await repository.close()
        self._open.clear()

    @asynccontextmanager
    async def _hold_opening(self) -> AsyncIterator[None]:
        """Lets one task open a repository at a time. Without an event loop there is no other task."""
        asyncio = sys.modules.get("asyncio")
        if asyncio is None:
            yield
            return
        if self._opening is None:
            self._opening = asyncio.Lock()
        async with self._opening:
            yield


class OpenedRepository:
    """A repository while it is used. It completes the commands that errors advise with the repository's name. It is
    written out as a class, because every verb enters one."""

    __slots__ = ("_earlier", "_id", "_name", "_session")

    def __init__(self, session: Session, name: str, earlier: Repository | None = None) -> None:
        """`earlier` is the repository that the name belonged to before, and that it still means."""
        self._session = session
        self._name = name
        self._earlier = earlier
        self._id = ""

    async def __aenter__(self) -> OpenRepository:
        earlier = self._earlier
        found = await self._session.repository(self._name) if earlier is None else earlier
        repository = await self._session.repositories.open(found, earlier=earlier is not None)
        self._id = found.id
        return repository

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        repositories = self._session.repositories
        repositories.release(self._id)
        if isinstance(error, LochanError):
            error.hint = error.hint_about(self._name)
        if repositories.are_too_many:
            await repositories.close_idle()


class Session:
    """A lake and a user. With `one_request`, it is closed after one request, which may look up a name once and keep the
    result. `notes` makes the notes of reads, at the first read."""

    def __init__(
        self,
        lake: Lake,
        actor: Actor,
        spark: Callable[[str | None], SparkPlace] | None = None,
        doctor: Callable[[], DoctorTarget] | None = None,
        *,
        one_request: bool = False,
        repositories: OpenRepositories | None = None,
        notes: Callable[[], ReadNotes] | None = None,
    ) -> None:
        self.lake = lake
        self.actor = actor
        self.repositories = OpenRepositories(lake) if repositories is None else repositories
        self._spark = spark
        self._doctor = doctor
        self._names: dict[str, Repository] | None = {} if one_request else None
        self._make_notes = notes
        self._load_groups: list[LoadGroups] = []  # at most one, made by the first small load; copies share it
        self._notes: list[ReadNotes] = []  # at most one, made by the first read; copies of this session share it
        self.is_served = False  # whether a server has authenticated who acts
        self.memory_bytes_max: int | None = None  # the most memory of each request of a user of a server
        self.upkeep: Upkeep | None = None  # merges small objects as they arrive; None leaves them
        self.credentials: Credentials = ("", ())  # the user's: a key's id, and the limits of a session

    def acting(self, key: str, *request: object) -> Actor:
        """Returns the actor, under an idempotency key; `request` distinguishes this request from others."""
        return with_key(self.actor, key, *request)

    def acting_as(
        self,
        user: str,
        client: str,
        source: str = "",
        author: str = "",
        *,
        is_served: bool = False,
        credentials: Credentials = ("", ()),
    ) -> Session:
        """Returns the session of another user, which shares the open repositories. Closing it closes this one too."""
        other = copy(self)
        other.is_served = is_served
        other.credentials = credentials
        other.actor = Actor(user, client, source, author if author != user else "")
        return other

    def with_actor(self, actor: Actor) -> Session:
        """Returns the same session with the actor of one of several steps of a request."""
        other = copy(self)
        other.actor = actor
        return other

    def spark(self, master: str | None = None) -> SparkPlace:
        """Returns where Spark runs: at that master, or where its opener has configured it. Raises Refused if a user of
        a server names one: the server would take its own credentials there."""
        if master and self.is_served:
            raise Refused(
                "where Spark runs is chosen by the server, not by its users",
                hint="leave the master out",
            )
        if self._spark is not None:
            return self._spark(master)
        from lochan.engines.spark.place import STANDARD

        return STANDARD._replace(master=master) if master else STANDARD

    def doctor(self) -> DoctorTarget:
        """Returns what `doctor` examines. Raises Refused if the opener of the lake has not set it."""
        if self._doctor is None:
            raise Refused("this lake was not opened from a configuration", hint="run `lochan doctor` beside it")
        return self._doctor()

    async def repository(self, name: str) -> Repository:
        """Returns the repository by its current name. Raises NotFound."""
        if self._names is None:
            return await self.lake.repository(name)
        if name not in self._names:
            self._names[name] = await self.lake.repository(name)
        return self._names[name]

    def opened(self, name: str) -> OpenedRepository:
        """Opens a repository by its current name: one that was renamed or deleted is not found. Raises NotFound."""
        return OpenedRepository(self, name)

    def load_groups(self) -> LoadGroups:
        """Returns the groups of small loads that share commits."""
        if not self._load_groups:
            from lochan.api.load_group import LoadGroups

            self._load_groups.append(LoadGroups())
        return self._load_groups[0]

    @asynccontextmanager
    async def traced(
        self, repository: OpenRepository, ref: str, path: str = "", resolved: ResolvedRef | None = None
    ) -> AsyncIterator[str]:
        """Yields the ref at which to read, and notes the read in the trace, if there is one. The ref is then the commit
        that it names now, so that the note is exact; a branch with staged changes stays the branch. `resolved` is what
        the ref stands for, whatever it names now."""
        found = lineage.current()
        if found is None:
            yield ref
            return
        at, read = await lineage.pin_input(repository, ref, path, resolved)
        yield at
        found.add(read)

    async def note_read(self, operation: str, repository: str, ref: str, path: str = "") -> None:
        """Notes in the usage log what is about to be read. A server does so itself, and passes no notes here."""
        if self._make_notes is None:
            return
        if not self._notes:
            self._notes.append(self._make_notes())
        await self._notes[0].note(operation, repository, ref, path)

    async def flush_notes(self) -> None:
        """Writes all noted reads of this process to the log."""
        for each in self._notes:
            await each.flush()

    async def close_notes(self) -> None:
        """Writes the notes that are not written yet, and closes them."""
        for each in self._notes:
            await each.close()

    async def close(self) -> None:
        """Closes the session and the lake."""
        await self.close_notes()
        for each in self._load_groups:
            await each.close()
        await self.repositories.close()
        await self.lake.close()


class ServerSession(Session):
    """The session of a server, or of one of its requests. The request has just made sure of the lake's state (A1), and
    names are looked up in that state. A name that is new to this process is looked up afresh, because another process
    may have created it since."""

    def __init__(self, lake: Lake, actor: Actor | None = None, repositories: OpenRepositories | None = None) -> None:
        who = actor or Actor("", "server", "")
        super().__init__(lake, who, repositories=repositories or OpenRepositories(lake, idle_max=None))

    @cached_property
    def probes(self) -> ProbeBatch:
        """Returns a batch that shares one look at the journals among all requests of a moment."""
        from lochan.journal.journal import ProbeBatch

        return ProbeBatch()

    def of_request(self, user: str, client: str, source: str) -> ServerSession:
        """Returns the session of one request: its user, its program, and its source."""
        return ServerSession(self.lake, Actor(user, client, source), self.repositories)

    def known(self, name: str) -> OpenRepository | None:
        """Returns a repository that is open already, without a request to the store, or None."""
        found = self.lake.known_repository(name)
        return None if found is None else self.repositories.find(found)

    async def repository(self, name: str) -> Repository:
        return self.lake.known_repository(name) or await self.lake.repository(name)


def server_session(lake: Lake, memory_bytes_max: int | None = None) -> Session:
    """Returns the session of a server for its own work. Its users have their own sessions: see `acting_as`."""
    made = Session(lake, Actor("lochan", "server", ""))
    made.memory_bytes_max = memory_bytes_max
    return made


@contextmanager
def about(repository: str) -> Iterator[None]:
    """Completes the commands that errors advise with this repository's name."""
    try:
        yield
    except LochanError as error:
        error.hint = error.hint_about(repository)
        raise
