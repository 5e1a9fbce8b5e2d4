"""Events that say what may be done in a repository at all. On somebody's disk."""

from typing import ClassVar

import msgspec

from lochan.formats.events import Event


class Protection(msgspec.Struct, frozen=True, array_like=True):
    """Fields are only ever added at the end."""

    pattern: str  # of branch names, with * and ?
    blocked: tuple[str, ...]  # stage, commit, rewrite


class ProtectionSet(Event, frozen=True):
    """All the rules there are from now on."""

    type: ClassVar[str] = "protection-set"

    rules: tuple[Protection, ...]


class ReadOnlySet(Event, frozen=True):
    """While it is on, nothing that a reader could see changes."""

    type: ClassVar[str] = "read-only-set"

    on: bool
