"""Finds repositories on the store that the lake's state does not know. Either an old version deleted them and kept no
trace, or they have no name because their creator was killed, or its load failed, between the two journals.

They are found by their folders, and become deleted repositories by an event. If a slow creator is still at work, the
lake's journal decides which came first: after this event, the creator's own is refused."""

import re
from typing import NamedTuple

import msgspec

from lochan.errors import AlreadyExists, Corrupt
from lochan.formats.events import read
from lochan.formats.lake_events import RepositoryCreated, RepositoryDeleted, RepositoryFound, RepositoryRenamed
from lochan.formats.record import Actor
from lochan.journal.group import AppendRequest
from lochan.store.protocol import Store
from lochan.versioning.collection.deleted import CollectedLake
from lochan.versioning.collection.store_clock import store_time
from lochan.versioning.repositories import FILES, Repositories
from lochan.versioning.state.refs import Refs

_ID = re.compile("[0-9A-Za-z]{27}")
_LAST = "\U0010ffff"  # no character is greater
SILENT_S = 7 * 86_400.0  # a repository without a name is a stray after so long without a write
_UNDO_DAYS = 30.0


class StrayRepository(NamedTuple):
    """A repository that the lake does not know. `event` makes it a deleted one."""

    event: RepositoryFound
    silent_s: float  # how long ago its last file was written, by the store's clock

    @property
    def is_nameless(self) -> bool:
        return not self.event.name


async def find_strays(lake: CollectedLake, silent_s: float = SILENT_S) -> list[StrayRepository]:
    """Returns repositories without a name that were not written to for `silent_s` seconds, and, without waiting, those
    that were deleted long ago."""
    state = (await lake.journals().lake.fresh()).of(Repositories)
    unknown = [id for id in await repository_ids(lake.store) if not state.knows(id)]
    if not unknown:
        return []
    named, now = await _deleted_repositories(lake), await store_time(lake.store, "_lake")
    found: list[StrayRepository] = []
    for id in unknown:
        newest = max([stat.modified async for stat in lake.store.list(f"{id}/")], default=now)
        if id in named:
            found.append(StrayRepository(named[id], now - newest))
        elif now - newest >= silent_s and (event := await _find_nameless(lake, id)) is not None:
            found.append(StrayRepository(event, now - newest))
    return found


async def adopt(lake: CollectedLake, stray: StrayRepository, *, actor: Actor) -> bool:
    """Makes the stray a deleted repository. Returns False if it has got a name meanwhile, or if another process was
    quicker."""
    try:
        await lake.journals().lake.submit(AppendRequest(actor, lambda _: [stray.event]))
    except AlreadyExists:
        return False
    return True


async def repository_ids(store: Store) -> list[str]:
    """Lists the repositories by their folders, with one request for each, however many files they have."""
    found: list[str] = []
    after = ""
    while (path := await _first(store, after)) is not None:
        name, slash, _ = path.partition("/")
        if slash and _ID.fullmatch(name):
            found.append(name)
        after = f"{name}/{_LAST}" if slash else path
    return found


async def _first(store: Store, after: str) -> str | None:
    async for stat in store.list("", after):
        return stat.path
    return None


async def _deleted_repositories(lake: CollectedLake) -> dict[str, RepositoryFound]:
    """Returns the repositories that the lake's journal has deleted, by their ids."""
    made: dict[str, RepositoryFound] = {}
    gone: set[str] = set()
    async for sealed in lake.journals().lake.records():
        for entry in sealed.record.entries:
            for change in entry.changes:
                match read(change):
                    case RepositoryCreated() as event:
                        about = event.id, event.name, event.kind, event.default_branch, event.metadata, event.pool
                        made[event.id] = RepositoryFound(*about, sealed.record.time, entry.actor.user, _UNDO_DAYS)
                    case RepositoryRenamed(id=id, to=to) if id in made:
                        made[id] = msgspec.structs.replace(made[id], name=to)
                    case RepositoryDeleted(id=id):
                        gone.add(id)
    return {id: event for id, event in made.items() if id in gone}


async def _find_nameless(lake: CollectedLake, id: str) -> RepositoryFound | None:
    """Returns the event for a repository that never had a name, or None if the folder has no journal that can be
    read."""
    try:
        own = await lake.journals().open(id)
    except Corrupt:
        return None
    try:
        state = await own.fresh()
        if not state.number:
            return None
        return RepositoryFound(id, "", state.of(Refs).kind or FILES, "", undo_days=0)
    except Corrupt:
        return None
    finally:
        await own.close()
