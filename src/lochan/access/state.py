"""Users, groups, access keys, policies and their attachments: a part of the lake journal's state.

`fold.py` has what each event does to it. The writers of events (`users.py`, `policy.py`) check that names and
statements are well-formed; an action that this Lochan does not know matches nothing."""

from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec

from lochan.access.policy import ADMIN, BUILT_IN
from lochan.errors import NotFound
from lochan.formats.events import Event
from lochan.formats.lake_events import (
    AdminCreated,
    GroupCreated,
    GroupDeleted,
    IdentityLinked,
    IdentityUnlinked,
    KeyCreated,
    KeyExpirySet,
    KeyRevoked,
    MemberAdded,
    MemberRemoved,
    PolicyAttached,
    PolicyDeleted,
    PolicyDetached,
    PolicyPut,
    SessionEnded,
    SessionOpened,
    Statement,
    UserCreated,
    UserDeleted,
    UserDisabled,
)
from lochan.journal.state import EventPosition, StatePart
from lochan.journal.table import FoldTable

if TYPE_CHECKING:  # every command folds the access state, but few check rights
    from lochan.access.requester import Requester
    from lochan.access.rights import Rights

USER, GROUP = "user/", "group/"
ACCESS_2 = "access-2"  # in checkpoints: groups, disabled users, conditions, keys with limits or an end
ACCESS_3 = "access-3"  # identities of other services, sessions
_RIGHTS_MAX = 10_000


class User(msgspec.Struct, frozen=True, array_like=True):
    """A user. This and the structs below are stored in checkpoints: fields may only be added at the end."""

    name: str
    created: int  # microseconds since 1970
    created_by: str
    disabled: bool = False


class UserGroup(msgspec.Struct, frozen=True, array_like=True):
    name: str
    created: int
    created_by: str
    members: tuple[str, ...] = ()


class AccessKey(msgspec.Struct, frozen=True, array_like=True):
    id: str
    user: str
    sealed: bytes  # the secret, encrypted
    created: int
    created_by: str
    limits: tuple[str, ...] = ()  # patterns of resources; none: it allows what its user may
    expires: int = 0  # microseconds since 1970; 0: never

    def has_expired(self, now: int) -> bool:
        return self.expires != 0 and now >= self.expires


class LinkedIdentity(msgspec.Struct, frozen=True, array_like=True):
    """An identity of another service, and the user that it is linked to."""

    source: str
    subject: str
    user: str
    linked: int  # microseconds since 1970
    linked_by: str


class LoginSession(msgspec.Struct, frozen=True, array_like=True):
    id: str
    digest: bytes  # SHA-256 of the token's secret
    user: str
    how: str  # key | oidc | ldap
    begun: int  # microseconds since 1970, as all times
    expires: int
    key: str = ""  # the access key that it acts with; empty: it acts as the user
    source: str = ""  # the service that identified the user
    address: str = ""


class AccessPolicy(msgspec.Struct, frozen=True, array_like=True):
    name: str
    statements: tuple[Statement, ...]
    changed: int = 0  # microseconds since 1970; 0 for those that every lake has
    changed_by: str = ""

    @property
    def built_in(self) -> bool:
        return self.name in BUILT_IN


class AccessState(StatePart):
    name: ClassVar[str] = "access"
    events: ClassVar[tuple[type[Event], ...]] = (
        AdminCreated,
        UserCreated,
        UserDeleted,
        KeyCreated,
        KeyRevoked,
        PolicyPut,
        PolicyDeleted,
        PolicyAttached,
        PolicyDetached,
        UserDisabled,
        GroupCreated,
        GroupDeleted,
        MemberAdded,
        MemberRemoved,
        KeyExpirySet,
        IdentityLinked,
        IdentityUnlinked,
        SessionOpened,
        SessionEnded,
    )
    features: ClassVar[tuple[str, ...]] = (ACCESS_2, ACCESS_3)

    def __init__(self, parent: "AccessState | None" = None) -> None:
        self._parent = parent
        self.user_table: FoldTable[str, User] = parent.user_table.fork() if parent else FoldTable()
        self.key_table: FoldTable[str, AccessKey] = parent.key_table.fork() if parent else FoldTable()
        self.policy_table: FoldTable[str, AccessPolicy] = (
            parent.policy_table.fork() if parent else FoldTable()
        )  # without the built-in ones
        self.attached_table: FoldTable[str, tuple[str, ...]] = (
            parent.attached_table.fork() if parent else FoldTable()
        )  # by principal
        self.group_table: FoldTable[str, UserGroup] = parent.group_table.fork() if parent else FoldTable()
        self.identity_table: FoldTable[tuple[str, str], LinkedIdentity] = (
            parent.identity_table.fork() if parent else FoldTable()
        )  # by source and subject
        self.session_table: FoldTable[str, LoginSession] = parent.session_table.fork() if parent else FoldTable()
        # What was computed since the last change: for each user, with the limits of a key, and which conditions held.
        self._rights: dict[tuple[object, ...], Rights] = {}
        self._statements: dict[str, list[AccessPolicy]] = {}
        self._lasting: dict[str, Rights | None] = {}  # by the id of the access key

    def users(self) -> list[User]:
        return sorted((user for _, user in self.user_table.items()), key=lambda user: user.name)

    def find_user(self, name: str) -> User | None:
        return self.user_table.get(name)

    def user(self, name: str) -> User:
        found = self.user_table.get(name)
        if found is None:
            hint = "`lochan auth users list` shows those there are"
            raise NotFound(f"no user {name!r} in this lake", hint=hint).named(
                name, lambda: (u.name for u in self.users())
            )
        return found

    def key(self, id: str) -> AccessKey | None:
        return self.key_table.get(id)

    def need_key(self, id: str) -> AccessKey:
        found = self.key_table.get(id)
        if found is None:
            hint = "`lochan auth keys list USER` shows a user's keys"
            raise NotFound(f"no access key {id!r} in this lake", hint=hint).named(
                id, lambda: (k.id for k in self.keys())
            )
        return found

    def keys(self) -> list[AccessKey]:
        return sorted((key for _, key in self.key_table.items()), key=lambda key: key.id)

    def keys_of(self, user: str) -> list[AccessKey]:
        """Returns the user's keys, the oldest first."""
        return sorted(
            (key for _, key in self.key_table.items() if key.user == user), key=lambda key: (key.created, key.id)
        )

    def policies(self) -> list[AccessPolicy]:
        """Returns the built-in policies, then the others, each sorted by name."""
        own = sorted((policy for _, policy in self.policy_table.items()), key=lambda policy: policy.name)
        return [*(AccessPolicy(name, BUILT_IN[name]) for name in sorted(BUILT_IN)), *own]

    def policy(self, name: str) -> AccessPolicy:
        found = AccessPolicy(name, BUILT_IN[name]) if name in BUILT_IN else self.policy_table.get(name)
        if found is None:
            hint = "`lochan auth policies list` shows those there are"
            names = lambda: (policy.name for policy in self.policies())  # noqa: E731
            raise NotFound(f"no policy {name!r} in this lake", hint=hint).named(name, names)
        return found

    def policies_of(self, principal: str) -> list[AccessPolicy]:
        return [self.policy(name) for name in self.attached_to(principal)]

    def attached_to(self, principal: str) -> tuple[str, ...]:
        """Returns the names of the principal's policies, in the order in which they were attached."""
        return self.attached_table.get(principal) or ()

    def holders(self, policy: str) -> list[str]:
        """Returns the principals that have the policy."""
        return sorted(principal for principal, names in self.attached_table.items() if policy in names)

    def groups(self) -> list[UserGroup]:
        return sorted((group for _, group in self.group_table.items()), key=lambda group: group.name)

    def group(self, name: str) -> UserGroup:
        found = self.group_table.get(name)
        if found is None:
            hint = "`lochan auth groups list` shows those there are"
            raise NotFound(f"no group {name!r} in this lake", hint=hint).named(
                name, lambda: (g.name for g in self.groups())
            )
        return found

    def groups_of(self, user: str) -> list[str]:
        return [group.name for group in self.groups() if user in group.members]

    def identities(self) -> list[LinkedIdentity]:
        """Returns the linked identities, in the order of their users' names."""
        return sorted(
            (each for _, each in self.identity_table.items()), key=lambda each: (each.user, each.source, each.subject)
        )

    def identity(self, source: str, subject: str) -> LinkedIdentity | None:
        return self.identity_table.get((source, subject))

    def need_identity(self, source: str, subject: str) -> LinkedIdentity:
        found = self.identity(source, subject)
        if found is None:
            hint = "`lochan auth identities list` shows those there are"
            raise NotFound(f"the identity {subject!r} of {source!r} is nobody's in this lake", hint=hint)
        return found

    def sessions(self) -> list[LoginSession]:
        """Returns the sessions, the oldest first. Expired ones are among them until the next one is opened."""
        return sorted((each for _, each in self.session_table.items()), key=lambda each: (each.begun, each.id))

    def open_session(self, id: str, now: int) -> LoginSession | None:
        """Returns the session, or None if it has ended in any way."""
        found = self.session_table.get(id)
        if found is None or now >= found.expires:
            return None
        if found.key:
            key = self.active_key(found.key, now)
            return None if key is None or key.user != found.user else found
        user = self.user_table.get(found.user)
        return None if user is None or user.disabled else found

    def all_policies_of(self, user: str) -> list[AccessPolicy]:
        """Returns the user's own policies, then those of the user's groups, each once. A user who is disabled or
        unknown has none."""
        found = self._statements.get(user)
        if found is None:
            known = self.user_table.get(user)
            holders = [] if known is None or known.disabled else [principal(user), *self._group_principals(user)]
            names = dict.fromkeys(name for holder in holders for name in self.attached_to(holder))
            found = self._statements[user] = [self.policy(name) for name in names]
        return found

    def _group_principals(self, user: str) -> list[str]:
        return [f"{GROUP}{name}" for name in self.groups_of(user)]

    def administrators(self) -> set[str]:
        """Returns the users who have the policy Admin, by themselves or by a group, and are not disabled."""
        users = (name for name, user in self.user_table.items() if not user.disabled)
        return {name for name in users if any(each.name == ADMIN for each in self.all_policies_of(name))}

    def active_key(self, id: str, now: int) -> AccessKey | None:
        """Returns the key, or None if it has expired or its user is disabled."""
        found = self.key_table.get(id)
        if found is None or found.has_expired(now):
            return None
        user = self.user_table.get(found.user)
        return None if user is None or user.disabled else found

    def rights(self, user: str) -> "Rights":
        """Returns what the user's policies allow when no condition is known to hold. An unknown user has no rights."""
        from lochan.access.requester import Requester

        return self.rights_of(Requester(user, ""), 0)

    def rights_of(self, requester: "Requester", now: int) -> "Rights":
        """Returns what this request may do at this moment (microseconds since 1970). REQUIRES: it is used for this
        request alone. The same object is returned for as long as the rights are the same."""
        from lochan.access.conditions import evaluate_conditions
        from lochan.access.rights import NOTHING, Rights

        limits = requester.limits
        if requester.key:
            key = self.active_key(requester.key, now)
            if key is None or key.user != requester.user:
                return NOTHING
            limits = (key.limits, *limits) if key.limits else limits
        policies = self.all_policies_of(requester.user)
        if not policies:
            return NOTHING
        which = evaluate_conditions(policies, requester.address, now)
        found = self._rights.get((requester.user, limits, which))
        if found is None:
            if len(self._rights) >= _RIGHTS_MAX:
                self._rights.clear()
            found = self._rights[requester.user, limits, which] = Rights(policies, which, limits)
        return found

    def lasting_rights(self, key: AccessKey) -> "Rights | None":
        """Returns what this key may do for as long as the state of the lake is the same and the key has not expired.
        Returns None if that depends on the time or the address of a request. REQUIRES: the state has exactly this
        key."""
        if key.id not in self._lasting:
            self._lasting[key.id] = self._work_out_lasting(key)
        return self._lasting[key.id]

    def _work_out_lasting(self, key: AccessKey) -> "Rights | None":
        from lochan.access.requester import Requester

        if any(each.conditions for policy in self.all_policies_of(key.user) for each in policy.statements):
            return None
        return self.rights_of(Requester(key.user, key.id), 0)

    def is_empty(self) -> bool:
        return next(self.user_table.items(), None) is None

    def apply(self, event: Any, at: EventPosition) -> Any:
        from lochan.access.fold import HANDLERS, check_administrators

        check_administrators(self, event, at)
        result = HANDLERS[type(event)](self, event, at)
        self.forget()
        return result

    def forget(self) -> None:
        """Drops what was computed from a state that has changed."""
        self._rights.clear()
        self._statements.clear()
        self._lasting.clear()

    def fork(self) -> Self:
        return type(self)(self)

    def join(self) -> None:
        tables = self.user_table, self.key_table, self.policy_table, self.attached_table, self.group_table
        for table in (*tables, self.identity_table, self.session_table):
            table.join()
        if self._parent is not None:
            self._parent.forget()

    def needs(self) -> tuple[str, ...]:
        narrow = (
            next(self.group_table.items(), None) is not None
            or any(user.disabled for _, user in self.user_table.items())
            or any(key.limits or key.expires for _, key in self.key_table.items())
            or any(each.conditions for _, policy in self.policy_table.items() for each in policy.statements)
        )
        signs_in = any(next(table.items(), None) is not None for table in (self.identity_table, self.session_table))
        return (*((ACCESS_2,) if narrow else ()), *((ACCESS_3,) if signs_in else ()))

    def dump(self) -> object:
        own = [policy for policy in self.policies() if not policy.built_in]
        attached = dict(sorted(self.attached_table.items()))
        return _Dump(self.users(), self.keys(), own, attached, self.groups(), self.identities(), self.sessions())

    def load(self, dumped: msgspec.Raw) -> None:
        read = _decoder.decode(dumped)
        for user in read.users:
            self.user_table.put(user.name, user)
        for key in read.keys:
            self.key_table.put(key.id, key)
        for policy in read.policies:
            self.policy_table.put(policy.name, policy)
        for holder, names in read.attached.items():
            self.attached_table.put(holder, names)
        for group in read.groups:
            self.group_table.put(group.name, group)
        for identity in read.identities:
            self.identity_table.put((identity.source, identity.subject), identity)
        for session in read.sessions:
            self.session_table.put(session.id, session)


def principal(user: str) -> str:
    return USER + user


class _Dump(msgspec.Struct, array_like=True):
    users: list[User]
    keys: list[AccessKey]
    policies: list[AccessPolicy]
    attached: dict[str, tuple[str, ...]]
    groups: list[UserGroup] = []
    identities: list[LinkedIdentity] = []
    sessions: list[LoginSession] = []


_decoder = msgspec.msgpack.Decoder(_Dump)
