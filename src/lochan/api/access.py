"""Who may do what through the server: users, access keys and policies.

Whoever can open the lake by its store may do all of this: access is checked where the server lets others in.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from lochan.api.access_results import ActionInfo, Credentials, Decision, KeyInfo, PolicyInfo, UserInfo
from lochan.api.session import Session

if TYPE_CHECKING:
    from lochan.access.open_access import OpenAccess


class Access:
    def __init__(self, session: Session) -> None:
        self._session = session

    def __repr__(self) -> str:
        return f"<Access {self._session.lake.url}>"

    @property
    def _open(self) -> OpenAccess:
        return self._session.lake.open_access()

    async def users(self) -> AsyncIterator[UserInfo]:
        """In the order of their names."""
        state = await self._open.state()
        for each in state.users():
            yield UserInfo.of(state, each)

    async def user(self, name: str) -> UserInfo:
        """Raises NotFound."""
        state = await self._open.state()
        return UserInfo.of(state, state.user(name))

    async def create_user(self, name: str, *, key: str = "") -> UserInfo:
        """Nothing is allowed to it until a policy is attached. Raises AlreadyExists, Invalid."""
        from lochan.access.users import create_user

        user = await create_user(self._open, name, actor=self._session.actor, key=key)
        return UserInfo.of(self._open.folded(), user)

    async def delete_user(self, name: str, *, key: str = "") -> None:
        """With all its keys: when it returns they work nowhere any more. Raises NotFound, Refused for the last
        administrator."""
        from lochan.access.users import delete_user

        await delete_user(self._open, name, actor=self._session.actor, key=key)

    async def keys(self, user: str) -> AsyncIterator[KeyInfo]:
        """The oldest first, without their secrets. Raises NotFound."""
        state = await self._open.state()
        for each in state.keys_of(state.user(user).name):
            yield KeyInfo.of(each)

    async def key(self, id: str) -> KeyInfo:
        """Raises NotFound."""
        return KeyInfo.of((await self._open.state()).need_key(id))

    async def create_key(self, user: str, *, id: str = "", secret: str = "", key: str = "") -> Credentials:
        """An access key, with the secret, which nothing tells again. Both are drawn unless given. Raises NotFound,
        AlreadyExists, Invalid."""
        from lochan.access.users import create_key

        made = await create_key(self._open, user, id=id, secret=secret, actor=self._session.actor, key=key)
        return Credentials(user=made.user, access_key_id=made.access_key_id, secret_access_key=made.secret_access_key)

    async def revoke_key(self, id: str, *, key: str = "") -> None:
        """When it returns, no server lets it in any more. Raises NotFound."""
        from lochan.access.users import revoke_key

        await revoke_key(self._open, id, actor=self._session.actor, key=key)

    async def policies(self) -> AsyncIterator[PolicyInfo]:
        """First those that every lake has, then the lake's own."""
        state = await self._open.state()
        for each in state.policies():
            yield PolicyInfo.of(state, each)

    async def policy(self, name: str) -> PolicyInfo:
        """Raises NotFound."""
        state = await self._open.state()
        return PolicyInfo.of(state, state.policy(name))

    async def put_policy(self, name: str, text: bytes, *, source: str = "the policy", key: str = "") -> PolicyInfo:
        """From JSON or YAML, which messages call `source`. One of that name is replaced, for everybody who has it.
        Raises Invalid, Refused for one that every lake has."""
        from lochan.access.policies import parse_statements, put_policy

        await put_policy(self._open, name, parse_statements(text, source), actor=self._session.actor, key=key)
        state = self._open.folded()
        return PolicyInfo.of(state, state.policy(name))

    async def delete_policy(self, name: str, *, key: str = "") -> None:
        """Raises NotFound, Refused while somebody has it."""
        from lochan.access.policies import delete_policy

        await delete_policy(self._open, name, actor=self._session.actor, key=key)

    async def attach(self, policy: str, user: str, *, key: str = "") -> tuple[str, ...]:
        """Gives all policies that the user has then. Raises NotFound."""
        from lochan.access.policies import attach
        from lochan.access.state import principal

        await attach(self._open, policy, principal(user), actor=self._session.actor, key=key)
        return self._open.folded().attached_to(principal(user))

    async def detach(self, policy: str, user: str, *, key: str = "") -> tuple[str, ...]:
        """When it returns, the policy counts at no server any more. Gives those that the user still has. Raises
        NotFound."""
        from lochan.access.policies import detach
        from lochan.access.state import principal

        await detach(self._open, policy, principal(user), actor=self._session.actor, key=key)
        return self._open.folded().attached_to(principal(user))

    async def can(self, user: str, action: str, resource: str) -> Decision:
        """Whether the user may do that, and which statement decides it. Raises NotFound, Invalid."""
        from lochan.access import resources
        from lochan.access.rights import explain

        resources.check(resource)
        return Decision.of(explain(await self._open.state(), user, action, resource))

    def actions(self) -> list[ActionInfo]:
        """All that a policy can allow or deny."""
        return actions()


def actions() -> list[ActionInfo]:
    from lochan.access.actions import ACTIONS

    return [ActionInfo(action=name, resource=on, what=what) for name, (on, what) in ACTIONS.items()]
