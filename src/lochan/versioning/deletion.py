"""Deletes repositories, and restores them. Both take two journals, and the lake's journal alone decides.

    delete    own journal: closed ──▶ lake: deleted       from `closed` on nobody can add anything to it (G9)
    restore   lake: restored ──▶ own journal: reopened

A process may be killed at each arrow. Then the lake still has the name, and the repository's own journal is closed: the
next process that opens it settles that. If the lake says that this closing was undone, the journal is reopened;
otherwise the deletion is completed. Every step can be done twice, and one that comes too late is refused.

Restoring could begin with the repository's own journal as well. But then a crash, or an expiry at that moment, would
leave a repository that is deleted and open, and nobody would look there to put it right."""

from contextlib import suppress
from shlex import quote
from typing import NamedTuple

from lochan.clock import Clock
from lochan.errors import AlreadyExists, Corrupt, LochanError, NotFound, ReadOnly, Refused
from lochan.failpoints import fp
from lochan.formats.events import Event
from lochan.formats.lake_events import RepositoryDeleted, RepositoryRestored
from lochan.formats.record import Actor, RecordEntry
from lochan.formats.repository_events import RepositoryClosed, RepositoryReopened
from lochan.journal.group import AppendRequest
from lochan.journal.journal import Journal
from lochan.journal.state import State
from lochan.store.protocol import Store
from lochan.versioning.catalog import OpenJournal, own_key, request_fingerprint
from lochan.versioning.repositories import DeletedRepository, Repositories, check_name
from lochan.versioning.state.refs import Refs

SELF = Actor("lochan", "upkeep", "")
_UNDO_DAYS = 30.0


class LakeJournals(NamedTuple):
    """The lake's own journal, and a function that opens those of its repositories."""

    lake: Journal
    open: OpenJournal
    store: Store
    clock: Clock


class Closing(NamedTuple):
    """The closing of a repository's own journal."""

    number: int
    undo_days: float
    is_ours: bool = False  # False if another process had closed it before


def deletion_stamp(id: str, closed: int) -> str:
    """Returns the path of a file whose time, by the store's clock, is that of the deletion."""
    return f"{id}/plans/deleted-{closed:020d}"


async def delete_repository(
    journals: LakeJournals, *, name: str, force: bool = False, actor: Actor, key: str = ""
) -> None:
    """Deletes a repository. The name is free at once, and until the repository expires it can be restored. With
    `force`, a read-only repository is deleted too. Raises NotFound, ReadOnly."""
    request = ("delete", name, force) if force else ("delete", name)
    actor, key, fingerprint = own_key(actor, key, request_fingerprint(*request))
    state = await journals.lake.fresh()
    if _was_carried_out(state, actor, key, fingerprint, journals.clock.wall()):
        return
    id = state.of(Repositories).get(name).id
    closing = await _close_readable(journals, id, actor, force)
    fp("repository.closed")
    await put_stamp(journals.store, id, closing.number)
    event = RepositoryDeleted(id, closing.number, closing.undo_days)

    def decide(state: State) -> list[Event]:
        if not closing.is_ours and not state.of(Repositories).is_live(id):
            raise NotFound(f"repository {name!r} was deleted by somebody else", hint="there is nothing left to do")
        return [event]

    await journals.lake.submit(AppendRequest(actor, decide, key, fingerprint))
    fp("repository.deleted")


async def restore_repository(
    journals: LakeJournals, *, name: str, to: str = "", dotted: bool = False, actor: Actor, key: str = ""
) -> str:
    """Restores the last deleted repository of that name, or the one with that id, under the name `to`, or under its old
    name. Returns its name. Raises NotFound, AlreadyExists if the name is taken, Gone if it has expired, Invalid."""
    actor, key, fingerprint = own_key(actor, key, request_fingerprint("restore", name, to))
    state = await journals.lake.fresh()
    if _was_carried_out(state, actor, key, fingerprint, journals.clock.wall()):
        return to or name
    event = await _restoration(journals, state.of(Repositories), name, to, dotted)
    try:
        await journals.lake.submit(AppendRequest(actor, lambda _: [event], key, fingerprint))
    except AlreadyExists as error:
        raise _taken_error(event.name, name) from error
    fp("restoration.landed")
    if event.closed:
        await reopen(journals, event.id, event.closed, actor)
    fp("restoration.reopened")
    return event.name


async def settle_closed(journals: LakeJournals, id: str, closing: Closing) -> None:
    """Settles a closed journal of a repository that still has a name: a deletion or a restoration was interrupted, or
    is under way. When it returns, the repository is open again. Raises NotFound if it is deleted."""
    found = (await journals.lake.fresh()).of(Repositories)
    if found.restored(id) < closing.number and found.is_live(id):
        await put_stamp(journals.store, id, closing.number)
        event = RepositoryDeleted(id, closing.number, closing.undo_days)
        await journals.lake.submit(AppendRequest(SELF, lambda _: [event]))
        found = (await journals.lake.fresh()).of(Repositories)
    if not found.is_live(id):
        raise NotFound("this repository was deleted", hint="`lochan repo list --deleted` shows what can be restored")
    await reopen(journals, id, closing.number, SELF)


async def close(journals: LakeJournals, id: str, actor: Actor, force: bool = True) -> Closing:
    """Closes a repository's own journal, unless it is closed already. Without `force`, raises ReadOnly for a repository
    that is read-only at that moment."""

    def decide(state: State) -> list[Event]:
        guard = state.of(Refs).guard
        if guard.closed:
            raise _Done(guard.closed)
        if guard.read_only and not force:
            raise ReadOnly("this repository is read-only", hint="let it be changed again first, or force its deletion")
        return [RepositoryClosed()]

    own = await journals.open(id)
    try:
        is_ours = True
        try:
            number = await own.submit(AppendRequest(actor, decide))
        except _Done as done:
            number, is_ours = done.number, False
        return Closing(number, own.tail.state.of(Refs).collection.retention.undo_days, is_ours)
    finally:
        await own.close()


async def reopen(journals: LakeJournals, id: str, closed: int, actor: Actor) -> None:
    """Undoes that closing, unless it was undone before."""

    def decide(state: State) -> list[Event]:
        if state.of(Refs).guard.closed != closed:
            raise _Done(closed)
        return [RepositoryReopened(closed)]

    own = await journals.open(id)
    try:
        with suppress(_Done):
            await own.submit(AppendRequest(actor, decide))
    finally:
        await own.close()


class _Done(Exception):
    """Another process has done this already, by that record."""

    def __init__(self, number: int) -> None:
        self.number = number


async def put_stamp(store: Store, id: str, closed: int) -> None:
    """Puts the stamp once: putting it again would make the deletion younger. If a store does not answer, upkeep does it
    later."""
    try:
        await store.put_if_absent(deletion_stamp(id, closed), b"written to read the store's clock\n")
    except LochanError:
        return


async def _close_readable(journals: LakeJournals, id: str, actor: Actor, force: bool) -> Closing:
    """Closes the journal if it can be read. A damaged journal accepts no further events either."""
    try:
        return await close(journals, id, actor, force)
    except Corrupt:
        return Closing(0, _UNDO_DAYS)


async def _restoration(
    journals: LakeJournals, found: Repositories, name: str, to: str, dotted: bool
) -> RepositoryRestored:
    half = found.find(name)
    if half is not None and not to:
        closed = await _closing_number(journals, half.id)
        if closed > found.restored(half.id):
            return RepositoryRestored(half.id, name, closed)
    deleted = _find_deleted(found, name)
    deleted.check_kept()
    called = to or deleted.repository.name
    if not deleted.repository.name:
        raise Refused(f"repository {name} never had a name", hint="what was to be in it has to be loaded again")
    check_name(called, deleted.repository.kind, dotted=dotted or called == deleted.repository.name)
    if found.find(called) is not None:
        raise _taken_error(called, name)
    return RepositoryRestored(deleted.id, called, deleted.closed)


def _find_deleted(found: Repositories, name: str) -> DeletedRepository:
    try:
        return found.find_deleted(name)
    except NotFound:
        if found.find(name) is None:
            raise
        raise AlreadyExists(f"repository {name!r} is not deleted", hint="it can be used as it is") from None


async def _closing_number(journals: LakeJournals, id: str) -> int:
    own = await journals.open(id)
    try:
        return (await own.fresh()).of(Refs).guard.closed
    finally:
        await own.close()


def _taken_error(name: str, requested: str) -> AlreadyExists:
    return AlreadyExists(
        f"there is another repository {name!r} by now",
        hint=f"`lochan repo restore {quote(requested)} --as NEWNAME` brings the deleted one back beside it",
    )


def _was_carried_out(state: State, actor: Actor, key: str, fingerprint: bytes, now: int) -> bool:
    """Returns whether the request was carried out before. It is called before anything is looked up, because the
    request has changed what it would find (J8). Raises KeyReused, Unknown."""
    return bool(key) and state.keys.look_up(RecordEntry(actor, key, fingerprint, ()), now) is not None
