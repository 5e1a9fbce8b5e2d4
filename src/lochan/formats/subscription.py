"""The files of a subscription to events: its progress, and the dead letters that its receiver did not accept.

    _lake/subscriptions/<id>/progress.json
    _lake/subscriptions/<id>/dead/<time of the first event, 14 hexadecimal digits><10 of its hash>.json

A dead letter names its events and does not hold them, so it keeps nothing that its owner may no longer read.
"""

import msgspec

from lochan.errors import FutureFormat
from lochan.formats import json_file

FOLDER = "_lake/subscriptions/"
FORMAT = 1
_HINT = "delete the file: without it, a subscription begins again where it was created"


class SubscriptionProgress(msgspec.Struct, frozen=True):
    """The progress of a subscription. Fields are only ever added at the end."""

    format: int = FORMAT
    position: str = ""  # after the last event that was sent, passed over or given up; empty for where it was created
    redelivery: int = 0  # the last request for dead letters that was carried out
    attempts: int = 0  # the number of attempts for the event after the position
    due: int = 0  # when the next attempt is due, in microseconds since 1970
    trouble: str = ""  # why the last attempt failed; empty if it did not
    delivered: int = 0  # the number of all events that were delivered
    last: int = 0  # the time of the last delivery
    dead: int = 0  # the number of all letters that were given up


class DeadLetterRecord(msgspec.Struct, frozen=True):
    """A dead letter. Fields are only ever added at the end."""

    format: int
    id: str
    journal: str
    events: tuple[tuple[int, int], ...]  # the number and the index of each event
    types: tuple[str, ...]  # the types of the events, each once
    time: int
    attempts: int
    trouble: str
    again: bool = False  # whether it was requested again


def folder_of(id: str) -> str:
    return f"{FOLDER}{id}/"


def progress_path(id: str) -> str:
    return f"{folder_of(id)}progress.json"


def letters_prefix(id: str) -> str:
    return f"{folder_of(id)}dead/"


def letter_path(id: str, letter: str) -> str:
    return f"{letters_prefix(id)}{letter}.json"


def encode(record: SubscriptionProgress | DeadLetterRecord) -> bytes:
    return json_file.seal(record)


def decode_progress(data: bytes, name: str) -> SubscriptionProgress:
    """Returns the progress. Raises Corrupt or FutureFormat."""
    return msgspec.convert(_fields(data, name), SubscriptionProgress)


def decode_letter(data: bytes, name: str) -> DeadLetterRecord:
    """Returns the dead letter. Raises Corrupt or FutureFormat."""
    return msgspec.convert(_fields(data, name), DeadLetterRecord)


def _fields(data: bytes, name: str) -> dict[str, object]:
    fields = json_file.unseal(data, name, _HINT).fields
    if fields.get("format", 0) > FORMAT:
        raise FutureFormat(f"{name} has format version {fields['format']}", hint="upgrade Lochan")
    return fields
