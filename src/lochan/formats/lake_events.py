"""Events of the lake's own journal. On somebody's disk."""

from typing import ClassVar

import msgspec

from lochan.formats.events import Event
from lochan.formats.pool_settings import PoolSettings


class RepositoryCreated(Event, frozen=True):
    """Valid while the name is free. The repository's own journal was opened before this was written."""

    type: ClassVar[str] = "repository-created"

    id: str
    name: str
    kind: str  # files | pool
    default_branch: str
    metadata: dict[str, str] = msgspec.field(default_factory=dict)
    pool: PoolSettings | None = None  # of a pool


class RepositoryRenamed(Event, frozen=True):
    """Valid while a repository of that id is there, and the new name is free."""

    type: ClassVar[str] = "repository-renamed"

    id: str
    to: str


class RepositoryDeleted(Event, frozen=True):
    """Valid while a repository of that id is there; its name is free from then on."""

    type: ClassVar[str] = "repository-deleted"

    id: str
