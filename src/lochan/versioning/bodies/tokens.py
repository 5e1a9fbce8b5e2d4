"""Tokens for physical addresses: somebody may put bytes at one address by himself, and then link them to one path.

    <base64url of the token, MessagePack>.<base64url of its HMAC-SHA256>

A token is good for one repository, branch, path and address, until it expires. That it is used only once is for the
journal to see to, by its id.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256

import msgspec

from lochan.errors import Invalid, Refused

KEY_BYTES_MIN = 32

_PURPOSE = b"lochan address token 1\0"  # the same key may sign other things, which must not pass for a token


class Token(msgspec.Struct, frozen=True, array_like=True):
    id: str
    repository: str
    branch: str
    path: str
    address: str
    expires: int  # microseconds since 1970


def issue(key: bytes, token: Token) -> str:
    text = urlsafe_b64encode(msgspec.msgpack.encode(token)).rstrip(b"=")
    return b".".join((text, _signature(key, text))).decode()


def check(key: bytes, given: str, *, repository: str, branch: str, path: str, now: int) -> Token:
    """The token, whose address may be linked to this path. Raises Refused and says why."""
    text, _, signature = given.encode(errors="replace").rpartition(b".")
    if not hmac.compare_digest(signature, _signature(key, text)):
        raise Refused("the address token is not one of ours, or was changed", hint=_AGAIN)
    token = msgspec.msgpack.decode(urlsafe_b64decode(text + b"=" * (-len(text) % 4)), type=Token)
    for what, issued, asked in (
        ("repository", token.repository, repository),
        ("branch", token.branch, branch),
        ("path", token.path, path),
    ):
        if issued != asked:
            raise Refused(f"the address token is for the {what} {issued!r}, not for {asked!r}", hint=_AGAIN)
    if now >= token.expires:
        raise Refused(f"the address token for {path!r} has expired", hint=_AGAIN)
    return token


def _signature(key: bytes, text: bytes) -> bytes:
    if len(key) < KEY_BYTES_MIN:
        raise Invalid(f"a key for address tokens has at least {KEY_BYTES_MIN} bytes")
    return urlsafe_b64encode(hmac.digest(key, _PURPOSE + text, sha256)).rstrip(b"=")


_AGAIN = "ask for a new address"
