"""A signature of version 4 in the Authorization header."""

from lochan.server.gateway.wire.canonical_v4 import ALGORITHM, Signed, refuse_unsigned
from lochan.server.gateway.wire.dates import iso_basic, parse_http_date, parse_iso_basic
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.identity import ChunkSeed, Form, Identity, declared_payload
from lochan.server.gateway.wire.realm import Realm
from lochan.server.gateway.wire.signed_request import SignedRequest
from lochan.server.gateway.wire.skew import refuse_skewed

_MALFORMED = "AuthorizationHeaderMalformed"
_PREFIX = "The authorization header is malformed; "
_FIELDS = ("Credential", "SignedHeaders", "Signature")


class HeaderV4:
    """Raises for what is malformed, too old or too new. The body is the caller's to compare with `Identity.sha256`."""

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

    def verify(self, secret: str | None) -> Identity:
        signed = self.signed
        key = signed.check(self._request, secret)
        return Identity(
            self.access_key_id,
            Form.V4_HEADER,
            self._payload,
            self._sha256,
            signed.credential.region,
            self._request.headers.get("x-amz-security-token"),
            ChunkSeed(key, signed.signature, signed.timestamp, signed.credential.scope),
        )


def _fields(authorization: str) -> dict[str, str]:
    """Credential, SignedHeaders and Signature, each once, in any order."""
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
    """Of X-Amz-Date, else of Date, in ISO 8601's basic form."""
    amz_date = request.headers.get("x-amz-date")
    text = request.headers.get("date", "") if amz_date is None else amz_date
    if parse_iso_basic(text) is not None:
        return text
    seconds = parse_http_date(text)
    if seconds is None:
        raise S3Error("AccessDenied", "AWS authentication requires a valid Date or x-amz-date header")
    return iso_basic(seconds)
