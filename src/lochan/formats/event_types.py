"""Every type of event that this program knows, by its name, and an event as named values for people and programs."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import msgspec

from lochan.formats.events import Event, Preparing
from lochan.formats.record import RecordChange

_MODULES = (
    "lochan.formats.collection_events",
    "lochan.formats.lake_events",
    "lochan.formats.repository_events",
    "lochan.formats.repository_events",
    "lochan.formats.workspace_events",
)
EVENT_TYPES: Mapping[str, type[Event]] = {
    each.type: each
    for module in map(import_module, _MODULES)
    for each in vars(module).values()
    if isinstance(each, type) and issubclass(each, Event) and each not in (Event, Preparing)
}
# Secrets that are encrypted with the lake's key: nobody needs to see them, and a stolen key would open them.
SECRETS = frozenset(("sealed",))


def read(change: RecordChange) -> Event | None:
    """The event, typed; None for one that a newer program wrote."""
    known = EVENT_TYPES.get(change.type)
    if known is None or change.version > known.version:
        return None
    return msgspec.msgpack.decode(change.payload, type=known)


def named(change: RecordChange) -> dict[str, Any]:
    """The fields of an event by their names, all the way down, without secrets. Structs are arrays on the disk, where
    their names would take more room than their values."""
    event = read(change)
    found = _named(msgspec.msgpack.decode(change.payload) if event is None else event)
    assert isinstance(found, dict), "an event is a map of its fields"
    return found


def _named(value: Any) -> Any:
    match value:
        case msgspec.Struct():
            return {name: _named(getattr(value, name)) for name in value.__struct_fields__ if name not in SECRETS}
        case bytes() | msgspec.Raw():
            return bytes(value).hex()
        case dict():
            return {key: _named(each) for key, each in value.items() if key not in SECRETS}
        case list() | tuple():
            return [_named(each) for each in value]
    return value
