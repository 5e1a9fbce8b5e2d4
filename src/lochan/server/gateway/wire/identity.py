"""Who asked, by which form of signature, and what the signature says of the body."""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple, Protocol

from lochan.server.gateway.wire.errors import S3Error


class SignatureForm(Enum):
    V4_HEADER = "v4 header"
    V4_QUERY = "v4 query"
    V4_POST = "v4 post"
    V2_HEADER = "v2 header"
    V2_QUERY = "v2 query"
    V2_POST = "v2 post"


class Payload(Enum):
    """How the body is protected; the values are those of `x-amz-content-sha256`, but for the first."""

    HASHED = "a SHA-256"
    UNSIGNED = "UNSIGNED-PAYLOAD"
    SIGNED_CHUNKS = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
    SIGNED_CHUNKS_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
    UNSIGNED_CHUNKS_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"

    @property
    def is_chunked(self) -> bool:
        return self in (self.SIGNED_CHUNKS, self.SIGNED_CHUNKS_TRAILER, self.UNSIGNED_CHUNKS_TRAILER)


class ChunkSeed(NamedTuple):
    """Where the chain of chunk signatures begins."""

    signing_key: bytes
    signature: str
    timestamp: str  # as in X-Amz-Date
    scope: str

    def __repr__(self) -> str:
        return f"ChunkSeed({self.timestamp}, {self.scope})"  # a key is for no log


class Identity(NamedTuple):
    """A tuple, because one is made for every request."""

    access_key_id: str
    form: SignatureForm
    payload: Payload
    sha256: str | None = None  # of the whole body, where it is HASHED
    region: str | None = None  # V2 knows none
    session_token: str | None = None
    seed: ChunkSeed | None = None  # of V4 in the header

    def __repr__(self) -> str:
        return f"Identity({self.access_key_id}, {self.form.value}, {self.payload.value})"


class Claim(Protocol):
    """A signature that is well-formed and of now; whether it holds needs the secret of its key."""

    @property
    def access_key_id(self) -> str: ...

    def verify(self, secret: str | None) -> Identity:
        """Raises SignatureDoesNotMatch, or InvalidAccessKeyId where there is no secret, after the same work."""


# Stands in for the secret of a key that does not exist, so that an unknown key takes as long as a wrong signature.
NOBODY: Final = "there is no such key, and this is nobody's secret"

_SHA256 = re.compile("[0-9a-f]{64}")
_BY_NAME: Final[Mapping[str, Payload]] = {
    payload.value: payload for payload in Payload if payload is not Payload.HASHED
}


def declared_payload(value: str) -> tuple[Payload, str | None]:
    """What `x-amz-content-sha256` says."""
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
    """For the forms of signature that do not cover a hash of the body: framed, if the headers say so."""
    value = headers.get("x-amz-content-sha256")
    if value is not None:
        return seedless(*declared_payload(value))
    coded = {coding.strip().lower() for coding in headers.get("content-encoding", "").split(",")}
    framed = "aws-chunked" in coded and "x-amz-decoded-content-length" in headers
    return (Payload.UNSIGNED_CHUNKS_TRAILER if framed else Payload.UNSIGNED), None


def seedless(payload: Payload, sha256: str | None) -> tuple[Payload, str | None]:
    """Only V4 in the header has a signature from which a chain of chunk signatures can begin."""
    if payload in (Payload.SIGNED_CHUNKS, Payload.SIGNED_CHUNKS_TRAILER):
        raise S3Error("InvalidRequest", "Signed chunks need a signature of version 4 in the header.")
    return payload, sha256
