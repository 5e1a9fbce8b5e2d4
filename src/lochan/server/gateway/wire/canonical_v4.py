"""The canonical request of a V4 signature, and the comparison that header and query share."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.identity import NOBODY
from lochan.server.gateway.wire.realm import Credential
from lochan.server.gateway.wire.signed_request import SignedRequest, wire_bytes
from lochan.server.gateway.wire.signing_key import same, sign, signing_key

ALGORITHM = "AWS4-HMAC-SHA256"


class Signed(NamedTuple):
    """A V4 signature as the client gave it."""

    credential: Credential
    timestamp: str
    names: str  # of the signed headers, as listed
    signature: str
    payload: str  # the hash, or the word in its place

    def check(self, request: SignedRequest, secret: str | None, without: str = "") -> bytes:
        """The signing key. Raises SignatureDoesNotMatch or InvalidAccessKeyId. `without` is no part of the query."""
        credential = self.credential
        key = signing_key(NOBODY if secret is None else secret, credential.day, credential.region, credential.service)
        first = ""
        for canonical in self._canonical(request, without):
            text = self._string_to_sign(canonical)
            if same(sign(key, wire_bytes(text)), self.signature) and secret is not None:
                return key
            first = first or canonical
        raise self._refusal(first, known=secret is not None)

    def _canonical(self, request: SignedRequest, without: str) -> Iterator[str]:
        """Encoded as AWS does; then as the client did, for some sign what they send. Both mean the same bytes."""
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
        """Both are made, whichever it is: how long an answer takes does not tell whether the key is known."""
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
    """Each with its line end. A signed header that did not come is empty, and the signature will not match."""
    return "".join([f"{name}:{_single_spaced(headers.get(name, ''))}\n" for name in names])


def refuse_unsigned(headers: Mapping[str, str], names: str) -> None:
    """The host and all of `x-amz-*` must be signed, or a stranger on the way could add them."""
    listed = names.split(";")
    signed = set(listed)
    if len(signed) != len(listed):  # a long header listed a thousand times would be a long text to hash
        raise S3Error("AuthorizationHeaderMalformed", "A header is listed more than once among those that are signed.")
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
