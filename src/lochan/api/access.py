"""Users, groups, access keys and policies: the rights of users of the server.

Everybody who can open the lake through its store may do all of this; the server checks the access of others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lochan.api.results import Result, moment
from lochan.api.session import Session
from lochan.versioning.name_filter import NameFilter

if TYPE_CHECKING:
    from lochan.access import rights as decide
    from lochan.access.open_access import OpenAccess
    from lochan.access.state import AccessKey, AccessPolicy, AccessState, User, UserGroup
    from lochan.api.sign_ins import IdentityInfo, LoginSessionInfo


# Users, access keys and policies, as verbs return them.


class UserInfo(Result, frozen=True, kw_only=True):
    name: str
    policies: tuple[str, ...]
    keys: tuple[str, ...]  # ids
    created: datetime
    created_by: str
    groups: tuple[str, ...] = ()
    disabled: bool = False

    @classmethod
    def of(cls, access: AccessState, user: User) -> UserInfo:
        from lochan.access.state import principal

        return cls(
            name=user.name,
            policies=tuple(access.attached_to(principal(user.name))),
            keys=tuple(key.id for key in access.keys_of(user.name)),
            created=moment(user.created),
            created_by=user.created_by,
            groups=tuple(access.groups_of(user.name)),
            disabled=user.disabled,
        )


class GroupInfo(Result, frozen=True, kw_only=True):
    name: str
    members: tuple[str, ...]
    policies: tuple[str, ...]
    created: datetime
    created_by: str

    @classmethod
    def of(cls, access: AccessState, group: UserGroup) -> GroupInfo:
        from lochan.access.state import GROUP

        return cls(
            name=group.name,
            members=group.members,
            policies=tuple(access.attached_to(f"{GROUP}{group.name}")),
            created=moment(group.created),
            created_by=group.created_by,
        )


class KeyInfo(Result, frozen=True, kw_only=True):
    """An access key, without its secret."""

    access_key_id: str
    user: str
    created: datetime
    created_by: str
    limits: tuple[str, ...] = ()  # patterns of resources; without any, it allows what its user may do
    expires: datetime | None = None

    @classmethod
    def of(cls, key: AccessKey) -> KeyInfo:
        return cls(
            access_key_id=key.id,
            user=key.user,
            created=moment(key.created),
            created_by=key.created_by,
            limits=key.limits,
            expires=moment(key.expires) if key.expires else None,
        )


class Credentials(Result, frozen=True, kw_only=True):
    """An access key with its secret, for the caller that created it."""

    user: str
    access_key_id: str
    secret_access_key: str

    def __repr__(self) -> str:
        """Shows the credentials without the secret, so that no log or traceback shows it."""
        return f"Credentials(user={self.user!r}, access_key_id={self.access_key_id!r})"


class SessionInfo(Result, frozen=True, kw_only=True):
    """Short-lived credentials, for the caller that created them."""

    user: str
    access_key_id: str
    secret_access_key: str
    session_token: str
    expires: datetime

    def __repr__(self) -> str:
        """Shows the session without its secret and token."""
        return f"SessionInfo(user={self.user!r}, access_key_id={self.access_key_id!r}, expires={self.expires})"


class PolicyInfo(Result, frozen=True, kw_only=True):
    name: str
    ready: bool  # every lake has it
    attached_to: tuple[str, ...]
    changed: datetime | None
    changed_by: str | None
    statements: tuple[Mapping[str, Any], ...]  # as in a policy's file: effect, actions, resources, when

    @classmethod
    def of(cls, access: AccessState, policy: AccessPolicy) -> PolicyInfo:
        from lochan.access.policies import statement_rows

        return cls(
            name=policy.name,
            ready=policy.built_in,
            attached_to=tuple(access.holders(policy.name)),
            changed=moment(policy.changed) if policy.changed else None,
            changed_by=policy.changed_by or None,
            statements=tuple(statement_rows(policy.statements)),
        )


class Decision(Result, frozen=True, kw_only=True):
    allowed: bool
    policy: str | None  # that decided; None if no statement of the user's policies fits
    number: int | None  # of the statement in it, from 1 on
    statement: Mapping[str, Any] | None
    fits: tuple[str, ...]  # its first action and its first resource that fit

    @classmethod
    def of(cls, found: decide.RightsDecision) -> Decision:
        from lochan.access.policies import statement_rows

        return cls(
            allowed=found.allowed,
            policy=found.policy or None,
            number=found.number or None,
            statement=None if found.statement is None else statement_rows((found.statement,))[0],
            fits=found.fits,
        )


class ActionInfo(Result, frozen=True, kw_only=True):
    action: str
    resource: str  # the kind of resource that it is checked for
    what: str


class Access:
    def __init__(self, session: Session) -> None:
        self._session = session

    def __repr__(self) -> str:
        return f"<Access {self._session.lake.url}>"

    @property
    def _open(self) -> OpenAccess:
        return self._session.lake.open_access()

    async def users(self, prefix: str = "", after: str = "", contains: str = "") -> AsyncIterator[UserInfo]:
        """Yields the users, ordered by name: those that begin with `prefix`, come after the name `after`, and contain
        the text `contains`, in any case."""
        wanted = NameFilter(prefix, after, contains)
        state = await self._open.state()
        for each in state.users():
            if wanted.fits(each.name):
                yield UserInfo.of(state, each)

    async def user(self, name: str) -> UserInfo:
        """Returns a user. Raises NotFound."""
        state = await self._open.state()
        return UserInfo.of(state, state.user(name))

    async def create_user(self, name: str, *, key: str = "") -> UserInfo:
        """Creates a user. Nothing is allowed to it until a policy is attached. Raises AlreadyExists, Invalid."""
        from lochan.access.users import create_user

        user = await create_user(self._open, name, actor=self._session.actor, key=key)
        return UserInfo.of(self._open.folded(), user)

    async def delete_user(self, name: str, *, key: str = "") -> None:
        """Deletes a user with all its keys. When it returns, no server accepts them any more. Raises NotFound, Refused
        for the last administrator."""
        from lochan.access.users import delete_user

        await delete_user(self._open, name, actor=self._session.actor, key=key)

    async def set_disabled(self, name: str, on: bool = True, *, key: str = "") -> UserInfo:
        """Disables or enables a user. While it is disabled, its keys and tokens are not accepted. Raises NotFound,
        Refused for the last administrator."""
        from lochan.access.users import set_disabled

        user = await set_disabled(self._open, name, on, actor=self._session.actor, key=key)
        return UserInfo.of(self._open.folded(), user)

    async def groups(self, prefix: str = "", after: str = "", contains: str = "") -> AsyncIterator[GroupInfo]:
        """Yields the groups, ordered by name and chosen as `users` chooses them."""
        wanted = NameFilter(prefix, after, contains)
        state = await self._open.state()
        for each in state.groups():
            if wanted.fits(each.name):
                yield GroupInfo.of(state, each)

    async def group(self, name: str) -> GroupInfo:
        """Returns a group. Raises NotFound."""
        state = await self._open.state()
        return GroupInfo.of(state, state.group(name))

    async def create_group(self, name: str, *, key: str = "") -> GroupInfo:
        """Creates a group without members and policies. Raises AlreadyExists, Invalid."""
        from lochan.access.groups import create_group

        group = await create_group(self._open, name, actor=self._session.actor, key=key)
        return GroupInfo.of(self._open.folded(), group)

    async def delete_group(self, name: str, *, key: str = "") -> None:
        """Deletes a group. Its members stay, without its policies. Raises NotFound, Refused if nobody would be an
        administrator."""
        from lochan.access.groups import delete_group

        await delete_group(self._open, name, actor=self._session.actor, key=key)

    async def add_member(self, group: str, user: str, *, key: str = "") -> GroupInfo:
        """Adds a user to a group. The user has the group's policies from then on. Raises NotFound, AlreadyExists."""
        from lochan.access.groups import add_member

        found = await add_member(self._open, group, user, actor=self._session.actor, key=key)
        return GroupInfo.of(self._open.folded(), found)

    async def remove_member(self, group: str, user: str, *, key: str = "") -> GroupInfo:
        """Removes a user from a group. Raises NotFound, Refused if nobody would be an administrator."""
        from lochan.access.groups import remove_member

        found = await remove_member(self._open, group, user, actor=self._session.actor, key=key)
        return GroupInfo.of(self._open.folded(), found)

    async def keys(self, user: str) -> AsyncIterator[KeyInfo]:
        """Yields the access keys of a user, the oldest first, without their secrets. Raises NotFound."""
        state = await self._open.state()
        for each in state.keys_of(state.user(user).name):
            yield KeyInfo.of(each)

    async def key(self, id: str) -> KeyInfo:
        """Returns an access key, without its secret. Raises NotFound."""
        return KeyInfo.of((await self._open.state()).need_key(id))

    async def create_key(
        self,
        user: str,
        *,
        id: str = "",
        secret: str = "",
        limits: Sequence[str] = (),
        lasts_s: float = 0,
        key: str = "",
    ) -> Credentials:
        """Creates an access key, and returns it with its secret, which is never shown again. Both are random unless
        given. With `limits`, the key allows only resources that match one of these patterns; with `lasts_s`, it expires
        after so many seconds. Raises NotFound, AlreadyExists, Invalid."""
        from lochan.access.users import create_key

        made = await create_key(
            self._open,
            user,
            id=id,
            secret=secret,
            limits=tuple(limits),
            lasts_s=lasts_s,
            actor=self._session.actor,
            key=key,
        )
        return Credentials(user=made.user, access_key_id=made.access_key_id, secret_access_key=made.secret_access_key)

    async def rotate_key(self, id: str, *, grace_s: float = 0, lasts_s: float = 0, key: str = "") -> Credentials:
        """Creates another key with the same user and limits in place of this one, which expires after `grace_s`
        seconds: at once if that is 0. Raises NotFound, Invalid."""
        from lochan.access.users import rotate_key

        made = await rotate_key(self._open, id, grace_s=grace_s, lasts_s=lasts_s, actor=self._session.actor, key=key)
        return Credentials(user=made.user, access_key_id=made.access_key_id, secret_access_key=made.secret_access_key)

    async def create_token(self, id: str, *, limits: Sequence[str] = (), lasts_s: float = 3_600) -> SessionInfo:
        """Creates short-lived credentials from an access key: they allow no more than it, and end with it. Nothing is
        stored. Raises NotFound, Invalid."""
        from lochan.access.tokens import create_token

        made = await create_token(self._open, id, lasts_s=lasts_s, limits=tuple(limits))
        return SessionInfo(
            user=made.user,
            access_key_id=made.access_key_id,
            secret_access_key=made.secret_access_key,
            session_token=made.session_token,
            expires=moment(made.expires),
        )

    async def revoke_key(self, id: str, *, key: str = "") -> None:
        """Revokes an access key. When it returns, no server accepts it any more. Raises NotFound."""
        from lochan.access.users import revoke_key

        await revoke_key(self._open, id, actor=self._session.actor, key=key)

    async def sessions(self) -> AsyncIterator[LoginSessionInfo]:
        """Lists the open sessions, the oldest first."""
        from lochan.api.sign_ins import LoginSessionInfo

        state, now = await self._open.state(), self._open.clock.wall()
        for each in state.sessions():
            if state.open_session(each.id, now) is not None:
                yield LoginSessionInfo.of(each)

    async def end_session(self, id: str, *, key: str = "") -> None:
        """Ends a session. When it returns, no server accepts it any more. Raises NotFound."""
        from lochan.access.sessions import end_session

        await end_session(self._open, id, actor=self._session.actor, key=key)

    async def end_sessions(self, user: str, *, key: str = "") -> int:
        """Ends all sessions of a user, and returns how many there were. Raises NotFound."""
        from lochan.access.sessions import end_sessions

        return await end_sessions(self._open, user, actor=self._session.actor, key=key)

    async def identities(self) -> AsyncIterator[IdentityInfo]:
        """Yields the linked identities of other services, ordered by the names of their users."""
        from lochan.api.sign_ins import IdentityInfo

        for each in (await self._open.state()).identities():
            yield IdentityInfo.of(each)

    async def link_identity(self, user: str, source: str, subject: str, *, key: str = "") -> IdentityInfo:
        """Links an identity to a user: whoever signs in with it is this user from then on. Raises NotFound,
        AlreadyExists, Invalid."""
        from lochan.access.external import link_identity
        from lochan.api.sign_ins import IdentityInfo

        return IdentityInfo.of(
            await link_identity(self._open, user, source, subject, actor=self._session.actor, key=key)
        )

    async def unlink_identity(self, user: str, source: str, subject: str, *, key: str = "") -> None:
        """Unlinks an identity. The user stays; the sessions that the identity has opened end. Raises NotFound."""
        from lochan.access.external import unlink_identity

        await unlink_identity(self._open, user, source, subject, actor=self._session.actor, key=key)

    async def policies(self, prefix: str = "", contains: str = "") -> AsyncIterator[PolicyInfo]:
        """Yields the policies, first those that every lake has, then the lake's own: those that begin with `prefix` and
        contain the text `contains`, in any case."""
        wanted = NameFilter(prefix, contains=contains)
        state = await self._open.state()
        for each in state.policies():
            if wanted.fits(each.name):
                yield PolicyInfo.of(state, each)

    async def policy(self, name: str) -> PolicyInfo:
        """Returns a policy. Raises NotFound."""
        state = await self._open.state()
        return PolicyInfo.of(state, state.policy(name))

    async def put_policy(self, name: str, text: bytes, *, source: str = "the policy", key: str = "") -> PolicyInfo:
        """Puts a policy from JSON or YAML, which messages call `source`. It replaces a policy of the same name, for
        everybody who has it. Raises Invalid, Refused for a policy that every lake has."""
        from lochan.access.policies import parse_statements, put_policy

        await put_policy(self._open, name, parse_statements(text, source), actor=self._session.actor, key=key)
        state = self._open.folded()
        return PolicyInfo.of(state, state.policy(name))

    async def delete_policy(self, name: str, *, key: str = "") -> None:
        """Deletes a policy. Raises NotFound, Refused while somebody has it."""
        from lochan.access.policies import delete_policy

        await delete_policy(self._open, name, actor=self._session.actor, key=key)

    async def attach(self, policy: str, user: str, *, key: str = "") -> tuple[str, ...]:
        """Attaches a policy to a user, and returns all policies that the user then has. Raises NotFound."""
        from lochan.access.policies import attach
        from lochan.access.state import principal

        await attach(self._open, policy, principal(user), actor=self._session.actor, key=key)
        return self._open.folded().attached_to(principal(user))

    async def detach(self, policy: str, user: str, *, key: str = "") -> tuple[str, ...]:
        """Detaches a policy from a user. When it returns, no server applies it to the user any more. Returns the
        policies that the user still has. Raises NotFound."""
        from lochan.access.policies import detach
        from lochan.access.state import principal

        await detach(self._open, policy, principal(user), actor=self._session.actor, key=key)
        return self._open.folded().attached_to(principal(user))

    async def attach_to_group(self, policy: str, group: str, *, key: str = "") -> tuple[str, ...]:
        """Attaches a policy to a group, and returns all policies that the group then has. Raises NotFound,
        AlreadyExists."""
        from lochan.access.policies import attach
        from lochan.access.state import GROUP

        await attach(self._open, policy, f"{GROUP}{group}", actor=self._session.actor, key=key)
        return self._open.folded().attached_to(f"{GROUP}{group}")

    async def detach_from_group(self, policy: str, group: str, *, key: str = "") -> tuple[str, ...]:
        """Detaches a policy from a group, and returns those that the group still has. Raises NotFound, Refused if
        nobody would be an administrator."""
        from lochan.access.policies import detach
        from lochan.access.state import GROUP

        await detach(self._open, policy, f"{GROUP}{group}", actor=self._session.actor, key=key)
        return self._open.folded().attached_to(f"{GROUP}{group}")

    async def can(
        self, user: str, action: str, resource: str, *, address: str = "", at: datetime | None = None
    ) -> Decision:
        """Decides whether the user may do that, and which statement decides it: from this address, and at this time,
        which is now unless given. Raises NotFound, Invalid."""
        from lochan.access import resources
        from lochan.access.rights import explain

        resources.check(resource)
        now = self._open.clock.wall() if at is None else round(at.timestamp() * 1_000_000)
        return Decision.of(explain(await self._open.state(), user, action, resource, address=address, now=now))

    def actions(self) -> list[ActionInfo]:
        """Lists all actions that a policy can allow or deny."""
        return actions()


def actions() -> list[ActionInfo]:
    from lochan.access.policy import ACTIONS

    return [ActionInfo(action=name, resource=on, what=what) for name, (on, what) in ACTIONS.items()]


def limit_patterns(places: Sequence[str]) -> tuple[str, ...]:
    """Returns patterns of resources, as limits of an access key, for texts that may also be REPO, REPO@BRANCH or
    REPO@BRANCH/PREFIX. Raises Invalid."""
    from lochan.access.resources import patterns_of
    from lochan.versioning.uri import prefix_uri

    found: list[str] = []
    for text in places:
        if text in ("*", "lake") or text.startswith(("repository/", "user/", "group/", "policy/")):
            found.append(text)
        else:
            uri = prefix_uri(text)
            found += patterns_of(uri.repository, uri.ref, uri.path)
    return tuple(dict.fromkeys(found))
