"""Users, access keys, policies and who has them: a part of the lake journal's state.

An event is checked here against the state it is added to. Whether names and statements are well made was checked by
whoever wrote it (`names.py`, `policy.py`); an action that this Lochan does not know fits nothing.
"""

from shlex import quote
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec

from lochan.access.policy import ADMIN, BUILT_IN
from lochan.errors import AlreadyExists, NotFound, Refused
from lochan.formats.events import Event
from lochan.formats.lake_events import (
    AdminCreated,
    KeyCreated,
    KeyRevoked,
    PolicyAttached,
    PolicyDeleted,
    PolicyDetached,
    PolicyPut,
    Statement,
    UserCreated,
    UserDeleted,
)
from lochan.journal.state import EventPosition, StatePart
from lochan.journal.table import FoldTable

if TYPE_CHECKING:  # every command folds who has access, and few ask
    from lochan.access.rights import Rights

_USER = "user/"


class User(msgspec.Struct, frozen=True, array_like=True):
    """On somebody's disk, in checkpoints, as is all below: fields are only ever added at the end."""

    name: str
    created: int  # microseconds since 1970
    created_by: str


class AccessKey(msgspec.Struct, frozen=True, array_like=True):
    id: str
    user: str
    sealed: bytes  # the secret, encrypted
    created: int
    created_by: str


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
    )

    def __init__(self, parent: "AccessState | None" = None) -> None:
        self._parent = parent
        self._users: FoldTable[str, User] = parent._users.fork() if parent else FoldTable()
        self._keys: FoldTable[str, AccessKey] = parent._keys.fork() if parent else FoldTable()
        self._policies: FoldTable[str, AccessPolicy] = (
            parent._policies.fork() if parent else FoldTable()
        )  # without the built-in ones
        self._attached: FoldTable[str, tuple[str, ...]] = (
            parent._attached.fork() if parent else FoldTable()
        )  # by principal
        self._rights: dict[str, Rights] = {}  # what was worked out for each user since the last change

    def users(self) -> list[User]:
        return sorted((user for _, user in self._users.items()), key=lambda user: user.name)

    def find_user(self, name: str) -> User | None:
        return self._users.get(name)

    def user(self, name: str) -> User:
        found = self._users.get(name)
        if found is None:
            hint = "`lochan auth users list` shows those there are"
            raise NotFound(f"no user {name!r} in this lake", hint=hint).named(
                name, lambda: (u.name for u in self.users())
            )
        return found

    def key(self, id: str) -> AccessKey | None:
        return self._keys.get(id)

    def need_key(self, id: str) -> AccessKey:
        found = self._keys.get(id)
        if found is None:
            hint = "`lochan auth keys list USER` shows a user's keys"
            raise NotFound(f"no access key {id!r} in this lake", hint=hint).named(
                id, lambda: (k.id for k in self.keys())
            )
        return found

    def keys(self) -> list[AccessKey]:
        return sorted((key for _, key in self._keys.items()), key=lambda key: key.id)

    def keys_of(self, user: str) -> list[AccessKey]:
        """The oldest first."""
        return sorted((key for _, key in self._keys.items() if key.user == user), key=lambda key: (key.created, key.id))

    def policies(self) -> list[AccessPolicy]:
        """The built-in ones first; both sorted by name."""
        own = sorted((policy for _, policy in self._policies.items()), key=lambda policy: policy.name)
        return [*(AccessPolicy(name, BUILT_IN[name]) for name in sorted(BUILT_IN)), *own]

    def policy(self, name: str) -> AccessPolicy:
        found = AccessPolicy(name, BUILT_IN[name]) if name in BUILT_IN else self._policies.get(name)
        if found is None:
            hint = "`lochan auth policies list` shows those there are"
            names = lambda: (policy.name for policy in self.policies())  # noqa: E731
            raise NotFound(f"no policy {name!r} in this lake", hint=hint).named(name, names)
        return found

    def policies_of(self, principal: str) -> list[AccessPolicy]:
        return [self.policy(name) for name in self.attached_to(principal)]

    def attached_to(self, principal: str) -> tuple[str, ...]:
        """The names of its policies, in the order in which they were attached."""
        return self._attached.get(principal) or ()

    def holders(self, policy: str) -> list[str]:
        """The principals that have it."""
        return sorted(principal for principal, names in self._attached.items() if policy in names)

    def rights(self, user: str) -> "Rights":
        """None for an unknown user."""
        return self._rights.get(user) or self._work_out(user)

    def is_empty(self) -> bool:
        return next(self._users.items(), None) is None

    def apply(self, event: Any, at: EventPosition) -> Any:
        result = self._apply(event, at)
        self._rights.clear()
        return result

    def _apply(self, event: Any, at: EventPosition) -> Any:
        match event:
            case AdminCreated():
                return self._admin_created(event, at)
            case UserCreated():
                return self._user_created(event, at)
            case UserDeleted():
                return self._user_deleted(event)
            case KeyCreated():
                return self._key_created(event, at)
            case KeyRevoked():
                return self._key_revoked(event)
            case PolicyPut():
                return self._policy_put(event, at)
            case PolicyDeleted():
                return self._policy_deleted(event)
            case PolicyAttached():
                return self._policy_attached(event)
            case _:
                return self._policy_detached(event)

    def _admin_created(self, event: AdminCreated, at: EventPosition) -> str:
        if not self.is_empty():
            raise AlreadyExists("there are users in this lake already", hint="`lochan auth users list` shows them")
        self.policy(event.policy)
        self._users.put(event.user, User(event.user, at.time, at.user))
        self._attached.put(principal(event.user), (event.policy,))
        self._keys.put(event.key, AccessKey(event.key, event.user, event.sealed, at.time, at.user))
        return event.key

    def _user_created(self, event: UserCreated, at: EventPosition) -> str:
        if event.name in self._users:
            raise AlreadyExists(f"there is a user {event.name!r} already", hint="take another name")
        self._users.put(event.name, User(event.name, at.time, at.user))
        return event.name

    def _user_deleted(self, event: UserDeleted) -> str:
        self.user(event.name)
        self._keep_an_admin(principal(event.name))
        for key in self.keys_of(event.name):
            self._keys.drop(key.id)
        self._attached.drop(principal(event.name))
        self._users.drop(event.name)
        return event.name

    def _key_created(self, event: KeyCreated, at: EventPosition) -> str:
        self.user(event.user)
        if event.id in self._keys:
            raise AlreadyExists(f"there is an access key {event.id!r} already", hint="take another id")
        self._keys.put(event.id, AccessKey(event.id, event.user, event.sealed, at.time, at.user))
        return event.id

    def _key_revoked(self, event: KeyRevoked) -> str:
        self.need_key(event.id)
        self._keys.drop(event.id)
        return event.id

    def _policy_put(self, event: PolicyPut, at: EventPosition) -> str:
        _own(event.name, "changed")
        self._policies.put(event.name, AccessPolicy(event.name, event.statements, at.time, at.user))
        return event.name

    def _policy_deleted(self, event: PolicyDeleted) -> str:
        _own(event.name, "deleted")
        self.policy(event.name)
        if holders := self.holders(event.name):
            others = f" and {len(holders) - 1} more" if len(holders) > 1 else ""
            raise Refused(
                f"policy {event.name!r} is attached to {holders[0]}{others}", hint="detach it first, or change it"
            )
        self._policies.drop(event.name)
        return event.name

    def _policy_attached(self, event: PolicyAttached) -> str:
        self._principal(event.principal)
        self.policy(event.policy)
        attached = self.attached_to(event.principal)
        if event.policy in attached:
            raise AlreadyExists(f"policy {event.policy!r} is attached to {event.principal} already")
        self._attached.put(event.principal, (*attached, event.policy))
        return event.policy

    def _policy_detached(self, event: PolicyDetached) -> str:
        self._principal(event.principal)
        attached = self.attached_to(event.principal)
        if event.policy not in attached:
            raise NotFound(
                f"policy {event.policy!r} is not attached to {event.principal}",
                hint=f"`lochan auth users show {quote(event.principal.removeprefix(_USER))}` tells which are",
            ).named(event.policy, lambda: attached)
        if event.policy == ADMIN:
            self._keep_an_admin(event.principal)
        if left := tuple(name for name in attached if name != event.policy):
            self._attached.put(event.principal, left)
        else:
            self._attached.drop(event.principal)
        return event.policy

    def _principal(self, text: str) -> None:
        """Raises NotFound. Only users so far."""
        if not text.startswith(_USER):
            raise NotFound(f"there is no {text!r} in this lake", hint="policies are attached to user/NAME")
        self.user(text.removeprefix(_USER))

    def _keep_an_admin(self, leaving: str) -> None:
        if self.holders(ADMIN) == [leaving]:
            raise Refused(
                f"{leaving} is the last one with the policy {ADMIN}: without it, nobody could grant access any more",
                hint=f"attach {ADMIN} to another user first",
            )

    def _work_out(self, user: str) -> "Rights":
        from lochan.access.rights import NOTHING, Rights

        if user not in self._users:
            return NOTHING
        rights = self._rights[user] = Rights(self.policies_of(principal(user)))
        return rights

    def fork(self) -> Self:
        return type(self)(self)

    def join(self) -> None:
        for table in (self._users, self._keys, self._policies, self._attached):
            table.join()
        if self._parent is not None:
            self._parent._rights.clear()

    def dump(self) -> object:
        own = [policy for policy in self.policies() if not policy.built_in]
        return _Dump(self.users(), self.keys(), own, dict(sorted(self._attached.items())))

    def load(self, dumped: msgspec.Raw) -> None:
        read = _decoder.decode(dumped)
        for user in read.users:
            self._users.put(user.name, user)
        for key in read.keys:
            self._keys.put(key.id, key)
        for policy in read.policies:
            self._policies.put(policy.name, policy)
        for holder, names in read.attached.items():
            self._attached.put(holder, names)


def principal(user: str) -> str:
    return _USER + user


def _own(policy: str, done: str) -> None:
    if policy in BUILT_IN:
        raise Refused(f"every lake has the policy {policy}: it cannot be {done}", hint="put one of another name")


class _Dump(msgspec.Struct, array_like=True):
    users: list[User]
    keys: list[AccessKey]
    policies: list[AccessPolicy]
    attached: dict[str, tuple[str, ...]]


_decoder = msgspec.msgpack.Decoder(_Dump)
