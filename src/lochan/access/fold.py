"""What events do to users, groups, access keys and policies. Each event is checked here against the state that it is
added to, before anything changes."""

from collections.abc import Callable
from shlex import quote
from typing import Any

import msgspec

from lochan.access.policy import ADMIN, BUILT_IN
from lochan.access.state import (
    GROUP,
    USER,
    AccessKey,
    AccessPolicy,
    AccessState,
    LinkedIdentity,
    LoginSession,
    User,
    UserGroup,
    principal,
)
from lochan.errors import AlreadyExists, NotFound, Refused
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
    UserCreated,
    UserDeleted,
    UserDisabled,
)
from lochan.journal.state import EventPosition

SESSIONS_MAX = 100  # of one user at once; a further one ends the oldest

_replace = msgspec.structs.replace


def check_administrators(access: AccessState, event: Any, at: EventPosition) -> None:
    """Raises Refused for an event that would leave no user who can grant access."""
    leaving = _LEAVING.get(type(event))
    if leaving is None or not access.administrators():
        return
    after = access.fork()
    HANDLERS[type(event)](after, event, at)
    if not after.administrators():
        raise Refused(
            f"{leaving(event)} is the last one with the policy {ADMIN}: without it, nobody could grant access any more",
            hint=f"attach {ADMIN} to another user first",
        )


_LEAVING: dict[type[Event], Callable[[Any], str]] = {
    UserDeleted: lambda event: principal(event.name),
    UserDisabled: lambda event: principal(event.name),
    PolicyDetached: lambda event: str(event.principal),
    GroupDeleted: lambda event: f"{GROUP}{event.name}",
    MemberRemoved: lambda event: principal(event.user),
}


# --- users and groups ------------------------------------------------------------------------------------------------
def _admin_created(access: AccessState, event: AdminCreated, at: EventPosition) -> str:
    if not access.is_empty():
        raise AlreadyExists("there are users in this lake already", hint="`lochan auth users list` shows them")
    access.policy(event.policy)
    access.user_table.put(event.user, User(event.user, at.time, at.user))
    access.attached_table.put(principal(event.user), (event.policy,))
    access.key_table.put(event.key, AccessKey(event.key, event.user, event.sealed, at.time, at.user))
    return event.key


def _user_created(access: AccessState, event: UserCreated, at: EventPosition) -> str:
    if event.name in access.user_table:
        raise AlreadyExists(f"there is a user {event.name!r} already", hint="take another name")
    access.user_table.put(event.name, User(event.name, at.time, at.user))
    return event.name


def _user_deleted(access: AccessState, event: UserDeleted, at: EventPosition) -> str:
    access.user(event.name)
    for key in access.keys_of(event.name):
        access.key_table.drop(key.id)
    for group in access.groups():
        if event.name in group.members:
            access.group_table.put(group.name, _without(group, event.name))
    for identity in access.identities():
        if identity.user == event.name:
            access.identity_table.drop((identity.source, identity.subject))
    _end_sessions(access, lambda session: session.user == event.name)
    access.attached_table.drop(principal(event.name))
    access.user_table.drop(event.name)
    return event.name


def _user_disabled(access: AccessState, event: UserDisabled, at: EventPosition) -> str:
    access.user_table.put(event.name, _replace(access.user(event.name), disabled=event.on))
    if event.on:  # enabled again, they sign in again
        _end_sessions(access, lambda session: session.user == event.name)
    return event.name


def _identity_linked(access: AccessState, event: IdentityLinked, at: EventPosition) -> str:
    access.user(event.user)
    known = access.identity(event.source, event.subject)
    if known is not None:
        raise AlreadyExists(
            f"the identity {event.subject!r} of {event.source!r} is user {known.user!r} already",
            hint=f"`lochan auth identities unlink {quote(known.user)} {quote(event.source)} {quote(event.subject)}` "
            "takes that back",
        )
    linked = LinkedIdentity(event.source, event.subject, event.user, at.time, at.user)
    access.identity_table.put((event.source, event.subject), linked)
    return event.user


def _identity_unlinked(access: AccessState, event: IdentityUnlinked, at: EventPosition) -> str:
    known = access.need_identity(event.source, event.subject)
    access.identity_table.drop((event.source, event.subject))
    _end_sessions(access, lambda session: (session.user, session.source) == (known.user, event.source))
    return known.user


def _group_created(access: AccessState, event: GroupCreated, at: EventPosition) -> str:
    if event.name in access.group_table:
        raise AlreadyExists(f"there is a group {event.name!r} already", hint="take another name")
    access.group_table.put(event.name, UserGroup(event.name, at.time, at.user))
    return event.name


def _group_deleted(access: AccessState, event: GroupDeleted, at: EventPosition) -> str:
    access.group(event.name)
    access.attached_table.drop(f"{GROUP}{event.name}")
    access.group_table.drop(event.name)
    return event.name


def _member_added(access: AccessState, event: MemberAdded, at: EventPosition) -> str:
    group = access.group(event.group)
    access.user(event.user)
    if event.user in group.members:
        raise AlreadyExists(f"user {event.user!r} is in group {event.group!r} already")
    access.group_table.put(group.name, _replace(group, members=(*group.members, event.user)))
    return event.user


def _member_removed(access: AccessState, event: MemberRemoved, at: EventPosition) -> str:
    group = access.group(event.group)
    if event.user not in group.members:
        hint = f"`lochan auth groups show {quote(event.group)}` tells who is"
        raise NotFound(f"user {event.user!r} is not in group {event.group!r}", hint=hint).named(
            event.user, lambda: group.members
        )
    access.group_table.put(group.name, _without(group, event.user))
    return event.user


def _without(group: UserGroup, user: str) -> UserGroup:
    return _replace(group, members=tuple(each for each in group.members if each != user))


# --- access keys -----------------------------------------------------------------------------------------------------
def _key_created(access: AccessState, event: KeyCreated, at: EventPosition) -> str:
    access.user(event.user)
    if event.id in access.key_table:
        raise AlreadyExists(f"there is an access key {event.id!r} already", hint="take another id")
    key = AccessKey(event.id, event.user, event.sealed, at.time, at.user, event.limits, event.expires)
    access.key_table.put(event.id, key)
    return event.id


def _key_revoked(access: AccessState, event: KeyRevoked, at: EventPosition) -> str:
    access.need_key(event.id)
    access.key_table.drop(event.id)
    _end_sessions(access, lambda session: session.key == event.id)
    return event.id


def _key_expiry_set(access: AccessState, event: KeyExpirySet, at: EventPosition) -> str:
    access.key_table.put(event.id, _replace(access.need_key(event.id), expires=event.expires))
    return event.id


# --- sessions --------------------------------------------------------------------------------------------------------
def _session_opened(access: AccessState, event: SessionOpened, at: EventPosition) -> str:
    if access.user(event.user).disabled:
        raise Refused(f"user {event.user!r} is disabled", hint="an administrator of this lake can enable it again")
    if event.key and access.need_key(event.key).user != event.user:
        raise Refused(f"access key {event.key!r} is not user {event.user!r}'s", hint="sign in again")
    if event.id in access.session_table:
        raise AlreadyExists(f"there is a session {event.id!r} already", hint="sign in again")
    _end_sessions(access, lambda session: session.expires <= at.time)
    of_user = [each for each in access.sessions() if each.user == event.user]
    for each in of_user[: len(of_user) - SESSIONS_MAX + 1] if len(of_user) >= SESSIONS_MAX else ():
        access.session_table.drop(each.id)
    session = LoginSession(
        event.id, event.digest, event.user, event.how, at.time, event.expires, event.key, event.source, event.address
    )
    access.session_table.put(event.id, session)
    return event.id


def _session_ended(access: AccessState, event: SessionEnded, at: EventPosition) -> str:
    found = access.session_table.get(event.id)
    if found is None:
        hint = "it has ended, or expired: `lochan auth sessions list` shows those that are open"
        raise NotFound(f"no session {event.id!r} in this lake", hint=hint)
    access.session_table.drop(event.id)
    return found.user


def _end_sessions(access: AccessState, ends: Callable[[LoginSession], bool]) -> None:
    for session in access.sessions():
        if ends(session):
            access.session_table.drop(session.id)


# --- policies --------------------------------------------------------------------------------------------------------
def _policy_put(access: AccessState, event: PolicyPut, at: EventPosition) -> str:
    _own(event.name, "changed")
    access.policy_table.put(event.name, AccessPolicy(event.name, event.statements, at.time, at.user))
    return event.name


def _policy_deleted(access: AccessState, event: PolicyDeleted, at: EventPosition) -> str:
    _own(event.name, "deleted")
    access.policy(event.name)
    if holders := access.holders(event.name):
        others = f" and {len(holders) - 1} more" if len(holders) > 1 else ""
        raise Refused(
            f"policy {event.name!r} is attached to {holders[0]}{others}", hint="detach it first, or change it"
        )
    access.policy_table.drop(event.name)
    return event.name


def _policy_attached(access: AccessState, event: PolicyAttached, at: EventPosition) -> str:
    _check_principal(access, event.principal)
    access.policy(event.policy)
    attached = access.attached_to(event.principal)
    if event.policy in attached:
        raise AlreadyExists(f"policy {event.policy!r} is attached to {event.principal} already")
    access.attached_table.put(event.principal, (*attached, event.policy))
    return event.policy


def _policy_detached(access: AccessState, event: PolicyDetached, at: EventPosition) -> str:
    _check_principal(access, event.principal)
    attached = access.attached_to(event.principal)
    if event.policy not in attached:
        raise NotFound(
            f"policy {event.policy!r} is not attached to {event.principal}", hint=_show_command(event.principal)
        ).named(event.policy, lambda: attached)
    if left := tuple(name for name in attached if name != event.policy):
        access.attached_table.put(event.principal, left)
    else:
        access.attached_table.drop(event.principal)
    return event.policy


def _show_command(holder: str) -> str:
    if holder.startswith(GROUP):
        return f"`lochan auth groups show {quote(holder.removeprefix(GROUP))}` tells which are"
    return f"`lochan auth users show {quote(holder.removeprefix(USER))}` tells which are"


def _check_principal(access: AccessState, text: str) -> None:
    """Raises NotFound if there is no such user or group."""
    if text.startswith(USER):
        access.user(text.removeprefix(USER))
    elif text.startswith(GROUP):
        access.group(text.removeprefix(GROUP))
    else:
        raise NotFound(f"there is no {text!r} in this lake", hint="policies are attached to user/NAME or group/NAME")


def _own(policy: str, done: str) -> None:
    if policy in BUILT_IN:
        raise Refused(f"every lake has the policy {policy}: it cannot be {done}", hint="put one of another name")


HANDLERS: dict[type[Event], Callable[[AccessState, Any, EventPosition], Any]] = {
    AdminCreated: _admin_created,
    UserCreated: _user_created,
    UserDeleted: _user_deleted,
    UserDisabled: _user_disabled,
    IdentityLinked: _identity_linked,
    IdentityUnlinked: _identity_unlinked,
    SessionOpened: _session_opened,
    SessionEnded: _session_ended,
    GroupCreated: _group_created,
    GroupDeleted: _group_deleted,
    MemberAdded: _member_added,
    MemberRemoved: _member_removed,
    KeyCreated: _key_created,
    KeyRevoked: _key_revoked,
    KeyExpirySet: _key_expiry_set,
    PolicyPut: _policy_put,
    PolicyDeleted: _policy_deleted,
    PolicyAttached: _policy_attached,
    PolicyDetached: _policy_detached,
}
