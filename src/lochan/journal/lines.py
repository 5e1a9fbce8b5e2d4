"""A record as lines of a feed, one for each event, with everything that is known of it."""

from dataclasses import dataclass
from typing import Any

from lochan.formats import event_types
from lochan.formats.record import Sealed
from lochan.journal.event_text import describe


@dataclass(frozen=True, slots=True)
class EventLine:
    number: int  # the logical time: of two events of one journal, the later has the larger
    index: int  # its place in the record
    time: int  # wall, microseconds since 1970
    user: str
    client: str
    source: str
    repository: str  # id, or _lake
    type: str
    payload: dict[str, Any]  # the event's fields by name, without secrets
    text: str  # one line that says what happened
    author: str = ""  # whom the user says to speak for, if anybody


def lines(sealed: Sealed) -> list[EventLine]:
    record = sealed.record
    changes = ((entry, change) for entry in record.entries for change in entry.changes)
    return [
        EventLine(
            record.number,
            index,
            record.time,
            entry.actor.user,
            entry.actor.client,
            entry.actor.source,
            record.journal,
            change.type,
            event_types.named(change),
            describe(event_types.read(change), change.type),
            entry.actor.author,
        )
        for index, (entry, change) in enumerate(changes)
    ]
