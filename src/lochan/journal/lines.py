"""A record as lines of a feed, one for each event, with everything that is known of it."""

from dataclasses import dataclass
from typing import Any

import msgspec

from lochan.formats.record import Sealed


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
    payload: dict[str, Any]
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
            _readable(msgspec.msgpack.decode(change.payload)),
            entry.actor.author,
        )
        for index, (entry, change) in enumerate(changes)
    ]


def _readable(value: Any) -> Any:
    """Hashes and ids as hex digits, for people and for JSON."""
    match value:
        case bytes():
            return value.hex()
        case dict():
            return {key: _readable(each) for key, each in value.items()}
        case list():
            return [_readable(each) for each in value]
    return value
