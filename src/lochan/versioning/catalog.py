"""Creates, renames and describes repositories. Creating one takes two journals, in an order that leaves nothing
half-made after a crash. `deletion.py` deletes and restores them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256

import msgspec

from lochan.clock import Clock
from lochan.errors import AlreadyExists, Invalid
from lochan.failpoints import fp
from lochan.formats.commit import Commit
from lochan.formats.lake_events import RepositoryCreated, RepositoryDescribed, RepositoryRenamed
from lochan.formats.metarange import EMPTY
from lochan.formats.pool_settings import PoolSettings
from lochan.formats.record import Actor
from lochan.formats.repository_events import RepositoryOpened
from lochan.ids import Ids
from lochan.journal.group import AppendRequest
from lochan.journal.journal import Journal
from lochan.journal.keys import KeyedActor, without_key
from lochan.journal.state import State
from lochan.store.routed import StorageName
from lochan.versioning.repositories import POOL, Repositories, Repository, check_metadata, check_name, check_new

FIRST_MESSAGE = "Repository created"

OpenJournal = Callable[[str], Awaitable[Journal]]  # by repository id


async def create_repository(
    lake: Journal,
    open_journal: OpenJournal,
    clock: Clock,
    ids: Ids,
    *,
    name: str,
    kind: str,
    default_branch: str,
    metadata: Mapping[str, str],
    pool: PoolSettings | None = None,
    dotted: bool = False,
    storage: StorageName | None = None,
    id: str = "",
    bare: bool = False,
    actor: Actor,
    key: str = "",
) -> Repository:
    """Creates a repository. First its own journal is opened under a new id, then the lake's journal gives it the name.
    If the process is killed in between, the name is still free, and the nameless journal is collected later. `id` is
    that of a repository whose `storage` is claimed already. A `bare` repository has no branch and no commit. Raises
    AlreadyExists, Invalid."""
    check_new(name, kind, default_branch, metadata, dotted=dotted)
    if kind == POOL:
        pool = pool or PoolSettings()
    at = storage or ("", "")
    created = RepositoryCreated(id or ids.ksuid(clock.wall()), name, kind, default_branch, dict(metadata), pool, *at)
    request: tuple[object, ...] = ("create", name, kind, default_branch, dict(metadata))
    request += (() if pool is None else (pool,)) + (() if storage is None else (tuple(storage),))
    request += ("bare",) if bare else ()
    fingerprint = request_fingerprint(*request)
    actor, key, fingerprint = own_key(actor, key, fingerprint)

    async def open_own() -> None:
        await _open_own(open_journal, clock, created, actor, bare)

    def decide(state: State) -> list[RepositoryCreated]:
        if not opened and state.of(Repositories).find(name) is None:
            raise _FreeAgain
        return [created]

    opened = (await lake.fresh()).of(Repositories).find(name) is None
    if opened:  # if not, the lake's journal says what is wrong, and no garbage is left
        await open_own()
    try:
        made: str = await lake.submit(AppendRequest(actor, decide, key, fingerprint))
    except _FreeAgain:
        await open_own()
        opened = True
        made = await lake.submit(AppendRequest(actor, decide, key, fingerprint))
    fp("repository.named")
    # The repository is read from the folded state, which has our own append: a failure from here on must not look like
    # a failure of the append.
    repository = lake.tail.state.of(Repositories).find(name)
    if repository is None or repository.id != made:  # repeated with its key, and deleted since
        return Repository(made, name, kind, default_branch, 0, actor.user, dict(metadata), pool, *at)
    return repository


async def prepare_pool(
    lake: Journal,
    open_journal: OpenJournal,
    clock: Clock,
    ids: Ids,
    *,
    name: str,
    default_branch: str,
    pool: PoolSettings,
    actor: Actor,
) -> Repository:
    """Does the first half of `create_repository`. Only the caller can write to the pool: its name is still free, so no
    other process finds it. If it is abandoned, it becomes garbage, as after a kill. Raises AlreadyExists, Invalid."""
    check_new(name, POOL, default_branch, {})
    (await lake.fresh()).of(Repositories).check_free(name)
    created = RepositoryCreated(ids.ksuid(clock.wall()), name, POOL, default_branch, {}, pool)
    await _open_own(open_journal, clock, created, actor)
    return Repository(created.id, name, POOL, default_branch, clock.wall(), actor.user, {}, pool)


async def name_repository(lake: Journal, prepared: Repository, *, actor: Actor) -> None:
    """Does the second half: the pool appears at once, with everything that was written to it. Raises AlreadyExists if
    the name was taken meanwhile."""
    made = prepared.id, prepared.name, prepared.kind, prepared.default_branch, prepared.metadata, prepared.pool
    by, key, fingerprint = own_key(actor, "", b"")
    id = await lake.submit(AppendRequest(by, lambda state: [RepositoryCreated(*made)], key, fingerprint))
    if id != prepared.id:
        raise AlreadyExists(f"{prepared.name!r} was created by the same request, sent twice", hint="use it as it is")
    fp("repository.named")


async def _open_own(
    open_journal: OpenJournal, clock: Clock, created: RepositoryCreated, actor: Actor, bare: bool = False
) -> None:
    first = RepositoryOpened(created.kind, created.default_branch, _first_commit(clock), bare)
    own = await open_journal(created.id)
    await own.submit(AppendRequest(actor, lambda state: [first]))
    await own.close()
    fp("repository.opened")


async def rename_repository(lake: Journal, *, name: str, to: str, actor: Actor, key: str = "") -> None:
    """Renames a repository, which keeps its id and its content. Raises NotFound, AlreadyExists, Invalid."""

    def decide(state: State) -> list[RepositoryRenamed]:
        found = state.of(Repositories).get(name)
        check_name(to, found.kind)
        return [RepositoryRenamed(found.id, to)]

    actor, key, fingerprint = own_key(actor, key, request_fingerprint("rename", name, to))
    await lake.submit(AppendRequest(actor, decide, key, fingerprint))


async def describe_repository(
    lake: Journal, *, name: str, values: Mapping[str, str], removed: Sequence[str], actor: Actor, key: str = ""
) -> dict[str, str]:
    """Sets and removes some of its metadata, and returns all of it. Names to remove need not exist. Raises NotFound,
    Invalid."""
    check_metadata(values)
    if twice := sorted(values.keys() & set(removed)):
        raise Invalid(f"metadata {twice[0]!r} cannot be set and removed at once", hint="keep one of the two")

    def decide(state: State) -> list[RepositoryDescribed]:
        return [RepositoryDescribed(state.of(Repositories).get(name).id, dict(values), tuple(removed))]

    fingerprint = request_fingerprint("describe", name, sorted(values.items()), sorted(removed))
    actor, key, fingerprint = own_key(actor, key, fingerprint)
    await lake.submit(AppendRequest(actor, decide, key, fingerprint))
    return dict(lake.tail.state.of(Repositories).get(name).metadata)


class _FreeAgain(Exception):
    """The name was taken at first, so no journal was opened, and its repository has been deleted since."""


def own_key(actor: Actor, key: str, fingerprint: bytes) -> tuple[Actor, str, bytes]:
    """Returns the actor without its key, and the key and fingerprint of the request: those of the actor if the verb got
    none."""
    if isinstance(actor, KeyedActor) and not key:
        key, fingerprint = actor.key, actor.fingerprint
    return without_key(actor), key, fingerprint


def request_fingerprint(*request: object) -> bytes:
    return sha256(msgspec.msgpack.encode(request)).digest()


def _first_commit(clock: Clock) -> Commit:
    """Returns the first commit, which is empty and has no author."""
    return Commit((), "", "", FIRST_MESSAGE, clock.wall(), {}, EMPTY.id, EMPTY.file, 0)
