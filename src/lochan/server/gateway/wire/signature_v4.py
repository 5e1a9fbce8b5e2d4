"""Handles signatures of version 4: the canonical request, the signing key, and the form in the Authorization header."""

import hmac
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.header_values import iso_basic, parse_http_date, parse_iso_basic
from lochan.server.gateway.wire.identity import (
    NOBODY,
    ChunkSeed,
    Credential,
    Identity,
    Realm,
    SignatureForm,
    declared_payload,
    refuse_skewed,
)
from lochan.server.gateway.wire.signed_request import SignedRequest, wire_bytes

ALGORITHM = "AWS4-HMAC-SHA256"
_MALFORMED = "AuthorizationHeaderMalformed"
_PREFIX = "The authorization header is malformed; "
_FIELDS = ("Credential", "SignedHeaders", "Signature")


@lru_cache(maxsize=1024)
def signing_key(secret: str, day: str, region: str, service: str) -> bytes:
    """Returns the signing key. It is cached, because it is the same for all requests of a key on one day, and its four
    HMACs are half the work of a check."""
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def sign(key: bytes, text: bytes) -> str:
    return hmac.digest(key, text, "sha256").hex()


def same(one: str, other: str) -> bool:
    """Returns whether two texts are equal, in a time that does not reveal how much was right."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


class Signed(NamedTuple):
    """A V4 signature as the client gave it."""

    credential: Credential
    timestamp: str
    names: str  # the names of the signed headers, as listed
    signature: str
    payload: str  # the hash, or the word in its place

    def check(self, request: SignedRequest, secret: str | None, without: str = "") -> bytes:
        """Returns the signing key. Raises SignatureDoesNotMatch or InvalidAccessKeyId. The parameter named `without` is
        left out of the query."""
        credential = self.credential
        key = signing_key(NOBODY if secret is None else secret, credential.day, credential.region, credential.service)
        first = ""
        for canonical in self._canonical(request, without):
            text = self._string_to_sign(canonical)
            if same(sign(key, wire_bytes(text)), self.signature) and secret is not None:
                return key
            first = first or canonical
        raise self._refusal(first, known=secret is not None)

    def made(self, request: SignedRequest, secret: str) -> str:
        """Returns the signature that the request should have."""
        credential = self.credential
        key = signing_key(secret, credential.day, credential.region, credential.service)
        return sign(key, wire_bytes(self._string_to_sign(next(self._canonical(request, "")))))

    def _canonical(self, request: SignedRequest, without: str) -> Iterator[str]:
        """Yields the request encoded as AWS does, and then as the client did, because some clients sign what they send.
        Both mean the same bytes."""
        headers = canonical_headers(request.headers, self.names.split(";"))
        path, query = request.canonical_path, request.canonical_query(without) if request.query else ""
        rest = f"{headers}\n{self.names}\n{self.payload}"
        yield f"{request.method}\n{path}\n{query}\n{rest}"
        raw = request.raw_query(without) if request.query else ""
        if (request.path, raw) != (path, query):
            yield f"{request.method}\n{request.path}\n{raw}\n{rest}"

    def _string_to_sign(self, canonical: str) -> str:
        digest = sha256(wire_bytes(canonical)).hexdigest()
        return f"{ALGORITHM}\n{self.timestamp}\n{self.credential.scope}\n{digest}"

    def _refusal(self, canonical: str, known: bool) -> S3Error:
        """Returns the error. Both errors are created in any case, so that the time of an answer does not reveal whether
        the key is known."""
        id = self.credential.access_key_id
        text = self._string_to_sign(canonical)
        unknown = S3Error("InvalidAccessKeyId", AWSAccessKeyId=id)
        mismatch = S3Error(
            "SignatureDoesNotMatch",
            AWSAccessKeyId=id,
            StringToSign=text,
            SignatureProvided=self.signature,
            StringToSignBytes=wire_bytes(text).hex(" "),
            CanonicalRequest=canonical,
            CanonicalRequestBytes=wire_bytes(canonical).hex(" "),
        )
        return mismatch if known else unknown


def canonical_headers(headers: Mapping[str, str], names: Sequence[str]) -> str:
    """Returns the headers, each with its line end. A signed header that is missing is empty, and the signature will not
    match."""
    return "".join([f"{name}:{_single_spaced(headers.get(name, ''))}\n" for name in names])


def refuse_unsigned(headers: Mapping[str, str], names: str) -> None:
    """Refuses a request unless the host and all of `x-amz-*` are signed. Otherwise, a stranger on the way could add
    them."""
    listed = names.split(";")
    signed = set(listed)
    if len(signed) != len(listed):  # a long header that is listed a thousand times would be a long text to hash
        raise S3Error("AuthorizationHeaderMalformed", "A header is listed more than once in SignedHeaders.")
    missing = [name for name in headers if name.startswith("x-amz-") and name not in signed]
    if "host" not in signed:
        missing.append("host")
    if missing:
        raise S3Error(
            "AccessDenied",
            "There were headers present in the request which were not signed",
            HeadersNotSigned=", ".join(sorted(missing)),
        )


def _single_spaced(value: str) -> str:
    return " ".join(value.split()) if "  " in value or "\t" in value else value


class HeaderV4:
    """A V4 signature in the Authorization header. Raises an error if it is malformed, too old or too new. The caller
    compares the body with `Identity.sha256`."""

    def __init__(self, request: SignedRequest, authorization: str, realm: Realm, now: float) -> None:
        fields = _fields(authorization)
        timestamp = _timestamp(request)
        credential = realm.credential(fields["Credential"], timestamp, _MALFORMED, _PREFIX)
        refuse_skewed(timestamp, now)
        hash = request.headers.get("x-amz-content-sha256")
        if hash is None:
            raise S3Error("InvalidRequest", "Missing required header for this request: x-amz-content-sha256")
        self._payload, self._sha256 = declared_payload(hash)
        refuse_unsigned(request.headers, fields["SignedHeaders"])
        self._request = request
        self.signed = Signed(credential, timestamp, fields["SignedHeaders"], fields["Signature"], hash)

    @property
    def access_key_id(self) -> str:
        return self.signed.credential.access_key_id

    @property
    def session_token(self) -> str | None:
        return self._request.headers.get("x-amz-security-token")

    def verify(self, secret: str | None) -> Identity:
        signed = self.signed
        key = signed.check(self._request, secret)
        return Identity(
            self.access_key_id,
            SignatureForm.V4_HEADER,
            self._payload,
            self._sha256,
            signed.credential.region,
            self.session_token,
            ChunkSeed(key, signed.signature, signed.timestamp, signed.credential.scope),
        )


def _fields(authorization: str) -> dict[str, str]:
    """Returns Credential, SignedHeaders and Signature, each given once, in any order."""
    found: dict[str, str] = {}
    for part in authorization[len(ALGORITHM) :].split(","):
        name, _, value = part.strip().partition("=")
        if name not in _FIELDS or name in found:
            raise S3Error(_MALFORMED, f"{_PREFIX}it is not a list of Credential, SignedHeaders and Signature.")
        found[name] = value
    for name in _FIELDS:
        if not found.get(name):
            raise S3Error(_MALFORMED, f"{_PREFIX}the authorization header requires {name}.")
    return found


def _timestamp(request: SignedRequest) -> str:
    """Returns the value of X-Amz-Date, or otherwise of Date, in ISO 8601's basic form."""
    amz_date = request.headers.get("x-amz-date")
    text = request.headers.get("date", "") if amz_date is None else amz_date
    if parse_iso_basic(text) is not None:
        return text
    seconds = parse_http_date(text)
    if seconds is None:
        raise S3Error("AccessDenied", "AWS authentication requires a valid Date or x-amz-date header")
    return iso_basic(seconds)
