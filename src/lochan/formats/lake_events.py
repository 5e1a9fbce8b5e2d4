"""Events of the lake's own journal: its repositories, and who may do what. On somebody's disk.

A policy is attached to a principal, written `user/NAME`, so that other kinds of principals need no new event.
"""

from typing import ClassVar

import msgspec

from lochan.formats.events import Event
from lochan.formats.pool_settings import PoolSettings


class RepositoryCreated(Event, frozen=True):
    """Valid while the name is free. The repository's own journal was opened before."""

    type: ClassVar[str] = "repository-created"

    id: str
    name: str
    kind: str  # files | pool
    default_branch: str
    metadata: dict[str, str] = msgspec.field(default_factory=dict)
    pool: PoolSettings | None = None  # of a pool


class RepositoryRenamed(Event, frozen=True):
    """Valid while the repository exists and the new name is free."""

    type: ClassVar[str] = "repository-renamed"

    id: str
    to: str


class RepositoryDeleted(Event, frozen=True):
    """Valid while the repository exists, and was not restored since it was closed. Its name is free from then on.
    Version 2: the repository's own journal was closed before, and it can be restored. Version 1 left nothing behind."""

    type: ClassVar[str] = "repository-deleted"
    version: ClassVar[int] = 2

    id: str
    closed: int = 0  # the record of its own journal that closed it; 0: that journal could not be read
    undo_days: float = 30  # how long it can be restored


class RepositoryRestored(Event, frozen=True):
    """Brings a deleted repository back under a name that is free. Valid until it has expired. Its own journal is
    reopened after it, by whoever comes first."""

    type: ClassVar[str] = "repository-restored"

    id: str
    name: str
    closed: int = 0  # the record of its own journal that is undone


class RepositoryFound(Event, frozen=True):
    """A repository on the store that the lake's state does not know counts as deleted: it was deleted by an older
    version, or its creator was killed before it got a name. From then on it can get no name but by being restored."""

    type: ClassVar[str] = "repository-found"

    id: str
    name: str  # empty: it never had one
    kind: str
    default_branch: str
    metadata: dict[str, str] = msgspec.field(default_factory=dict)
    pool: PoolSettings | None = None
    created: int = 0  # microseconds since 1970
    created_by: str = ""
    undo_days: float = 30


class RepositoryExpired(Event, frozen=True):
    """A deleted repository can no longer be restored. Its files are dead from then on."""

    type: ClassVar[str] = "repository-expired"

    id: str
    list: str  # the file with the list of its files


class RepositoryErased(Event, frozen=True):
    """The files of an expired repository are deleted, except its journal and its lists."""

    type: ClassVar[str] = "repository-erased"

    id: str
    files: int
    bytes: int


class UpkeepStarted(Event, frozen=True):
    """A task of upkeep begins. Others who find it due leave it alone for a while; nothing else depends on it."""

    type: ClassVar[str] = "upkeep-started"

    task: str


class Statement(msgspec.Struct, frozen=True, array_like=True):
    """Fields are only ever added at the end, and only if an older reader may ignore them: anything that narrows an
    `allow` takes a new version of the event."""

    effect: str  # allow | deny
    actions: tuple[str, ...]  # with * and ?
    resources: tuple[str, ...]


class AdminCreated(Event, frozen=True):
    """The first user, with all rights and a key. Valid only while there is no user at all."""

    type: ClassVar[str] = "admin-created"

    user: str
    policy: str
    key: str  # the access key's id
    sealed: bytes  # its secret, encrypted


class UserCreated(Event, frozen=True):
    """Valid while the name is free."""

    type: ClassVar[str] = "user-created"

    name: str


class UserDeleted(Event, frozen=True):
    """Deletes the user's keys and attachments too. Not valid for the last administrator."""

    type: ClassVar[str] = "user-deleted"

    name: str


class KeyCreated(Event, frozen=True):
    """Valid while the user exists and no key has that id."""

    type: ClassVar[str] = "key-created"

    user: str
    id: str
    sealed: bytes  # the secret, encrypted


class KeyRevoked(Event, frozen=True):
    type: ClassVar[str] = "key-revoked"

    id: str


class PolicyPut(Event, frozen=True):
    """Creates or replaces the policy of that name. Not valid for built-in policies."""

    type: ClassVar[str] = "policy-put"

    name: str
    statements: tuple[Statement, ...]


class PolicyDeleted(Event, frozen=True):
    """Valid while it is attached to nobody."""

    type: ClassVar[str] = "policy-deleted"

    name: str


class PolicyAttached(Event, frozen=True):
    type: ClassVar[str] = "policy-attached"

    policy: str
    principal: str


class PolicyDetached(Event, frozen=True):
    """Not valid if it would remove the last administrator's rights."""

    type: ClassVar[str] = "policy-detached"

    policy: str
    principal: str
