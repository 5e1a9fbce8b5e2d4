"""Short-lived credentials: an id, a secret and a token. They are valid until the time that the token states, and no
longer than the access key that they were made from.

They are not stored. The token holds the secret and the limits, encrypted with the lake's key, so every server can read
it, and only a server can make one. Over S3 it is `x-amz-security-token`; over the API it is the Bearer token.

token = "lochan1." + base64url of what `encryption.seal` makes of the JSON of a SealedToken
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from lochan.access.encryption import seal, unseal
from lochan.access.open_access import OpenAccess
from lochan.access.users import check_limits
from lochan.errors import Invalid, LochanError

PREFIX = "lochan1."
LASTS_S_MAX = 7 * 86_400
LASTS_S = 3_600
LENGTH_MAX = 8_192  # some servers in front of ours take no longer headers
_BOUND_TO = "session token"  # no access key has an id with a space
_MICROSECONDS = 1_000_000
_ID = "LKST"


class SealedToken(msgspec.Struct, frozen=True, array_like=True):
    """The content of a token. Tokens are not stored, but users hold them: fields are only ever added at the end."""

    id: str
    secret: str
    key: str  # the access key that it was made from
    expires: int  # microseconds since 1970
    limits: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"SealedToken(id={self.id!r}, key={self.key!r})"


@dataclass(frozen=True, slots=True)
class SessionCredentials:
    user: str
    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str = field(repr=False)
    expires: int = 0  # microseconds since 1970


async def create_token(
    access: OpenAccess, key_id: str, *, lasts_s: float = LASTS_S, limits: Sequence[str] = ()
) -> SessionCredentials:
    """Creates a session token of an access key that is valid now. The token never allows more than its key: limits only
    narrow it, and it ends when the key is revoked or expires. Raises NotFound or Invalid."""
    if not 0 < lasts_s <= LASTS_S_MAX:
        raise Invalid(f"a token cannot last {lasts_s} seconds", hint=f"at most {LASTS_S_MAX:,}, which is a week")
    check_limits(limits)
    state, now = await access.state(), access.clock.wall()
    key = state.need_key(key_id)
    if state.active_key(key_id, now) is None:
        raise Invalid(f"access key {key_id!r} has expired, or its user is disabled", hint="make it of another key")
    expires = now + round(lasts_s * _MICROSECONDS)
    expires = min(expires, key.expires) if key.expires else expires
    made = SealedToken(
        _ID + access.ids.access_key_id()[len(_ID) :], access.ids.access_key_secret(), key_id, expires, tuple(limits)
    )
    plain = msgspec.json.encode(made).decode()
    sealed = seal(await access.encryption.get(), access.ids.nonce(), plain, id=_BOUND_TO, user="")
    text = PREFIX + urlsafe_b64encode(sealed).decode()
    if len(text) > LENGTH_MAX:
        raise Invalid(f"the token would have {len(text):,} characters", hint="give fewer or shorter limits")
    return SessionCredentials(key.user, made.id, made.secret, text, expires)


async def read_token(access: OpenAccess, text: str) -> SealedToken | None:
    """Decrypts a token. Returns None if no server of this lake has made it. The caller must check whether it is still
    valid."""
    if not text.startswith(PREFIX) or len(text) > LENGTH_MAX:
        return None
    try:
        sealed = urlsafe_b64decode(text.removeprefix(PREFIX).encode())
        plain = unseal(await access.encryption.get(), sealed, id=_BOUND_TO, user="")
        return msgspec.json.decode(plain, type=SealedToken)
    except (binascii.Error, ValueError, LochanError, msgspec.MsgspecError):
        return None
