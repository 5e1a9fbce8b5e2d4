"""Subscriptions to events: the events that each gets, and those that did not arrive. A server sends them; see
`server/deliveries/`.

The rights that its owner has when an event is sent decide what a subscription gets. A program that opens the store
itself can read everything, and so can a subscription that such a program has made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING

import msgspec

from lochan.api.results import Result, moment
from lochan.errors import Corrupt, Invalid, NotFound, Refused

if TYPE_CHECKING:
    from lochan.api.session import Session
    from lochan.formats.events import Event
    from lochan.formats.subscription import DeadLetterRecord, SubscriptionProgress
    from lochan.journal.state import State
    from lochan.store.protocol import Store
    from lochan.versioning.state.subscriptions import SubscriptionState

_PATTERNS_MAX = 50
_PATTERN_LENGTH_MAX = 1_000
_NOTE_LENGTH_MAX = 500


class SubscriptionInfo(Result, frozen=True, kw_only=True):
    id: str
    url: str
    owner: str  # empty if a program that opens the store itself has made it
    repository: str  # its name, or its id if it is gone; empty for the lake and all of its repositories
    branches: tuple[str, ...]
    types: tuple[str, ...]
    prefix: str
    note: str
    created: datetime
    created_by: str
    delivered: int  # the number of all events
    last: datetime | None  # when some were delivered last
    dead: int  # the number of all letters that were given up
    trouble: str  # why the last attempt failed; empty if it did not
    attempts: int  # the number of attempts that have failed since


class SubscriptionSecret(Result, frozen=True, kw_only=True):
    """A new subscription with the secret that signs what is sent, for the caller that created it."""

    id: str
    secret: str

    def __repr__(self) -> str:
        """Shows the subscription without the secret, so that no log or traceback shows it."""
        return f"SubscriptionSecret(id={self.id!r})"


class DeadLetter(Result, frozen=True, kw_only=True):
    """Events that a receiver did not accept."""

    id: str
    repository: str  # id, or _lake
    first: int  # the record of the first event
    events: int
    types: tuple[str, ...]
    time: datetime  # when it was given up
    attempts: int
    trouble: str
    again: bool  # whether its redelivery was requested


class EventChoice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Chooses events: they must meet all given conditions. Patterns have * and ?."""

    branches: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    prefix: str = ""  # the beginning of a path that the event names


ALL_EVENTS = EventChoice()


async def create(
    session: Session, url: str, repository: str | None, choice: EventChoice, note: str, key: str
) -> SubscriptionSecret:
    from lochan.access.encryption import seal
    from lochan.formats.lake_events import EventFilter, SubscriptionCreated
    from lochan.hooks.webhook import check_url
    from lochan.journal.feed import FeedPositions
    from lochan.lake import LAKE_JOURNAL
    from lochan.versioning.state.subscriptions import Subscriptions

    check_url(url)
    _check(choice, note)
    await _refuse_narrow_keys(session)
    lake = session.lake
    journal = repository or ""
    if repository and repository != LAKE_JOURNAL:
        journal = (await session.repository(repository)).id
    wanted = EventFilter(journal, choice.branches, choice.types, choice.prefix)
    positions = FeedPositions()
    for each in [journal] if journal else [LAKE_JOURNAL, *(each.id for each in await lake.repositories())]:
        positions.begin(each, (await (await lake.journal(each)).fresh()).number)
    owner = session.actor.user if session.is_served else ""
    id, secret = lake.ids.ksuid(lake.clock.wall()), lake.ids.access_key_secret()
    sealed = seal(await lake.webhook_key(), lake.ids.nonce(), secret, id=id, user=owner)
    event = SubscriptionCreated(id, url, owner, sealed, str(positions), wanted, note)

    def decide(state: State) -> list[Event]:
        state.of(Subscriptions).check_room(owner)
        return [event]

    await _submit(session, key, decide, "subscribe", url, journal, repr(choice), note)
    # A repeated request was carried out before, with a secret that cannot be shown again.
    if id not in {each.id for each in await _states(session)}:
        raise Refused(
            "this key has created a subscription before, and its secret is shown only once",
            hint="delete that subscription, and create another one with a new key",
        )
    return SubscriptionSecret(id=id, secret=secret)


def _check(choice: EventChoice, note: str) -> None:
    """Checks the choice of events and the note. Raises Invalid."""
    from lochan.formats.events import event_types
    from lochan.versioning.names import fitting_paths

    patterns = (*choice.branches, *choice.types)
    for each in (*patterns, choice.prefix):
        if len(each) > _PATTERN_LENGTH_MAX or "" in patterns:
            raise Invalid(f"{each[:40]!r} is no pattern of a branch, a type or a path")
    if len(choice.branches) + len(choice.types) > _PATTERNS_MAX:
        raise Invalid(f"a subscription has at most {_PATTERNS_MAX} patterns")
    if len(note) > _NOTE_LENGTH_MAX:
        raise Invalid(f"a note has at most {_NOTE_LENGTH_MAX} characters")
    for each in choice.types:
        if not fitting_paths(list(event_types()), [each]):
            raise Invalid(f"no event has a type like {each!r}", hint="such as committed, moved or pull-*")


async def _refuse_narrow_keys(session: Session) -> None:
    """Refuses a key with limits or an end, because a subscription outlives its key and would not have them."""
    key_id, limits = session.credentials
    key = (await session.lake.open_access().state()).key(key_id) if key_id else None
    if limits or (key is not None and (key.limits or key.expires)):
        raise Refused(
            "this access key has limits, and a subscription would not have them",
            hint="use a key without limits and without an end",
        )


async def subscriptions_of(session: Session) -> AsyncIterator[SubscriptionInfo]:
    names = {each.id: each.name for each in await session.lake.repositories()}
    for each in await _states(session):
        progress = await read_progress(session.lake.store, each.id)
        yield SubscriptionInfo(
            id=each.id,
            url=each.url,
            owner=each.owner,
            repository=names.get(each.filter.repository, each.filter.repository),
            branches=each.filter.branches,
            types=each.filter.types,
            prefix=each.filter.prefix,
            note=each.note,
            created=moment(each.time),
            created_by=each.by,
            delivered=progress.delivered,
            last=moment(progress.last) if progress.last else None,
            dead=progress.dead,
            trouble=progress.trouble,
            attempts=progress.attempts,
        )


async def delete(session: Session, id: str, key: str) -> None:
    from lochan.formats import subscription as files
    from lochan.formats.lake_events import SubscriptionDeleted

    await _need(session, id)
    await _submit(session, key, lambda state: [SubscriptionDeleted(id)], "unsubscribe", id)
    store = session.lake.store
    for path in [each.path async for each in store.list(files.folder_of(id))]:
        await store.delete(path)


async def dead_letters_of(session: Session, id: str) -> AsyncIterator[DeadLetter]:
    await _need(session, id)
    async for each in read_letters(session.lake.store, id):
        yield DeadLetter(
            id=each.id,
            repository=each.journal,
            first=each.events[0][0],
            events=len(each.events),
            types=each.types,
            time=moment(each.time),
            attempts=each.attempts,
            trouble=each.trouble,
            again=each.again,
        )


async def redeliver(session: Session, id: str, letters: Sequence[str], key: str) -> int:
    from lochan.formats import subscription as files
    from lochan.formats.lake_events import RedeliveryRequested

    await _need(session, id)
    store = session.lake.store
    found = [each async for each in read_letters(store, id)]
    missing = set(letters) - {each.id for each in found}
    if missing:
        hint = f"`lochan subscription dead-letters {quote(id)}` shows those there are"
        raise NotFound(f"no dead letter {min(missing)!r}", hint=hint)
    wanted = [each for each in found if not letters or each.id in letters]
    for each in wanted:
        if not each.again:
            marked = msgspec.structs.replace(each, again=True)
            await store.put(files.letter_path(id, each.id), files.encode(marked))
    if wanted:
        event = RedeliveryRequested(id, len(wanted))
        await _submit(session, key, lambda state: [event], "redeliver", id, *sorted(letters))
    return len(wanted)


# --- the files -------------------------------------------------------------------------------------------------------
async def read_progress(store: Store, id: str) -> SubscriptionProgress:
    """Returns the progress. Without a file, or with a damaged one, it is as if nothing was sent yet: events may be sent
    twice, but are never lost."""
    from lochan.formats import subscription as files
    from lochan.store.checked_reads import get_decoded

    path = files.progress_path(id)
    try:
        return await get_decoded(store, path, partial(files.decode_progress, name=path))
    except (NotFound, Corrupt):
        return files.SubscriptionProgress()


async def read_letters(store: Store, id: str) -> AsyncIterator[DeadLetterRecord]:
    """Yields the dead letters, the oldest first, without damaged ones."""
    from lochan.formats import subscription as files
    from lochan.store.checked_reads import get_decoded

    for path in [each.path async for each in store.list(files.letters_prefix(id))]:
        try:
            yield await get_decoded(store, path, partial(files.decode_letter, name=path))
        except (NotFound, Corrupt):
            continue


async def _states(session: Session) -> list[SubscriptionState]:
    from lochan.versioning.state.subscriptions import Subscriptions

    return (await (await session.lake.journal()).fresh()).of(Subscriptions).all()


async def _need(session: Session, id: str) -> SubscriptionState:
    """Returns the subscription. Raises NotFound."""
    from lochan.versioning.state.subscriptions import Subscriptions

    return (await (await session.lake.journal()).fresh()).of(Subscriptions).need(id)


async def _submit(session: Session, key: str, decide: Callable[[State], list[Event]], *request: str) -> None:
    from lochan.journal.group import AppendRequest
    from lochan.versioning.catalog import own_key, request_fingerprint

    actor = session.acting(key, *request)
    by, own, fingerprint = own_key(actor, "", request_fingerprint(*request))
    await (await session.lake.journal()).submit(AppendRequest(by, decide, own, fingerprint))
