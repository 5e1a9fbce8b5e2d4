"""Events of a repository's journal. On somebody's disk."""

from typing import ClassVar

from lochan.formats.events import Event


class RepositoryOpened(Event, frozen=True):
    """The first event of every repository: it is there, with its default branch, from this record on."""

    type: ClassVar[str] = "repository-opened"

    kind: str
    default_branch: str
