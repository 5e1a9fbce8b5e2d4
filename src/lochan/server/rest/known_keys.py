"""Says whose credentials a header has, for requests on a short path: an access key and its secret in HTTP's Basic
scheme, which the general path has let in before. The secret then need not be decrypted again. The caller checks that
the key is still in force."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from hashlib import sha256
from hmac import compare_digest

from starlette.types import Scope

from lochan.access.open_access import OpenAccess
from lochan.access.state import AccessKey
from lochan.access.users import unseal_secret
from lochan.bounded_cache import BoundedCache
from lochan.server.connections import is_loopback

_BASIC = b"basic "
_KEYS_MAX = 1_024


class KnownKeys:
    def __init__(self, access: OpenAccess) -> None:
        self._access = access
        self._keys: BoundedCache[bytes, AccessKey] = BoundedCache(_KEYS_MAX)  # by a digest of the header

    def find(self, authorization: bytes) -> AccessKey | None:
        return self.find_digest(digest_of(authorization))

    def find_digest(self, digest: bytes) -> AccessKey | None:
        return self._keys.get(digest)

    async def learn(self, scope: Scope) -> None:
        """Learns the key of a request that the general path has let in. The secret is compared once more, with that of
        the very key that is kept."""
        header = basic_header(scope)
        if not header or self.find(header) is not None:
            return
        try:
            id, _, secret = b64decode(header[len(_BASIC) :].strip(), validate=True).partition(b":")
            key = self._access.folded().key(id.decode())
        except (NotBase64, UnicodeDecodeError):
            return
        if key is not None and compare_digest((await unseal_secret(self._access, key)).encode(), secret):
            self._keys.put(digest_of(header), key)


def digest_of(authorization: bytes) -> bytes:
    """Returns the digest by which a header is known. The header contains a secret, which is not kept."""
    return sha256(authorization).digest()


def basic_header(scope: Scope) -> bytes:
    """Returns the only authorization header, if it uses HTTP's Basic scheme and nobody could read it on its way.
    Otherwise, returns an empty value. The general path refuses a secret in the clear before it looks at it."""
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(given) != 1 or given[0][: len(_BASIC)].lower() != _BASIC:
        return b""
    client = scope.get("client")
    return given[0] if scope.get("scheme") == "https" or (client and is_loopback(client[0])) else b""
