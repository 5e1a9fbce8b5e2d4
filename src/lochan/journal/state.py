"""The state that a journal folds to. It is made of parts, and each part handles some types of events.

State is a pure function of the records: the same in the server, the command line, a job and the simulator. A part
checks an event before it changes anything, so an invalid event leaves no trace.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

import msgspec

from lochan.errors import Corrupt, FutureFormat, Invalid, LochanError
from lochan.formats.checkpoint import Checkpoint
from lochan.formats.events import Event, Vocabulary
from lochan.formats.record import GENESIS, RecordChange, RecordEntry, SealedRecord
from lochan.journal.keys import KEPT_PER_USER, KeyedResult, Keys
from lochan.journal.rules import RULES, JournalRules

_RESTORE = "the journal's files were changed or mixed up; restore them from a copy of the lake"

_NEEDS = "needs "  # before a feature, among the parts of a checkpoint: a program that does not know it refuses it

Alarm = Callable[[str], None]


class EventPosition(msgspec.Struct, frozen=True):
    """The position of an event. The number is its logical time, which all events of one record share."""

    number: int
    time: int
    user: str
    version: int = 1  # the version of the event as it was written: an older event keeps its meaning


class AppliedRun(NamedTuple):
    """The result of applying the first of several requests: how many were applied together, and their results. If the
    results are None, these requests have to be applied one by one."""

    length: int
    results: Sequence[Any] | None = None


class StatePart(ABC):
    """A part of the state, with its events."""

    name: ClassVar[str]  # the part's name in checkpoints; stored on disk
    events: ClassVar[tuple[type[Event], ...]]
    runs: ClassVar[tuple[type[Event], ...]] = ()  # the events of which it can apply several together
    features: ClassVar[tuple[str, ...]] = ()  # the features that this program can load

    def needs(self) -> tuple[str, ...]:
        """Returns the features without which `load` would read this state for another one: a program would not enforce
        a rule that it does not know. They are in checkpoints; stored on disk."""
        return ()

    @abstractmethod
    def apply(self, event: Any, at: EventPosition) -> Any:
        """Checks the event, then changes the state. Raises a LochanError, with nothing changed, if the event is not
        valid in this state. Returns the result of the request: plain values, kept with its idempotency key."""

    def apply_run(self, events: Iterable[Any], at: EventPosition) -> AppliedRun:
        """Applies the first of these events together, as `apply` does one by one, with the same state and results in
        the end. They are of one type of `runs`, each of another request. Takes from `events` only what it needs, and
        raises nothing: where one may be refused, nothing is changed."""
        return AppliedRun(1)

    @abstractmethod
    def fork(self) -> Self: ...

    @abstractmethod
    def join(self) -> None: ...

    @abstractmethod
    def dump(self) -> Any:
        """Returns a value that msgpack can write and `load` can read."""

    @abstractmethod
    def load(self, dumped: msgspec.Raw) -> None: ...


P = TypeVar("P", bound=StatePart)


class Schema:
    """The parts of a journal's state."""

    def __init__(
        self,
        *parts: type[StatePart],
        rules: JournalRules = RULES,
        keys_kept: int = KEPT_PER_USER,
        alarm: Alarm = lambda _: None,
    ) -> None:
        self.parts = parts
        self.vocabulary = Vocabulary(event for part in parts for event in part.events)
        self.owner = {event.type: part for part in parts for event in part.events}
        self.runs = frozenset(event.type for part in parts for event in part.runs)
        self.rules = rules
        self.keys_kept = keys_kept
        self.alarm = alarm

    def empty(self, journal: str) -> "State":
        parts = {part: part() for part in self.parts}
        return State(self, journal, parts, Keys(self.keys_kept, self.rules), 0, GENESIS)

    def restore(self, checkpoint: Checkpoint) -> "State":
        """Restores a state from a checkpoint. Raises FutureFormat for a checkpoint with an unknown part: without it,
        that part would be lost for everybody who reads the next checkpoint."""
        known = {part.name for part in self.parts} | {
            f"{_NEEDS}{each}" for part in self.parts for each in part.features
        }
        unknown = checkpoint.parts.keys() - known - {"keys"}
        if unknown:
            raise FutureFormat(
                f"the checkpoint at {checkpoint.number} of {checkpoint.journal} holds {', '.join(sorted(unknown))}, "
                "which this Lochan does not know",
                hint="upgrade Lochan to open this lake",
            )
        state = self.empty(checkpoint.journal)
        state.number, state.digest = checkpoint.number, checkpoint.digest
        state.keys.load(checkpoint.parts["keys"])
        for part in state.parts.values():
            state_of_part = checkpoint.parts.get(part.name)
            if state_of_part is not None:
                part.load(state_of_part)
        return state


class State:
    __slots__ = ("digest", "journal", "keys", "number", "parts", "schema")

    def __init__(
        self,
        schema: Schema,
        journal: str,
        parts: dict[type[StatePart], StatePart],
        keys: Keys,
        number: int,
        digest: bytes,
    ) -> None:
        self.schema = schema
        self.journal = journal
        self.parts = parts
        self.keys = keys
        self.number = number  # the number of the last folded record
        self.digest = digest  # the digest of that record

    def of(self, part: type[P]) -> P:
        return self.parts[part]  # type: ignore[return-value]  # keyed by its own class

    def fold(self, sealed: SealedRecord) -> None:
        """Applies the next record. Raises Corrupt if it does not continue the chain."""
        record = sealed.record
        check_link(sealed, self.journal, self.number, self.digest)
        at, entries = 0, record.entries
        while at < len(entries):
            length, results = self.apply_run(entries, at, record.number, record.time)
            if results is None:
                for entry in entries[at : at + length]:
                    self._fold_one(entry, record.number, record.time)
            at += length
        self.number, self.digest = record.number, sealed.digest

    def _fold_one(self, entry: RecordEntry, number: int, time: int) -> None:
        try:
            self.apply(entry, number, time)
        except LochanError as error:
            if isinstance(error, Corrupt) or error.kind == "future-format":
                raise
            # Its writer checked it before the append, so this is a bug or a forgery. It changes nothing.
            self.schema.alarm(f"record {number} of {self.journal} holds an invalid event: {error}")

    def apply_run(self, entries: Sequence[RecordEntry], start: int, number: int, time: int) -> AppliedRun:
        """Carries out the first requests from `start` on together if they are alike, as many small puts are: what
        `apply` does for each of them takes several times as long."""
        changes = entries[start].changes
        if len(changes) != 1 or entries[start].key or changes[0].type not in self.schema.runs:
            return AppliedRun(1)
        change = changes[0]
        at = EventPosition(number, time, entries[start].actor.user, change.version)
        return self.parts[self.schema.owner[change.type]].apply_run(self._alike(entries, start, number), at)

    def _alike(self, entries: Sequence[RecordEntry], start: int, number: int) -> Iterator[Any]:
        """Yields the events of requests without a key that have one event of the first one's type and version."""
        type, version = entries[start].changes[0].type, entries[start].changes[0].version
        for at in range(start, len(entries)):
            entry = entries[at]
            change = entry.changes[0] if len(entry.changes) == 1 else None
            if change is None or entry.key or change.type != type or change.version != version:
                return
            yield self.schema.vocabulary.decode(change, self.journal, number)

    def apply(self, entry: RecordEntry, number: int, time: int) -> Any:
        """Carries out one request, completely or, with an error, not at all. Returns its result."""
        if not entry.key:
            return self._apply(entry.changes, number, time, entry.actor.user)
        if self.schema.rules.checks_keys_in_fold() and isinstance(self.keys.look_up(entry, time), KeyedResult):
            raise Invalid(f"idempotency key {entry.key!r} was carried out before")
        user, look_up = entry.actor.user, self.keys.look_up_key
        for other in entry.others:
            if isinstance(look_up(user, other.key, other.fingerprint, time), KeyedResult):
                raise Invalid(f"idempotency key {other.key!r} was carried out before")
        result = self._apply(entry.changes, number, time, user)
        self.keys.remember(entry, time, result)
        return result

    def under(self, schema: Schema) -> "State":
        """Returns the same state, for another opening of the journal: its alarms go elsewhere. This one must not be
        used any more."""
        return State(schema, self.journal, self.parts, self.keys, self.number, self.digest)

    def fork(self) -> "State":
        parts = {kind: part.fork() for kind, part in self.parts.items()}
        return State(self.schema, self.journal, parts, self.keys.fork(), self.number, self.digest)

    def join(self) -> None:
        for part in self.parts.values():
            part.join()
        self.keys.join()

    def checkpoint(self) -> Checkpoint:
        parts = {part.name: msgspec.Raw(_encoder.encode(part.dump())) for part in self.parts.values()}
        parts["keys"] = msgspec.Raw(_encoder.encode(self.keys.dump()))
        for feature in (each for part in self.parts.values() for each in part.needs()):
            parts[f"{_NEEDS}{feature}"] = msgspec.Raw(_encoder.encode(None))
        return Checkpoint(self.journal, self.number, self.digest, parts)

    def _apply(self, changes: tuple[RecordChange, ...], number: int, time: int, user: str) -> Any:
        if len(changes) == 1:  # nearly every record; a part checks before it changes anything, so no fork is needed
            return self._apply_one(changes[0], EventPosition(number, time, user, changes[0].version))
        fork = self.fork()
        results = [fork._apply_one(change, EventPosition(number, time, user, change.version)) for change in changes]
        fork.join()
        return results

    def _apply_one(self, change: RecordChange, at: EventPosition) -> Any:
        event = self.schema.vocabulary.decode(change, self.journal, at.number)
        return self.parts[self.schema.owner[change.type]].apply(event, at)


_encoder = msgspec.msgpack.Encoder()


# --- the hash chain: each record names the digest of the one before it, so a gap, a swap or a forgery shows ----------
class RecordFolder(Protocol):
    """Receives records one after the other: the state itself, or something that only follows."""

    @property
    def journal(self) -> str: ...

    @property
    def number(self) -> int:
        """The number of the last record."""

    def fold(self, sealed: SealedRecord) -> None: ...


def check_link(sealed: SealedRecord, journal: str, number: int, digest: bytes | None) -> None:
    """Raises Corrupt unless the record follows record `number`. `digest` is None if that record is not known."""
    record = sealed.record
    if record.journal != journal:
        raise Corrupt(f"record {number + 1} in {journal} belongs to {record.journal}", hint=_RESTORE)
    if record.number != number + 1:
        raise Corrupt(f"record {number + 1} of {journal} says it is {record.number}", hint=_RESTORE)
    if digest is not None and record.previous != digest:
        raise Corrupt(f"record {record.number} of {journal} does not continue record {number}", hint=_RESTORE)


class Chain:
    """Follows a journal without a state: checks the links and keeps the records until they are taken."""

    def __init__(self, journal: str, number: int, digest: bytes | None) -> None:
        self.journal = journal
        self.number = number
        self.digest = digest
        self._kept: list[SealedRecord] = []

    def fold(self, sealed: SealedRecord) -> None:
        check_link(sealed, self.journal, self.number, self.digest)
        self.number, self.digest = sealed.record.number, sealed.digest
        self._kept.append(sealed)

    def take(self) -> list[SealedRecord]:
        kept, self._kept = self._kept, []
        return kept
