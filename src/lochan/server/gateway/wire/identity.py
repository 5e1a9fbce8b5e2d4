"""Describes who sent a request, by which form of signature, and what the signature says about the body. Also describes
what a signature must be like here: which versions are accepted, what a V4 credential must name, and how far a client's
clock may be from ours."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple, Protocol

from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.header_values import iso_basic, iso_millis, parse_iso_basic

V2_SETTING: Final = "gateways.s3.signature_v2"
SKEW_SECONDS_MAX = 15 * 60


class SignatureForm(Enum):
    V4_HEADER = "v4 header"
    V4_QUERY = "v4 query"
    V4_POST = "v4 post"
    V2_HEADER = "v2 header"
    V2_QUERY = "v2 query"
    V2_POST = "v2 post"


class Payload(Enum):
    """How the body is protected. The values are those of `x-amz-content-sha256`, except the first."""

    HASHED = "a SHA-256"
    UNSIGNED = "UNSIGNED-PAYLOAD"
    SIGNED_CHUNKS = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
    SIGNED_CHUNKS_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
    UNSIGNED_CHUNKS_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"

    @property
    def is_chunked(self) -> bool:
        return self in (self.SIGNED_CHUNKS, self.SIGNED_CHUNKS_TRAILER, self.UNSIGNED_CHUNKS_TRAILER)


class ChunkSeed(NamedTuple):
    """What the chain of chunk signatures begins with."""

    signing_key: bytes
    signature: str
    timestamp: str  # as in X-Amz-Date
    scope: str

    def __repr__(self) -> str:
        return f"ChunkSeed({self.timestamp}, {self.scope})"  # a key must not appear in a log


class Identity(NamedTuple):
    """Who sent a request. It is a tuple, because one is made for every request."""

    access_key_id: str
    form: SignatureForm
    payload: Payload
    sha256: str | None = None  # the hash of the whole body, if it is HASHED
    region: str | None = None  # None for V2, which has no regions
    session_token: str | None = None
    seed: ChunkSeed | None = None  # only for V4 in the header

    def __repr__(self) -> str:
        return f"Identity({self.access_key_id}, {self.form.value}, {self.payload.value})"


class Claim(Protocol):
    """A signature that is well-formed and recent. Whether it holds can only be checked with the secret of its key."""

    @property
    def access_key_id(self) -> str: ...

    @property
    def session_token(self) -> str | None: ...

    def verify(self, secret: str | None) -> Identity:
        """Returns the identity. Raises SignatureDoesNotMatch, or InvalidAccessKeyId if there is no secret, after the
        same work."""


# Replaces the secret of a key that does not exist, so that an unknown key takes as long as a wrong signature.
NOBODY: Final = "there is no such key, and this is nobody's secret"

_SHA256 = re.compile("[0-9a-f]{64}")
_BY_NAME: Final[Mapping[str, Payload]] = {
    payload.value: payload for payload in Payload if payload is not Payload.HASHED
}


def declared_payload(value: str) -> tuple[Payload, str | None]:
    """Returns what `x-amz-content-sha256` says."""
    if _SHA256.fullmatch(value):
        return Payload.HASHED, value
    known = _BY_NAME.get(value)
    if known is not None:
        return known, None
    if value.startswith("STREAMING-"):
        raise S3Error("NotImplemented", f"The payload form {value[:64]} is not implemented.")
    raise S3Error(
        "InvalidArgument",
        "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-UNSIGNED-PAYLOAD-TRAILER, "
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD, STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER or a valid sha256 value.",
        ArgumentName="x-amz-content-sha256",
        ArgumentValue=value[:256],
    )


def undeclared_payload(headers: Mapping[str, str]) -> tuple[Payload, str | None]:
    """Returns the payload for the forms of signature that do not cover a hash of the body. It is framed if the headers
    say so."""
    value = headers.get("x-amz-content-sha256")
    if value is not None:
        return seedless(*declared_payload(value))
    coded = {coding.strip().lower() for coding in headers.get("content-encoding", "").split(",")}
    framed = "aws-chunked" in coded and "x-amz-decoded-content-length" in headers
    return (Payload.UNSIGNED_CHUNKS_TRAILER if framed else Payload.UNSIGNED), None


def seedless(payload: Payload, sha256: str | None) -> tuple[Payload, str | None]:
    """Returns the payload. Raises InvalidRequest for signed chunks: only V4 in the header has a signature from which a
    chain of chunk signatures can begin."""
    if payload in (Payload.SIGNED_CHUNKS, Payload.SIGNED_CHUNKS_TRAILER):
        raise S3Error("InvalidRequest", "Signed chunks need a signature of version 4 in the header.")
    return payload, sha256


class Credential(NamedTuple):
    access_key_id: str
    day: str
    region: str
    service: str
    terminal: str

    @property
    def scope(self) -> str:
        return f"{self.day}/{self.region}/{self.service}/{self.terminal}"


@dataclass(frozen=True, slots=True)
class Realm:
    """What a signature must be made for. If `region` is None, any region is accepted: clients that do not know the
    region send one of their own."""

    region: str | None = None
    service: str = "s3"
    takes_v2: bool = False

    def refuse_v2(self) -> None:
        """Raises InvalidRequest if V2 is not accepted, in the words that tell old clients to sign with version 4."""
        if not self.takes_v2:
            raise S3Error(
                "InvalidRequest",
                "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256. "
                f"Version 2 signatures are turned off on this server; the setting {V2_SETTING} turns them on.",
            )

    def credential(self, text: str, timestamp: str, code: str, prefix: str) -> Credential:
        """Parses a credential. Raises an error with the given `code`. `timestamp` is that of the request, and its day
        must be the credential's."""
        parts = text.rsplit("/", 4)  # an access key may contain slashes; the parts that follow it may not
        if len(parts) != 5 or not parts[0]:
            raise S3Error(
                code,
                f'{prefix}the Credential is mal-formed; expecting "<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request".',
            )
        found = Credential(*parts)
        if fault := self._fault(found, timestamp):
            fields = {"Region": self.region} if self.region else {}
            raise S3Error(code, f"{prefix}{fault}", **fields)
        return found

    def _fault(self, found: Credential, timestamp: str) -> str:
        if found.terminal != "aws4_request":
            return f'incorrect terminal "{found.terminal}". This endpoint uses "aws4_request".'
        if found.service != self.service:
            return f'incorrect service "{found.service}". This endpoint belongs to "{self.service}".'
        if not found.region or (self.region is not None and found.region != self.region):
            return f"the region '{found.region}' is wrong; expecting '{self.region or 'the name of a region'}'"
        if found.day != timestamp[:8]:
            return f'Invalid credential date "{found.day}". This date is not the same as X-Amz-Date: "{timestamp[:8]}".'
        return ""


def refuse_skewed(timestamp: str, now: float) -> None:
    """Raises RequestTimeTooSkewed for a request that is too old or too new, because an old request may be a replay.
    `timestamp` is in ISO 8601's basic form."""
    seconds = parse_iso_basic(timestamp)
    if seconds is None or abs(now - seconds) > SKEW_SECONDS_MAX:
        raise S3Error(
            "RequestTimeTooSkewed",
            RequestTime=timestamp,
            ServerTime=iso_millis(int(now * 1_000_000)),
            MaxAllowedSkewMilliseconds=str(SKEW_SECONDS_MAX * 1000),
        )


def refuse_skewed_seconds(seconds: int, now: float) -> None:
    refuse_skewed(iso_basic(seconds), now)
