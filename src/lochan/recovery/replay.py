"""The fold of a journal from its first record on, which folds many plain puts at a time.

Most events of a repository stage one object each. A stretch of them on one branch, without keys, changes only the
branch's staged changes, so they are checked and added together. The state is the same as if each had been folded by
itself. If a check fails, each is folded by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from lochan.errors import Corrupt, FutureFormat, LochanError
from lochan.formats import record as records
from lochan.formats.entry import Change, Entry, Tombstone
from lochan.formats.record import RecordChange, RecordEntry, SealedRecord
from lochan.formats.repository_events import Staged
from lochan.journal.state import EventPosition, Schema, State, StatePart, check_link
from lochan.staging.inline import Inline, InlinePiece, Placed, empty_inline
from lochan.staging.layers import Layers
from lochan.versioning.journal_digest import RecordStretch, SegmentDigest
from lochan.versioning.repositories import FILES
from lochan.versioning.state.protection import STAGE
from lochan.versioning.state.refs import Refs

Observe = Callable[[State, Any, EventPosition], Sequence[Any]]  # returns what follows from an event in a state

_STAGED = Staged.type
_TOGETHER = 4_096


class InvalidEvent(NamedTuple):
    """An event that the fold ignores."""

    number: int
    message: str


class Replay:
    """A fold of a journal. `watched` are types of events. `observe` is called with each such event and the state before
    it. `fold` returns its results, except for events that turn out to be invalid."""

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
        """Applies the next record. Raises Corrupt if it does not continue the chain. Call `settle` before reading the
        state."""
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

    def fold_digest(self, digest: SegmentDigest) -> Iterator[tuple[int, list[Any]]]:
        """Applies the records of a segment, which was checked elsewhere. Yields the number of the last record of each
        step, and the observed results of its events. Raises NotPlain if the puts must be folded one by one, and
        Corrupt."""
        state = self.state
        if (digest.first, digest.previous) != (state.number + 1, state.digest):
            raise Corrupt(f"segment {digest.first // 256} of {state.journal} does not continue record {state.number}")
        for item in digest.items:
            self.settle()
            if isinstance(item, bytes):
                yield state.number + 1, self.fold(records.decode_checked(item))
                continue
            _stage(state, item)
            self.events += item.count
            state.number, state.digest = item.number, item.digest
            yield item.number, []

    def settle(self) -> State:
        """Returns the state after the last record."""
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
            return self._observe_change(self.state, entry.changes[0], at)
        fork = self.state.fork()
        found: list[Any] = []
        for change in entry.changes:
            at = EventPosition(number, time, entry.actor.user, change.version)
            found += self._observe_change(fork, change, at)
            try:
                fork.apply(RecordEntry(entry.actor, "", b"", (change,)), number, time)
            except LochanError:
                return []  # the whole entry is invalid
        return found

    def _observe_change(self, state: State, change: RecordChange, at: EventPosition) -> list[Any]:
        if change.type not in self._watched:
            return []
        event = state.schema.vocabulary.decode(change, state.journal, at.number)
        try:
            return [*self._observe(state, event, at)]
        except LochanError:
            return []  # it names something that does not exist, and the fold will ignore it


class NotPlain(Exception):
    """Some event of a stretch may be invalid: each has to be folded by itself."""


def _stage(state: State, stretch: RecordStretch) -> None:
    """Stages all changes of a stretch, still encoded."""
    refs = state.of(Refs)
    try:
        refs.guard.check_writable()
        refs.guard.check(stretch.branch, STAGE)
        branch = refs.branch(stretch.branch)
        if refs.kind != FILES:
            raise NotPlain
        if refs.collection.cut:
            puts = tuple(each for each in _changes_of(stretch) if not isinstance(each, Tombstone))
            refs.collection.check_entries(refs.rules, puts, 0, 0, 0)
    except LochanError as error:
        raise NotPlain from error
    layers = branch.layers
    newest = layers.items[-1] if layers.items else None
    if isinstance(newest, Inline) and newest.last == layers.next - 1:
        before, kept = newest, layers.items[:-1]
    else:
        before, kept = empty_inline(layers.next), layers.items
    last = before.last + stretch.count
    piece: Any = _LazyPiece(stretch, before.last)
    inline = Inline(before.first, last, (*before.pieces, piece), before.bytes + len(stretch.changes))
    layers = Layers((*kept, inline), last + 1, layers.over)
    refs.branch_table.put(branch.name, msgspec.structs.replace(branch, layers=layers))
    refs.collection.saw(stretch.number)


class _LazyPiece:
    """An `InlinePiece` whose changes are decoded when they are first read."""

    def __init__(self, stretch: RecordStretch, base: int) -> None:
        self._stretch = stretch
        self._base = base
        self._piece: InlinePiece | None = None
        self.top = base + stretch.count
        self.memo: object = None

    @property
    def changes(self) -> Placed:
        return self._decode_piece().changes

    @property
    def keys(self) -> list[bytes]:
        return self._decode_piece().keys

    def __len__(self) -> int:
        return self._stretch.count

    def _decode_piece(self) -> InlinePiece:
        if self._piece is None:
            numbered = enumerate(_changes_of(self._stretch), self._base + 1)
            self._piece = InlinePiece({change.path: (at, change) for at, change in numbered}, self.top)
        return self._piece


class _Puts:
    """A stretch of plain puts on one branch."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._changes: list[Change] = []
        self._branch = ""
        self.entries: list[tuple[RecordEntry, int, int]] = []  # with the number and the time of the record

    def take(self, entry: RecordEntry, number: int, time: int) -> bool:
        """Adds the entry to the stretch if it belongs to it, and returns whether it does."""
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
        """Applies the stretch. Returns False, and changes nothing, if one of the puts is invalid."""
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


def _changes_of(stretch: RecordStretch) -> list[Change]:
    """Returns the decoded changes. Raises Corrupt."""
    try:
        found = _changes.decode(stretch.changes)
    except msgspec.DecodeError as error:
        raise Corrupt(f"puts up to record {stretch.number} cannot be read: {error}") from error
    return [Tombstone(each) if isinstance(each, str) else each for each in found]


_decode = msgspec.msgpack.Decoder(Staged).decode
_changes = msgspec.msgpack.Decoder(list[Entry | str])
