"""Subscriptions to events: a part of the state of the lake's journal. The progress of each is in a file beside it,
because progress that was an event would itself have to be sent."""

from typing import ClassVar

import msgspec

from lochan.errors import AlreadyExists, NotFound, Refused
from lochan.formats.events import Event
from lochan.formats.lake_events import EventFilter, RedeliveryRequested, SubscriptionCreated, SubscriptionDeleted
from lochan.journal.state import EventPosition, StatePart
from lochan.journal.table import FoldTable, FoldTables

OF_LAKE_MAX = 200  # each of them may wait for an answer on a thread of its own
OF_USER_MAX = 20


class SubscriptionState(msgspec.Struct, frozen=True, array_like=True):
    """A subscription. Stored in checkpoints: fields may only be added at the end."""

    id: str
    url: str
    owner: str
    sealed: bytes
    start: str
    filter: EventFilter
    note: str
    time: int  # microseconds since 1970
    by: str  # the user who created it
    redelivery: int = 0  # the record that last requested dead letters


class Subscriptions(FoldTables, StatePart):
    name: ClassVar[str] = "subscriptions"
    events: ClassVar[tuple[type[Event], ...]] = (SubscriptionCreated, SubscriptionDeleted, RedeliveryRequested)

    def __init__(self) -> None:
        self._all: FoldTable[str, SubscriptionState] = FoldTable()

    def all(self) -> list[SubscriptionState]:
        """Returns the subscriptions, the oldest first."""
        return sorted((each for _, each in self._all.items()), key=lambda each: (each.time, each.id))

    def need(self, id: str) -> SubscriptionState:
        """Returns the subscription. Raises NotFound."""
        found = self._all.get(id)
        if found is None:
            raise NotFound(f"no subscription {id!r}", hint="`lochan subscription list` shows those there are")
        return found

    def apply(self, event: SubscriptionCreated | SubscriptionDeleted | RedeliveryRequested, at: EventPosition) -> int:
        match event:
            case SubscriptionCreated():
                if self._all.get(event.id) is not None:
                    raise AlreadyExists(f"there is a subscription {event.id!r}")
                self._all.put(
                    event.id,
                    SubscriptionState(
                        event.id,
                        event.url,
                        event.owner,
                        event.sealed,
                        event.start,
                        event.filter,
                        event.note,
                        at.time,
                        at.user,
                    ),
                )
            case SubscriptionDeleted():
                self.need(event.id)
                self._all.drop(event.id)
            case RedeliveryRequested():
                found = self.need(event.id)
                self._all.put(event.id, msgspec.structs.replace(found, redelivery=at.number))
        return at.number

    def check_room(self, owner: str) -> None:
        """Raises Refused if the lake or the owner has too many subscriptions to add one more."""
        found = self.all()
        if len(found) >= OF_LAKE_MAX:
            raise Refused(f"{OF_LAKE_MAX} subscriptions are the most that a lake has", hint="delete some of them")
        if owner and sum(each.owner == owner for each in found) >= OF_USER_MAX:
            raise Refused(f"{OF_USER_MAX} subscriptions are the most that one user has", hint="delete some of them")

    def dump(self) -> list[SubscriptionState]:
        return sorted((each for _, each in self._all.items()), key=lambda each: each.id)

    def load(self, dumped: msgspec.Raw) -> None:
        for each in _decoder.decode(dumped):
            self._all.put(each.id, each)


_decoder = msgspec.msgpack.Decoder(list[SubscriptionState])
