"""The record of one run of hooks: what they judged, each hook's result, and why. The store has one object for each run:

    <repository-id>/hooks/<microseconds, 14 hexadecimal digits><10 random letters>.json

Names sort by when runs began. The record is not an event, because a journal is kept for ever: rows that a hook prints
must be gone when the record is deleted, by its age or with its repository.
"""

import msgspec

from lochan.errors import FutureFormat
from lochan.formats import json_file

FOLDER = "hooks/"
FORMAT = 1
PASSED, REFUSED, FAILED, SKIPPED = "passed", "refused", "failed", "skipped"
_HINT = "the record is for people alone: delete it"


class HookResultRecord(msgspec.Struct, frozen=True):
    """The result of one hook in a run. Fields are only ever added at the end."""

    file: str  # the path of the hook file
    hook: str  # the hook's id in the file
    kind: str
    state: str  # passed, refused, failed or skipped
    reason: str = ""
    output: str = ""
    started: int = 0
    ended: int = 0
    name: str = ""  # the name of the hook file


class HookRunRecord(msgspec.Struct, frozen=True):
    """One run of hooks. Fields are only ever added at the end."""

    format: int
    id: str
    event: str  # the event, such as pre-commit
    branch: str  # the branch or the tag
    commit: str  # the commit that would be made, or was made
    base: str  # the head before the commit
    hooks_commit: str  # the commit from which the hook files were read
    user: str
    client: str
    source: str
    started: int
    ended: int
    state: str
    results: tuple[HookResultRecord, ...] = ()
    manual: bool = False  # whether a user ran it by hand, and nothing depended on it


def new_id(started: int, ksuid: str) -> str:
    """Returns the id of a run. The letters come from a KSUID: they distinguish runs of the same microsecond, but do not
    order them."""
    return f"{started:014x}{ksuid[-10:]}"


def path_of(repository: str, id: str) -> str:
    return f"{repository}/{FOLDER}{id}.json"


def encode(record: HookRunRecord) -> bytes:
    return json_file.seal(record)


def decode(data: bytes, name: str) -> HookRunRecord:
    """Returns the record. Raises Corrupt or FutureFormat."""
    fields = json_file.unseal(data, name, _HINT).fields
    if fields.get("format", 0) > FORMAT:
        raise FutureFormat(f"{name} has format version {fields['format']}", hint="upgrade Lochan")
    return msgspec.convert(fields, HookRunRecord)
