"""Events of the lake's own journal: its repositories, and who may do what. Stored on disk.

A policy is attached to a principal, written `user/NAME` or `group/NAME`.
"""

from typing import ClassVar

import msgspec

from lochan.formats.events import Event
from lochan.formats.pool_settings import PoolSettings


class RepositoryCreated(Event, frozen=True):
    """Creates a repository, whose own journal was opened before. Valid while the name is free."""

    type: ClassVar[str] = "repository-created"

    id: str
    name: str
    kind: str  # files or pool
    default_branch: str
    metadata: dict[str, str] = msgspec.field(default_factory=dict)
    pool: PoolSettings | None = None  # the settings of a pool
    storage: str = ""  # the URL of the repository's own storage; empty if its files lie in the lake
    credentials: str = ""  # what opens that storage: a name in the configuration, never the credentials themselves


class RepositoryMoved(Event, frozen=True):
    """The repository's files are in another storage from now on. The program that moves them writes this event once
    they are all there, and no other process has the lake open meanwhile. Valid while the repository is known."""

    type: ClassVar[str] = "repository-moved"

    id: str
    storage: str = ""  # the URL of the new storage; empty if the files are moved into the lake
    credentials: str = ""


class RepositoryRenamed(Event, frozen=True):
    """Renames a repository. Valid while it exists and the new name is free."""

    type: ClassVar[str] = "repository-renamed"

    id: str
    to: str


class RepositoryDescribed(Event, frozen=True):
    """Changes some of a repository's metadata; the other names stay. Valid while the repository exists."""

    type: ClassVar[str] = "repository-described"

    id: str
    set: dict[str, str] = msgspec.field(default_factory=dict)
    removed: tuple[str, ...] = ()


class RepositoryDeleted(Event, frozen=True):
    """Deletes a repository and frees its name. Valid while it exists and was not restored since it was closed. Version
    2: its own journal was closed before, and it can be restored. Version 1 left nothing behind."""

    type: ClassVar[str] = "repository-deleted"
    version: ClassVar[int] = 2

    id: str
    closed: int = 0  # the record of its own journal that closed it; 0 if that journal could not be read
    undo_days: float = 30  # for how long it can be restored


class RepositoryRestored(Event, frozen=True):
    """Brings a deleted repository back under a name that is free. Valid until it has expired. Its own journal is
    reopened afterwards, by the first process that needs it."""

    type: ClassVar[str] = "repository-restored"

    id: str
    name: str
    closed: int = 0  # the record of its own journal that is undone


class RepositoryFound(Event, frozen=True):
    """A repository on the store that the lake's state does not know counts as deleted: an older version deleted it, or
    its creator was killed before it got a name. From then on it can get a name only by being restored."""

    type: ClassVar[str] = "repository-found"

    id: str
    name: str  # empty if it never had a name
    kind: str
    default_branch: str
    metadata: dict[str, str] = msgspec.field(default_factory=dict)
    pool: PoolSettings | None = None
    created: int = 0  # microseconds since 1970
    created_by: str = ""
    undo_days: float = 30


class RepositoryExpired(Event, frozen=True):
    """A deleted repository can no longer be restored: its files are dead from now on."""

    type: ClassVar[str] = "repository-expired"

    id: str
    list: str  # the file with the list of its files


class RepositoryErased(Event, frozen=True):
    """The files of an expired repository are deleted, except for its journal and its lists."""

    type: ClassVar[str] = "repository-erased"

    id: str
    files: int
    bytes: int


class UpkeepStarted(Event, frozen=True):
    """A task of upkeep begins. Other processes that find it due leave it alone for a while; nothing else depends on
    it."""

    type: ClassVar[str] = "upkeep-started"

    task: str


class QuerySaved(Event, frozen=True):
    """A user saves a query under a name. It replaces the user's earlier query of that name."""

    type: ClassVar[str] = "query-saved"

    user: str
    name: str
    text: str


class QueryDeleted(Event, frozen=True):
    """Deletes a saved query. Valid while the user has a query of that name."""

    type: ClassVar[str] = "query-deleted"

    user: str
    name: str


class EventFilter(msgspec.Struct, frozen=True, array_like=True):
    """Which events a subscription is about: an event must match all that is given. Patterns have * and ?. Fields are
    only ever added with a new version of the event."""

    repository: str = ""  # the id of a repository, or `_lake`; empty for the lake and all of its repositories
    branches: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    prefix: str = ""  # a prefix of a path that the event names


class SubscriptionCreated(Event, frozen=True):
    """Events are sent to a URL from now on. Valid while the id is free and its owner does not have too many
    subscriptions."""

    type: ClassVar[str] = "subscription-created"

    id: str
    url: str
    owner: str  # the user whose rights decide what is sent; empty for a program that opens the store itself
    sealed: bytes  # the secret that signs what is sent, encrypted
    start: str  # the position after which it begins
    filter: EventFilter = EventFilter()
    note: str = ""


class SubscriptionDeleted(Event, frozen=True):
    """Deletes a subscription. Valid while it exists."""

    type: ClassVar[str] = "subscription-deleted"

    id: str


class RedeliveryRequested(Event, frozen=True):
    """The marked dead letters of a subscription are to be sent again. Valid while the subscription exists."""

    type: ClassVar[str] = "redelivery-requested"

    id: str
    letters: int  # the number of dead letters


class StatementConditions(msgspec.Struct, frozen=True, array_like=True):
    """When a statement applies: all that is given must hold. Fields are only ever added with a new version of the
    event."""

    addresses: tuple[str, ...] = ()  # networks; the request must come from one of them
    after: int = 0  # microseconds since 1970; 0 for no beginning
    before: int = 0  # microseconds since 1970; 0 for no end
    hours: tuple[int, int] | None = None  # of each day, in minutes of UTC: from the first up to, but without the second


class DamagedFile(msgspec.Struct, frozen=True, array_like=True):
    """A damaged file. Fields are only ever added at the end."""

    kind: str  # the kind, as fsck calls it
    address: str
    path: str  # the path of an object that needs the file
    detail: str = ""


class DamageFound(Event, frozen=True):
    """A scrub has found files whose bytes are wrong or gone. Without files, the damage that it had found before is
    repaired. Nothing depends on this event: it is for people, and for programs that watch the lake."""

    type: ClassVar[str] = "damage-found"

    repository: str  # the repository's id
    files: tuple[DamagedFile, ...] = ()  # the files that were found now, at most 100
    found: int = 0  # the number of files that were found now
    damaged: int = 0  # the number of damaged files, as far as is known


class Statement(msgspec.Struct, frozen=True, array_like=True):
    """A statement of a policy. Fields are only ever added at the end, and only if an older reader may ignore them:
    anything that narrows an `allow` takes a new version of the event."""

    effect: str  # allow or deny
    actions: tuple[str, ...]  # patterns of actions, with * and ?
    resources: tuple[str, ...]
    conditions: StatementConditions | None = None


class AdminCreated(Event, frozen=True):
    """Creates the first user, with all rights and a key. Valid only while there is no user at all."""

    type: ClassVar[str] = "admin-created"

    user: str
    policy: str
    key: str  # the id of the access key
    sealed: bytes  # the key's secret, encrypted


class UserCreated(Event, frozen=True):
    """Creates a user. Valid while the name is free."""

    type: ClassVar[str] = "user-created"

    name: str


class UserDeleted(Event, frozen=True):
    """Deletes a user with their keys and attachments. Not valid for the last administrator."""

    type: ClassVar[str] = "user-deleted"

    name: str


class UserDisabled(Event, frozen=True):
    """Disables a user, or enables them again. While a user is disabled, none of their keys is accepted. Not valid for
    the last administrator."""

    type: ClassVar[str] = "user-disabled"

    name: str
    on: bool


class IdentityLinked(Event, frozen=True):
    """People who sign in with this identity at another service are this user from now on. Valid while the user exists
    and the identity is not linked."""

    type: ClassVar[str] = "identity-linked"

    source: str  # the service, such as `oidc https://accounts.example.com`
    subject: str  # the service's permanent id of the person, because a name may be given to another person
    user: str


class IdentityUnlinked(Event, frozen=True):
    """Unlinks an identity. The user stays. Valid while it is linked."""

    type: ClassVar[str] = "identity-unlinked"

    source: str
    subject: str


class SessionOpened(Event, frozen=True):
    """A user has signed in, and a token acts as this user until the session ends. Valid while the user may sign in and
    the key is theirs."""

    type: ClassVar[str] = "session-opened"

    id: str
    digest: bytes  # the SHA-256 of the token's secret
    user: str
    how: str  # key, oidc or ldap
    expires: int  # microseconds since 1970
    key: str = ""  # the access key that it acts with; empty if it acts as the user
    source: str = ""  # the service that identified the user, as in `identity-linked`
    address: str = ""  # where the request came from, without the port


class SessionEnded(Event, frozen=True):
    """Ends a session. Valid while it exists."""

    type: ClassVar[str] = "session-ended"

    id: str


class GroupCreated(Event, frozen=True):
    """Creates a group. Valid while no group has the name."""

    type: ClassVar[str] = "group-created"

    name: str


class GroupDeleted(Event, frozen=True):
    """Deletes a group with its attachments. Not valid if it would leave no administrator."""

    type: ClassVar[str] = "group-deleted"

    name: str


class MemberAdded(Event, frozen=True):
    type: ClassVar[str] = "member-added"

    group: str
    user: str


class MemberRemoved(Event, frozen=True):
    """Removes a user from a group. Not valid if it would leave no administrator."""

    type: ClassVar[str] = "member-removed"

    group: str
    user: str


class KeyCreated(Event, frozen=True):
    """Creates an access key. Valid while the user exists and no key has that id. Version 2: the key has limits or an
    expiry."""

    type: ClassVar[str] = "key-created"
    version: ClassVar[int] = 2

    user: str
    id: str
    sealed: bytes  # the secret, encrypted
    limits: tuple[str, ...] = ()  # patterns of resources; the key allows nothing outside them. Empty for no limits
    expires: int = 0  # microseconds since 1970; 0 for never

    @property
    def written_version(self) -> int:
        return 2 if self.limits or self.expires else 1


class KeyExpirySet(Event, frozen=True):
    """Sets when a key expires. Valid while the key exists."""

    type: ClassVar[str] = "key-expiry-set"

    id: str
    expires: int  # microseconds since 1970


class KeyRevoked(Event, frozen=True):
    type: ClassVar[str] = "key-revoked"

    id: str


class PolicyPut(Event, frozen=True):
    """Creates or replaces the policy of that name. Not valid for built-in policies. Version 2: some of its statements
    have conditions."""

    type: ClassVar[str] = "policy-put"
    version: ClassVar[int] = 2

    name: str
    statements: tuple[Statement, ...]

    @property
    def written_version(self) -> int:
        return 2 if any(each.conditions for each in self.statements) else 1


class PolicyDeleted(Event, frozen=True):
    """Deletes a policy. Valid while it is not attached to any user or group."""

    type: ClassVar[str] = "policy-deleted"

    name: str


class PolicyAttached(Event, frozen=True):
    type: ClassVar[str] = "policy-attached"

    policy: str
    principal: str


class PolicyDetached(Event, frozen=True):
    """Detaches a policy. Not valid if it would remove the last administrator's rights."""

    type: ClassVar[str] = "policy-detached"

    policy: str
    principal: str
