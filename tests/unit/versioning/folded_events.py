"""Applies events to a fold, one after the other."""

from typing import Any

import msgspec
import pytest

from lochan.errors import LochanError
from lochan.formats.commit import Commit
from lochan.formats.entry import Entry
from lochan.formats.events import Event
from lochan.formats.repository_events import Moved, RepositoryOpened
from lochan.formats.run import RunRef
from lochan.journal.state import EventPosition
from lochan.versioning.state.refs import Refs

FIRST = Commit((), "", "", "first", 0, {}, "empty", "", 0)


def entry(path: str) -> Entry:
    return Entry(path, (), 0, "", "", 0)


def run(id: str) -> RunRef:
    return RunRef(id, f"runs/{id}", 1, 1, 0, 10, "a", "a", 0)


def after(*parents: Commit, message: str = "next") -> Commit:
    generation = 1 + max(parent.generation for parent in parents)
    return Commit(tuple(p.id for p in parents), "ann", "ann", message, generation, {}, "tree", "file", generation)


class Story:
    """Events one after the other, each with the next number."""

    def __init__(self) -> None:
        self.refs = Refs()
        self.number = 0
        self.tell(RepositoryOpened("files", "main", FIRST))

    def tell(self, event: Event) -> int:
        """Returns the number."""
        self.apply(event)
        return self.number

    def apply(self, event: Event) -> Any:
        """Returns the answer to the request."""
        self.number += 1
        return self.refs.apply(event, EventPosition(self.number, 0, "ann"))

    def refuses(self, event: Event, kind: type[LochanError]) -> None:
        """The event is refused, and nothing of it stays."""
        before = msgspec.msgpack.encode(self.refs.dump())
        with pytest.raises(kind):
            self.tell(event)
        assert msgspec.msgpack.encode(self.refs.dump()) == before

    @property
    def main(self) -> tuple[str, int]:
        branch = self.refs.branch("main")
        return branch.head, branch.incarnation

    def move(self, to: Commit, why: str = "import", **more: Any) -> Moved:
        head, incarnation = self.main
        return Moved("main", incarnation, head, to.id, why, (to,), **more)
