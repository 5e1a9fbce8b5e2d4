"""The fold of a journal from its first record on, in which plain puts are taken many at a time.

Most events of a repository stage one object each. A stretch of them on one branch, without keys, changes nothing but
the branch's staged changes, so they are checked together and added together. The state is the same as if each had been
folded by itself; where a check fails, they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from lochan.errors import Corrupt, FutureFormat, LochanError
from lochan.formats.entry import Change, Tombstone
from lochan.formats.record import RecordChange, RecordEntry, SealedRecord
from lochan.formats.repository_events import Staged
from lochan.journal.state import EventPosition, Schema, State, StatePart, check_link
from lochan.versioning.repositories import FILES
from lochan.versioning.state.guard import STAGE
from lochan.versioning.state.refs import Refs

Observe = Callable[[State, Any, EventPosition], Sequence[Any]]  # what follows from an event in a state

_STAGED = Staged.type
_TOGETHER = 4_096


class InvalidEvent(NamedTuple):
    """An event that the fold ignores."""

    number: int
    message: str


class Replay:
    """`watched` are types of events; `observe` is called with each, and the state before it. Its results are those of
    `fold`, except for events that turn out to be invalid."""

    def __init__(
        self,
        journal: str,
        parts: Sequence[type[StatePart]],
        watched: frozenset[str] = frozenset(),
        observe: Observe = lambda state, event, at: (),
    ) -> None:
        self.state = Schema(*parts).empty(journal)
        self.events = 0
        self.invalid: list[InvalidEvent] = []
        self._watched = watched
        self._observe = observe
        self._plain = Refs in parts
        self._puts = _Puts(self.state)

    def fold(self, sealed: SealedRecord) -> list[Any]:
        """Applies the next record. Raises Corrupt if it does not continue the chain. Use `settle` before the state is
        looked at."""
        record = sealed.record
        check_link(sealed, self.state.journal, self.state.number, self.state.digest)
        found: list[Any] = []
        for entry in record.entries:
            self.events += len(entry.changes)
            if self._plain and self._puts.take(entry, record.number, record.time):
                continue
            self.settle()
            if not (self._plain and self._puts.take(entry, record.number, record.time)):
                found += self._apply(entry, record.number, record.time)
        if len(self._puts.entries) >= _TOGETHER:
            self.settle()
        self.state.number, self.state.digest = record.number, sealed.digest
        return found

    def settle(self) -> State:
        """The state after the last record."""
        puts, self._puts = self._puts, _Puts(self.state)
        if puts.entries and not puts.add():
            for entry, number, time in puts.entries:
                self._apply(entry, number, time)
        return self.state

    def _apply(self, entry: RecordEntry, number: int, time: int) -> list[Any]:
        found = self._watch(entry, number, time)
        try:
            self.state.apply(entry, number, time)
        except LochanError as error:
            if isinstance(error, Corrupt | FutureFormat):
                raise
            self.invalid.append(InvalidEvent(number, error.message))
            return []
        return found

    def _watch(self, entry: RecordEntry, number: int, time: int) -> list[Any]:
        if not any(change.type in self._watched for change in entry.changes):
            return []
        if len(entry.changes) == 1:
            at = EventPosition(number, time, entry.actor.user, entry.changes[0].version)
            return self._seen(self.state, entry.changes[0], at)
        fork = self.state.fork()
        found: list[Any] = []
        for change in entry.changes:
            at = EventPosition(number, time, entry.actor.user, change.version)
            found += self._seen(fork, change, at)
            try:
                fork.apply(RecordEntry(entry.actor, "", b"", (change,)), number, time)
            except LochanError:
                return []  # the whole entry is invalid
        return found

    def _seen(self, state: State, change: RecordChange, at: EventPosition) -> list[Any]:
        if change.type not in self._watched:
            return []
        event = state.schema.vocabulary.decode(change, state.journal, at.number)
        try:
            return [*self._observe(state, event, at)]
        except LochanError:
            return []  # it names what is not there, and the fold will ignore it


class _Puts:
    """A stretch of plain puts on one branch."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._changes: list[Change] = []
        self._branch = ""
        self.entries: list[tuple[RecordEntry, int, int]] = []  # with the number and the time of the record

    def take(self, entry: RecordEntry, number: int, time: int) -> bool:
        """Whether it is one of them."""
        changes = entry.changes
        if entry.key or entry.pending or len(changes) != 1 or changes[0].type != _STAGED or changes[0].version != 1:
            return False
        event = _decode(changes[0].payload)
        if event.read_at or event.checked or event.closes or event.completes:
            return False
        if self.entries and event.branch != self._branch:
            return False
        if len(event.puts) + len(event.deletes) != 1:
            paths = [*(put.path for put in event.puts), *event.deletes]
            if not paths or len(set(paths)) != len(paths):
                return False
        self._branch = event.branch
        self.entries.append((entry, number, time))
        self._changes += event.puts
        if event.deletes:
            self._changes += map(Tombstone, event.deletes)
        return True

    def add(self) -> bool:
        """False: something is wrong with one of them, and nothing was changed."""
        refs = self._state.of(Refs)
        try:
            refs.guard.check_writable()
            refs.guard.check(self._branch, STAGE)
            branch = refs.branch(self._branch)
            if refs.kind != FILES:
                return False
            if refs.collection.cut:
                puts = tuple(each for each in self._changes if not isinstance(each, Tombstone))
                refs.collection.check_entries(refs.rules, puts, 0, 0, 0)
        except LochanError:
            return False
        layers = branch.layers.put(*self._changes)
        refs.branch_table.put(branch.name, msgspec.structs.replace(branch, layers=layers))
        refs.collection.saw(self.entries[-1][1])
        return True


_decode = msgspec.msgpack.Decoder(Staged).decode
