"""Users, access keys and policies, as verbs give them back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lochan.api.results import Result, moment

if TYPE_CHECKING:
    from lochan.access import rights as decide
    from lochan.access.state import AccessKey, AccessPolicy, AccessState, User


class UserInfo(Result, frozen=True, kw_only=True):
    name: str
    policies: tuple[str, ...]
    keys: tuple[str, ...]  # ids
    created: datetime
    created_by: str

    @classmethod
    def of(cls, access: AccessState, user: User) -> UserInfo:
        from lochan.access.state import principal

        return cls(
            name=user.name,
            policies=tuple(access.attached_to(principal(user.name))),
            keys=tuple(key.id for key in access.keys_of(user.name)),
            created=moment(user.created),
            created_by=user.created_by,
        )


class KeyInfo(Result, frozen=True, kw_only=True):
    """An access key, without its secret."""

    access_key_id: str
    user: str
    created: datetime
    created_by: str

    @classmethod
    def of(cls, key: AccessKey) -> KeyInfo:
        return cls(access_key_id=key.id, user=key.user, created=moment(key.created), created_by=key.created_by)


class Credentials(Result, frozen=True, kw_only=True):
    """An access key with its secret, for whoever asked for it."""

    user: str
    access_key_id: str
    secret_access_key: str

    def __repr__(self) -> str:
        """Without the secret, so that no log or traceback shows it."""
        return f"Credentials(user={self.user!r}, access_key_id={self.access_key_id!r})"


class PolicyInfo(Result, frozen=True, kw_only=True):
    name: str
    ready: bool  # every lake has it
    attached_to: tuple[str, ...]
    changed: datetime | None
    changed_by: str | None
    statements: tuple[Mapping[str, Any], ...]  # as in a policy's file: effect, actions, resources

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
    policy: str | None  # that decided; None: no statement of the user's policies fits
    number: int | None  # of the statement in it, from 1 on
    statement: Mapping[str, Any] | None
    fits: tuple[str, ...]  # its first action and its first resource that do

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
    resource: str  # what it is asked about
    what: str
