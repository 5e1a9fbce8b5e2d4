"""Makes verbs idempotent: called again with its idempotency key, a verb returns its first result, in every API (J8).

    @once(same)
    async def merge(repository, …, *, actor) -> str: ...

The key is tested before the verb begins, because otherwise the verb would be checked against the state it made itself.
Each of its appends tests the key again, because a twin may run at the same time. `first` turns the result of the fold,
which the journal kept with the key, into the verb's result."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

from lochan.errors import Gone, NotFound
from lochan.formats.entry import Change, Entry, Tombstone
from lochan.formats.events import Event
from lochan.formats.metarange import EMPTY as NO_TREE
from lochan.formats.record import Actor, RecordEntry
from lochan.formats.repository_events import RunsStaged, Staged
from lochan.formats.run import changes_of
from lochan.formats.workspace_events import WorkspaceStaged
from lochan.journal.group import AppendRequest
from lochan.journal.keys import CarriedOut, KeyedActor, without_key
from lochan.staging.layers import EMPTY
from lochan.staging.view import View
from lochan.versioning.open_repository import OpenRepository

P = ParamSpec("P")
T = TypeVar("T")
First = Callable[[OpenRepository, CarriedOut], Awaitable[T]]
Verb = Callable[Concatenate[OpenRepository, P], Coroutine[Any, Any, T]]


def once(first: First[T]) -> Callable[[Verb[P, T]], Verb[P, T]]:
    def wrap(verb: Verb[P, T]) -> Verb[P, T]:
        @wraps(verb)
        async def wrapped(repository: OpenRepository, *args: P.args, **kwargs: P.kwargs) -> T:
            actor = kwargs.get("actor")
            if not isinstance(actor, KeyedActor):
                return await verb(repository, *args, **kwargs)
            try:
                if not actor.is_new:
                    await check_first(repository, actor)
                return await verb(repository, *args, **kwargs)
            except CarriedOut as before:
                return await first(repository, before)

        return cast(Verb[P, T], wrapped)

    return wrap


async def check_first(repository: OpenRepository, actor: Actor) -> None:
    """Raises CarriedOut if a request with this key was decided before, KeyReused if that was another request, and
    Unknown if the key is too old to be known."""
    if not isinstance(actor, KeyedActor):
        return
    state = await repository.journal.fresh()
    entry = RecordEntry(without_key(actor), actor.key, actor.fingerprint, ())
    done = state.keys.look_up(entry, repository.clock.wall())
    if done is not None:
        raise CarriedOut(actor.key, done.result)


async def hold_key(repository: OpenRepository, actor: Actor) -> None:
    """Makes the key pending, for long work, so that the journal does not forget it before the work is decided, however
    many other requests there are."""
    if isinstance(actor, KeyedActor):
        await repository.journal.submit(AppendRequest(actor, lambda state: (), pending=True))


async def same(repository: OpenRepository, before: CarriedOut) -> str:
    """Returns the fold's result, an id, for a verb whose result it is."""
    return str(before.result)


async def nothing(repository: OpenRepository, before: CarriedOut) -> None:
    return None


class StagedChanges(NamedTuple):
    """The changes that one request staged."""

    entries: list[Entry]
    deleted: list[str]


async def earlier_staging(repository: OpenRepository, before: CarriedOut) -> StagedChanges:
    """Returns the changes that the request staged, from the journal. Raises Gone if files of it were collected."""
    entries: list[Entry] = []
    deleted: list[str] = []
    async for event in _events(repository, before):
        if isinstance(event, Staged | WorkspaceStaged):
            entries += event.puts
            deleted += event.deletes
        elif isinstance(event, RunsStaged):
            for change in await _changes_in(repository, event):
                if isinstance(change, Tombstone):
                    deleted.append(change.path)
                else:
                    entries.append(change)
    return StagedChanges(entries, deleted)


async def entry_first(repository: OpenRepository, before: CarriedOut) -> Entry:
    """Returns the entry, for a verb that stages one object."""
    entries = (await earlier_staging(repository, before)).entries
    if not entries:
        raise Gone(
            "the request was carried out before, but what it wrote is not known any more", hint="look at the branch"
        )
    return entries[0]


async def count_first(repository: OpenRepository, before: CarriedOut) -> tuple[int, int]:
    """Returns the numbers of objects and bytes that were staged. For a folder that was staged in batches, they are
    those of the last batch."""
    entries = (await earlier_staging(repository, before)).entries
    return len(entries), sum(entry.size for entry in entries)


async def _events(repository: OpenRepository, before: CarriedOut) -> AsyncIterator[Event]:
    number, journal = int(before.result), repository.journal
    async for sealed in journal.records(number - 1):
        for entry in sealed.record.entries:
            if entry.key == before.key:
                for change in entry.changes:
                    yield journal.schema.vocabulary.decode(change, journal.journal, number)
        return


async def _changes_in(repository: OpenRepository, event: RunsStaged) -> list[Change]:
    view = View(EMPTY.append(*event.runs), await repository.trees.open(NO_TREE), repository.runs)
    try:
        return changes_of(await view.changes())
    except NotFound as error:
        raise Gone(
            "the request was carried out before, but the list of its changes is not kept any more",
            hint="look at the branch",
        ) from error
