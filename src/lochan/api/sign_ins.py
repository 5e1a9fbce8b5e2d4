"""Sessions and linked identities, as verbs return them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from lochan.api.results import Result, moment

if TYPE_CHECKING:
    from lochan.access.state import LinkedIdentity, LoginSession


class LoginSessionInfo(Result, frozen=True, kw_only=True):
    """A session that a user has opened by signing in."""

    id: str
    user: str
    how: str  # key | oidc | ldap
    access_key_id: str | None  # the key that it stands for; None if it acts as the user
    address: str | None  # the address of the request that opened it
    begun: datetime
    expires: datetime
    source: str | None = None  # the service that identified the user

    @classmethod
    def of(cls, session: LoginSession) -> LoginSessionInfo:
        return cls(
            id=session.id,
            user=session.user,
            how=session.how,
            access_key_id=session.key or None,
            address=session.address or None,
            begun=moment(session.begun),
            expires=moment(session.expires),
            source=session.source or None,
        )


class IdentityInfo(Result, frozen=True, kw_only=True):
    """An identity of another service, and the user it belongs to."""

    user: str
    source: str
    subject: str
    linked: datetime
    linked_by: str

    @classmethod
    def of(cls, identity: LinkedIdentity) -> IdentityInfo:
        return cls(
            user=identity.user,
            source=identity.source,
            subject=identity.subject,
            linked=moment(identity.linked),
            linked_by=identity.linked_by,
        )
