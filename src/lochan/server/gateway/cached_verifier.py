"""Verifies signatures of version 4 in the header by what an earlier request of the same client has shown.

An Authorization header without the signature at its end stays the same for a client all day. What follows from it (the
key, what is signed, where the HMAC begins) is worked out once, after the general path has let in a request with it.

    AWS4-HMAC-SHA256 Credential=…/20261115/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=0b3c…
    └──────────────────────────────── the same ─────────────────────────────────────────────────────────────┘

A cached verifier never refuses anybody: a request that it does not verify takes the general path, which says why.
"""

from collections.abc import Collection, Mapping
from hashlib import sha256
from hmac import compare_digest
from operator import itemgetter
from typing import Final, NamedTuple

from lochan.access.state import AccessKey
from lochan.bounded_cache import BoundedCache
from lochan.server.gateway.wire.header_values import parse_iso_basic
from lochan.server.gateway.wire.identity import NOBODY, SKEW_SECONDS_MAX, Credential
from lochan.server.gateway.wire.signature_v4 import ALGORITHM, Signed, signing_key

VERIFIERS_MAX: Final = 4096
_SHAPES_MAX = 256

SIGNATURE_DIGITS: Final = 64
_BLOCK_BYTES = 64  # the block size of SHA-256, for HMAC
_INNER, _OUTER = bytes(each ^ 0x36 for each in range(256)), bytes(each ^ 0x5C for each in range(256))
_BEGUN = sha256()  # to copy it takes two thirds of the time of making a new one
_TOKEN = "x-amz-security-token"  # keys of sessions are not cached, and the general path handles them
_METADATA = "x-amz-meta-"

# Headers that only say who sends the request, and how.
_HARMLESS = frozenset(
    (
        *("accept", "accept-encoding", "accept-language", "amz-sdk-invocation-id", "amz-sdk-request", "authorization"),
        *("connection", "date", "host", "pragma", "user-agent", "x-amz-api-version", "x-amz-content-sha256"),
        *("x-amz-date", "x-amz-user-agent"),
    )
)
_READ = _HARMLESS | {"cache-control", "content-type", "x-amz-checksum-mode"}

# Headers that are kept with an object, and headers that declare something about its body.
_KEPT = frozenset(("cache-control", "content-disposition", "content-language", "content-type", "expires"))
_DECLARED = frozenset(
    (
        *("content-md5", "x-amz-checksum-algorithm", "x-amz-checksum-crc32", "x-amz-checksum-crc32c"),
        *("x-amz-checksum-crc64nvme", "x-amz-checksum-sha1", "x-amz-checksum-sha256", "x-amz-sdk-checksum-algorithm"),
    )
)
_WRITE = _HARMLESS | _KEPT | _DECLARED | {"content-length", "expect"}


class WriteHeaders(NamedTuple):
    """The headers of a plain write that matter."""

    kept: tuple[str, ...]
    has_metadata: bool
    is_declared: bool


class HeaderShape:
    __slots__ = ("is_plain_read", "is_signed", "write")

    def __init__(self, names: tuple[str, ...], signed: Collection[str]) -> None:
        self.is_signed = _TOKEN not in names and all(name in signed for name in names if name.startswith("x-amz-"))
        self.is_plain_read = self.is_signed and _READ.issuperset(names)
        self.write = _write(names) if self.is_signed else None  # None if it is not a plain write


def _write(names: tuple[str, ...]) -> WriteHeaders | None:
    others = [name for name in names if not name.startswith(_METADATA)]
    if not _WRITE.issuperset(others):
        return None
    kept = tuple(name for name in others if name in _KEPT)
    return WriteHeaders(kept, len(others) < len(names), not _DECLARED.isdisjoint(others))


class CachedVerifier:
    __slots__ = (
        *("_day", "_form", "_inner", "_last_shape", "_outer", "_shapes", "_signed", "_values"),
        *("key", "region", "scope", "signing_key", "user"),
    )

    def __init__(self, signed: Signed, key: AccessKey | None, secret: str) -> None:
        """Prepares the verifier. REQUIRES: several headers are signed, the host among them."""
        names, credential = signed.names.split(";"), signed.credential
        lines = "".join([f"{name}:%s\n" for name in (name.replace("%", "%%") for name in names)])
        self.key = key
        self.user = "" if key is None else key.user
        self.signing_key = signing_key(secret, credential.day, credential.region, credential.service)
        self.region = credential.region
        self.scope = credential.scope
        self._day = credential.day
        self._form = f"%s\n%s\n%s\n{lines}\n{signed.names.replace('%', '%%')}\n%s"
        self._values = itemgetter(*names)
        self._signed = frozenset(names)
        self._shapes: BoundedCache[tuple[str, ...], HeaderShape] = BoundedCache(_SHAPES_MAX)
        self._last_shape: tuple[tuple[str, ...], HeaderShape] = (), HeaderShape((), self._signed)
        # An HMAC is two hashes, each of which begins with the key. Copying one that has begun saves half of the work.
        padded = self.signing_key.ljust(_BLOCK_BYTES, b"\0")
        self._inner = sha256(padded.translate(_INNER))
        self._outer = sha256(padded.translate(_OUTER))

    def shape(self, headers: Mapping[str, str]) -> HeaderShape:
        names, last = tuple(headers), self._last_shape
        if names == last[0]:
            return last[1]
        found = self._shapes.get(names) or self._shapes.put(names, HeaderShape(names, self._signed))
        self._last_shape = names, found
        return found

    def verifies(
        self, signature: str, method: str, path: str, query: str, headers: Mapping[str, str], payload: str, now: float
    ) -> bool:
        """Returns whether this is the signature of such a request by this verifier's key. `path` and `query` are
        canonical. `now` is in seconds since 1970. `shape` says whether all headers are signed that must be."""
        date = headers.get("x-amz-date", "")
        seconds = parse_iso_basic(date)
        if seconds is None or abs(now - seconds) > SKEW_SECONDS_MAX:
            return False
        try:
            text = self._form % (method, path, query, *self._values(headers), payload)
            canonical = text.encode("latin-1")
        except (KeyError, UnicodeEncodeError):  # a signed header is missing, or a name is not one of a header
            return False
        if "  " in text or "\t" in text:  # the general path folds such spaces
            return False
        hashed, inner, outer = _BEGUN.copy(), self._inner.copy(), self._outer.copy()
        hashed.update(canonical)
        inner.update(f"{ALGORITHM}\n{date}\n{self.scope}\n{hashed.hexdigest()}".encode())
        outer.update(inner.digest())
        return signature.isascii() and compare_digest(outer.hexdigest(), signature) and date[:8] == self._day


class VerifierCache:
    """Verifiers by the Authorization header without its last 64 characters. An unknown header is tried with a verifier
    that belongs to nobody and takes as long as one that fails. So the time of an answer does not reveal whether a key
    is known."""

    def __init__(self) -> None:
        self._verifiers: BoundedCache[str, CachedVerifier] = BoundedCache(VERIFIERS_MAX)
        names = "host;x-amz-content-sha256;x-amz-date"
        credential = Credential("", "19700101", "us-east-1", "s3", "aws4_request")
        nobodys = Signed(credential, "19700101T000000Z", names, "", "")
        self._nobodys = CachedVerifier(nobodys, None, NOBODY)

    def find(self, authorization: str) -> CachedVerifier:
        return self._verifiers.get(authorization[:-SIGNATURE_DIGITS]) or self._nobodys

    def learn(self, authorization: str, signed: Signed, key: AccessKey, secret: str) -> None:
        """Keeps a verifier for a request that the general path has let in. `secret` is the secret of `key`, whichever
        key let the request in."""
        if not authorization.endswith(f"Signature={signed.signature}") or len(signed.signature) != SIGNATURE_DIGITS:
            return
        if ";" not in signed.names:
            return
        self._verifiers.put(authorization[:-SIGNATURE_DIGITS], CachedVerifier(signed, key, secret))
