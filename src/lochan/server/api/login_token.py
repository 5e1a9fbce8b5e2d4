"""Tokens that stand for an access key for some hours, in a header (Bearer) or in a cookie.

    <base64url of the access key's id and the end, MessagePack>.<base64url of its HMAC-SHA256>

They are signed by the secret of the access key, which the lake holds anyway: nothing is stored, every process of a
server takes them, and they end at once when the key is revoked.
"""

import binascii
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256

import msgspec

from lochan.access.open_access import OpenAccess

LIFE_S = 12 * 3600
COOKIE = "internal_auth_session"  # as clients written for lakeFS call it

_PURPOSE = b"lochan login token 1\0"  # the same secret signs requests, which must not be taken for a token
_TOKEN_LENGTH_MAX = 1_024
_MICROSECONDS = 1_000_000


class LoginToken(msgspec.Struct, frozen=True, array_like=True):
    access_key: str
    expires: int  # seconds since 1970


def issue(token: LoginToken, secret: str) -> str:
    text = urlsafe_b64encode(msgspec.msgpack.encode(token)).rstrip(b"=")
    return b".".join((text, _signature(secret, text))).decode()


async def owner(access: OpenAccess, given: str, arrived: float) -> tuple[str, str]:
    """The access key and its user; empty where the token is wrong, has expired, or its key was revoked."""
    text, _, signature = given.encode(errors="replace").rpartition(b".")
    token = _decoded(text) if len(given) <= _TOKEN_LENGTH_MAX else None
    if token is None:
        return "", ""
    found = await access.find_key(token.access_key, arrived)
    if found is None or not hmac.compare_digest(signature, _signature(found.secret, text)):
        return "", ""
    if access.clock.wall() >= token.expires * _MICROSECONDS:
        return "", ""
    return token.access_key, found.user


def _decoded(text: bytes) -> LoginToken | None:
    try:
        return msgspec.msgpack.decode(urlsafe_b64decode(text + b"=" * (-len(text) % 4)), type=LoginToken)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        return None


def _signature(secret: str, text: bytes) -> bytes:
    return urlsafe_b64encode(hmac.digest(secret.encode(), _PURPOSE + text, sha256)).rstrip(b"=")
