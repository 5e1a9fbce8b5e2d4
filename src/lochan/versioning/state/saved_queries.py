"""The queries that users save under names: a part of the state of the lake's journal."""

from typing import ClassVar

import msgspec

from lochan.errors import Invalid, NotFound, Refused
from lochan.formats.events import Event
from lochan.formats.lake_events import QueryDeleted, QuerySaved
from lochan.journal.state import EventPosition, StatePart
from lochan.journal.table import FoldTable, FoldTables

NAME_LENGTH_MAX = 200
TEXT_BYTES_MAX = 64 << 10
QUERIES_MAX = 500  # queries of one user, which stay in memory


class SavedQuery(msgspec.Struct, frozen=True, array_like=True):
    """A saved query. Stored in checkpoints: fields may only be added at the end."""

    user: str
    name: str
    text: str
    time: int  # microseconds since 1970


class SavedQueries(FoldTables, StatePart):
    name: ClassVar[str] = "queries"
    events: ClassVar[tuple[type[Event], ...]] = (QuerySaved, QueryDeleted)

    def __init__(self) -> None:
        self._queries: FoldTable[tuple[str, str], SavedQuery] = FoldTable()

    def of_user(self, user: str) -> list[SavedQuery]:
        """Returns the user's queries, sorted by name."""
        return sorted((each for key, each in self._queries.items() if key[0] == user), key=lambda each: each.name)

    def apply(self, event: QuerySaved | QueryDeleted, at: EventPosition) -> int:
        key = event.user, event.name
        if isinstance(event, QuerySaved):
            self._queries.put(key, SavedQuery(event.user, event.name, event.text, at.time))
        elif self._queries.get(key) is None:
            raise NotFound(f"there is no saved query {event.name!r}")
        else:
            self._queries.drop(key)
        return at.number

    def check_room(self, user: str, name: str) -> None:
        """Raises Refused if the user has too many queries to save one more."""
        if self._queries.get((user, name)) is None and len(self.of_user(user)) >= QUERIES_MAX:
            raise Refused(f"{QUERIES_MAX} queries are the most that one user keeps", hint="delete some that are old")

    def dump(self) -> list[SavedQuery]:
        return sorted((each for _, each in self._queries.items()), key=lambda each: (each.user, each.name))

    def load(self, dumped: msgspec.Raw) -> None:
        for each in _decoder.decode(dumped):
            self._queries.put((each.user, each.name), each)


def check_query(name: str, text: str) -> None:
    """Raises Invalid for a name or a text that cannot be saved."""
    if not name.strip() or len(name) > NAME_LENGTH_MAX or not name.isprintable():
        raise Invalid(
            f"{name[:40]!r} cannot be the name of a query", hint=f"1 to {NAME_LENGTH_MAX} printable characters"
        )
    if not text.strip() or len(text.encode(errors="replace")) > TEXT_BYTES_MAX:
        raise Invalid("a query that is kept is not empty, and has at most 64 KiB")


_decoder = msgspec.msgpack.Decoder(list[SavedQuery])
