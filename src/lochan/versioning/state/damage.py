"""Damage that was found when data was read, by repository: a part of the state of the lake's journal.

The events have what was found and when. The state has only how much damage there is now, so that it stays small: a
complete round of a scrub reports all that it finds, so what it no longer finds is repaired."""

from typing import ClassVar

import msgspec

from lochan.formats.events import Event
from lochan.formats.lake_events import DamageFound
from lochan.journal.state import EventPosition, StatePart
from lochan.journal.table import FoldTable, FoldTables


class DamageCount(msgspec.Struct, frozen=True, array_like=True):
    """The damage of one repository. Stored in checkpoints: fields may only be added at the end."""

    repository: str  # the id of the repository
    files: int  # the number of damaged files
    number: int  # the number of the record that reported it
    time: int  # microseconds since 1970


class Damage(FoldTables, StatePart):
    name: ClassVar[str] = "damage"
    events: ClassVar[tuple[type[Event], ...]] = (DamageFound,)

    def __init__(self) -> None:
        self._counts: FoldTable[str, DamageCount] = FoldTable()

    def files(self, repository: str) -> int:
        """Returns how many files of the repository are damaged, as far as is known."""
        found = self._counts.get(repository)
        return 0 if found is None else found.files

    def all(self) -> list[DamageCount]:
        return sorted((each for _, each in self._counts.items()), key=lambda each: each.repository)

    def apply(self, event: DamageFound, at: EventPosition) -> int:
        if event.damaged:
            self._counts.put(event.repository, DamageCount(event.repository, event.damaged, at.number, at.time))
        else:
            self._counts.drop(event.repository)
        return at.number

    def dump(self) -> list[DamageCount]:
        return self.all()

    def load(self, dumped: msgspec.Raw) -> None:
        for each in _decoder.decode(dumped):
            self._counts.put(each.repository, each)


_decoder = msgspec.msgpack.Decoder(list[DamageCount])
