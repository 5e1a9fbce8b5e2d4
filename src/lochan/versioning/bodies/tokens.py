"""Tokens for physical addresses: the holder may put bytes at one address and then link them to one path.

    <base64url of the token, MessagePack>.<base64url of its HMAC-SHA256>

A token is valid for one repository, branch, path and address, until it expires. The journal makes sure, by the token's
id, that it is used only once.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256

import msgspec

from lochan.clock import Clock
from lochan.errors import Invalid, NotFound, Refused
from lochan.formats import key_file
from lochan.ids import Ids
from lochan.store.checked_reads import get_decoded
from lochan.store.protocol import Store
from lochan.store.retry import settle

KEY_BYTES_MIN = 32

_PURPOSE = b"lochan address token 1\0"  # the same key may sign other things, which must not be taken for tokens
PATH = "_lake/keys/address-tokens"
_PATIENCE_S = 30.0


class AddressToken(msgspec.Struct, frozen=True, array_like=True):
    id: str
    repository: str
    branch: str
    path: str
    address: str
    expires: int  # microseconds since 1970
    presigned: bool = False  # whether a URL of the store was given out, which accepts bytes until it expires


def issue(key: bytes, token: AddressToken) -> str:
    fields = msgspec.structs.astuple(token)
    written = fields if token.presigned else fields[:-1]  # older tokens have no such field
    text = urlsafe_b64encode(msgspec.msgpack.encode(written)).rstrip(b"=")
    return b".".join((text, _signature(key, text))).decode()


def check(key: bytes, given: str, *, repository: str, branch: str, path: str, now: int) -> AddressToken:
    """Returns the token, whose address may be linked to this path. Raises Refused with the reason if it may not."""
    text, _, signature = given.encode(errors="replace").rpartition(b".")
    if not hmac.compare_digest(signature, _signature(key, text)):
        raise Refused("the address token is not one of ours, or was changed", hint=_AGAIN)
    token = msgspec.msgpack.decode(urlsafe_b64decode(text + b"=" * (-len(text) % 4)), type=AddressToken)
    for what, issued, requested in (
        ("repository", token.repository, repository),
        ("branch", token.branch, branch),
        ("path", token.path, path),
    ):
        if issued != requested:
            raise Refused(f"the address token is for the {what} {issued!r}, not for {requested!r}", hint=_AGAIN)
    if now >= token.expires:
        raise Refused(f"the address token for {path!r} has expired", hint=_AGAIN)
    return token


def _signature(key: bytes, text: bytes) -> bytes:
    if len(key) < KEY_BYTES_MIN:
        raise Invalid(f"a key for address tokens has at least {KEY_BYTES_MIN} bytes")
    return urlsafe_b64encode(hmac.digest(key, _PURPOSE + text, sha256)).rstrip(b"=")


_AGAIN = "ask for a new address"


class TokenKey:
    """The key that signs address tokens. It is a file in the lake, created by the first process that needs it, so that
    every process accepts the tokens of the others. No verb shows it, but everybody who can read the lake's bucket can
    read it."""

    def __init__(self, store: Store, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._key = b""

    async def get(self) -> bytes:
        """Returns the key, which is read from the store once."""
        if not self._key:
            self._key = await read_or_make_key(self._store, PATH, self._clock, self._ids)
        return self._key


async def read_or_make_key(store: Store, path: str, clock: Clock, ids: Ids) -> bytes:
    """Returns the key in this file of the lake. If there is none yet, the first of all processes that need it makes
    it."""

    def decode(data: bytes) -> bytes:
        return key_file.decode(data, f"{path} in {store.url}")

    try:
        return await get_decoded(store, path, decode)
    except NotFound:
        deadline = clock.boot() + _PATIENCE_S
        return decode(await settle(store, path, key_file.encode(ids.signing_key()), clock, ids, deadline))
