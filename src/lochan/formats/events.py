"""Typed events: what the payload of a change means. Each type has a name and its own version.

A vocabulary is the set of types that one fold understands. A newer event is refused, because a fold that skipped it
would reach another state than its neighbours."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, NoReturn

import msgspec

from lochan.errors import Corrupt, FutureFormat
from lochan.formats.record import RecordChange


class Event(msgspec.Struct, frozen=True, gc=False):
    """An event. Fields may be added with a default under the same version; any other change of meaning takes a new
    version. It has plain values and is in no reference cycle, so the garbage collector leaves it out."""

    type: ClassVar[str]
    version: ClassVar[int] = 1

    @property
    def prepares(self) -> bool:
        """Returns whether the request's deciding event is still to come (rule J8)."""
        return False

    @property
    def written_version(self) -> int:
        """The version under which the event is written. An event that uses no new field may be written as an older
        version, so that older programs can read it."""
        return self.version


class Preparing(Event, frozen=True):
    """An event that never decides a request."""

    @property
    def prepares(self) -> bool:
        return True


def change(event: Event) -> RecordChange:
    return RecordChange(event.type, event.written_version, msgspec.Raw(_encoder.encode(event)))


class Vocabulary:
    def __init__(self, types: Iterable[type[Event]]) -> None:
        self._known = {t.type: (t.version, msgspec.msgpack.Decoder(t)) for t in types}

    def decode(self, change: RecordChange, journal: str, number: int) -> Any:
        """Returns the typed event. Raises FutureFormat or Corrupt, with the record's number."""
        known = self._known.get(change.type)
        if known is None or change.version > known[0]:
            _refuse(change, known, journal, number)
        try:
            return known[1].decode(change.payload)
        except msgspec.DecodeError as error:
            raise Corrupt(f"record {number} of {journal}: event {change.type} cannot be read: {error}") from error


def _refuse(change: RecordChange, known: tuple[int, object] | None, journal: str, number: int) -> NoReturn:
    reads = f"up to version {known[0]} of it" if known else "no event of that type"
    raise FutureFormat(
        f"record {number} of {journal} holds event {change.type} version {change.version}; this Lochan reads {reads}",
        hint="upgrade Lochan to open this lake",
    )


# --- events of all journals, for people and programs -----------------------------------------------------------------
_MODULES = ("collection_events", "lake_events", "pull_events", "repository_events", "workspace_events")
# Secrets that are encrypted with the lake's key. They are never shown, because a stolen key would decrypt them.
_SECRETS = frozenset(("sealed",))


@cache
def event_types() -> Mapping[str, type[Event]]:
    """Returns every known type of event by its name."""
    modules = (import_module(f"lochan.formats.{name}") for name in _MODULES)
    found = (each for module in modules for each in vars(module).values() if isinstance(each, type))
    return {each.type: each for each in found if issubclass(each, Event) and each not in (Event, Preparing)}


def read(change: RecordChange) -> Event | None:
    """Returns the typed event, or None if a newer program wrote it."""
    known = event_types().get(change.type)
    if known is None or change.version > known.version:
        return None
    return msgspec.msgpack.decode(change.payload, type=known)


def event_fields(change: RecordChange) -> dict[str, Any]:
    """Returns the fields of an event by their names, at all levels, without secrets. On disk structs are arrays,
    because their names would take more room than their values."""
    event = read(change)
    found = _field_value(msgspec.msgpack.decode(change.payload) if event is None else event)
    assert isinstance(found, dict), "an event is a map of its fields"
    return found


def _field_value(value: Any) -> Any:
    match value:
        case msgspec.Struct():
            return {
                name: _field_value(getattr(value, name)) for name in value.__struct_fields__ if name not in _SECRETS
            }
        case bytes() | msgspec.Raw():
            return bytes(value).hex()
        case dict():
            return {key: _field_value(each) for key, each in value.items() if key not in _SECRETS}
        case list() | tuple():
            return [_field_value(each) for each in value]
    return value


_encoder = msgspec.msgpack.Encoder()
