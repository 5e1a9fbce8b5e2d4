"""Events of stashes: what was staged on a branch, put aside (S9). On somebody's disk."""

from typing import ClassVar

from lochan.formats.events import Event


class Stashed(Event, frozen=True):
    """Moves the staging that the branch has at this number, whatever it is: the event carries no list. Version 2: no
    two stashes of one record have the same id, also where the first is gone already."""

    type: ClassVar[str] = "stashed"
    version: ClassVar[int] = 2

    branch: str
    message: str = ""


class Popped(Event, frozen=True):
    """Valid only while the stash is there, nothing is staged on the branch, and `head` is its head."""

    type: ClassVar[str] = "popped"

    branch: str
    stash: str
    head: str


class StashDropped(Event, frozen=True):
    type: ClassVar[str] = "stash-dropped"

    stash: str
