"""Handles signatures in the query: links that work without a key for as long as they say, and not a second longer."""

from collections.abc import Collection, Mapping
from urllib.parse import quote

from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.header_values import iso_basic, iso_extended, parse_iso_basic
from lochan.server.gateway.wire.identity import (
    SKEW_SECONDS_MAX,
    Credential,
    Identity,
    Realm,
    SignatureForm,
    declared_payload,
    seedless,
    undeclared_payload,
)
from lochan.server.gateway.wire.signature_v2 import SIGNED_PARAMETERS, SignedV2
from lochan.server.gateway.wire.signature_v4 import ALGORITHM, Signed, refuse_unsigned
from lochan.server.gateway.wire.signed_request import Pairs, SignedRequest, decode_name, decode_uri

EXPIRES_SECONDS_MAX = 7 * 24 * 3600

_CODE = "AuthorizationQueryParametersError"
_V4 = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Signature",
    "X-Amz-Date",
    "X-Amz-SignedHeaders",
    "X-Amz-Expires",
)
_V4_OPTIONAL = ("X-Amz-Security-Token", "X-Amz-Content-Sha256")
_V2 = ("AWSAccessKeyId", "Signature", "Expires")
_V2_TOKEN = "x-amz-security-token"
# botocore adds these for the reader, as it adds `x-amz-…`; nobody reads them here
_V2_ECHOES = ("content-md5", "content-type")


class QueryV4:
    def __init__(self, request: SignedRequest, realm: Realm, now: float) -> None:
        found = _once(request.pairs, {*_V4, *_V4_OPTIONAL})
        if not all(found.get(name) for name in _V4):
            raise S3Error(_CODE, f"Query-string authentication version 4 requires the {', '.join(_V4)} parameters.")
        if found["X-Amz-Algorithm"] != ALGORITHM:
            raise S3Error(_CODE, f'X-Amz-Algorithm only supports "{ALGORITHM}"')
        timestamp = found["X-Amz-Date"]
        prefix = "Error parsing the X-Amz-Credential parameter; "
        credential = realm.credential(found["X-Amz-Credential"], timestamp, _CODE, prefix)
        _refuse_out_of_time(timestamp, found["X-Amz-Expires"], now)
        names = found["X-Amz-SignedHeaders"]
        refuse_unsigned(request.headers, names)
        hash = found.get("X-Amz-Content-Sha256") or request.headers.get("x-amz-content-sha256", "UNSIGNED-PAYLOAD")
        self._payload = seedless(*declared_payload(hash))
        self.session_token = found.get("X-Amz-Security-Token") or request.headers.get("x-amz-security-token")
        self._request = request
        self._signed = Signed(credential, timestamp, names, found["X-Amz-Signature"], hash)

    @property
    def access_key_id(self) -> str:
        return self._signed.credential.access_key_id

    def verify(self, secret: str | None) -> Identity:
        self._signed.check(self._request, secret, without="X-Amz-Signature")
        region = self._signed.credential.region
        return Identity(self.access_key_id, SignatureForm.V4_QUERY, *self._payload, region, self.session_token)


def presigned_query(
    request: SignedRequest, id: str, secret: str, region: str, now: int, expires_s: int, token: str = ""
) -> str:
    """Returns the query of a link for this request, whose headers are those that its user will send: the host. `token`
    is that of a session; `id` and `secret` are then those of the session."""
    timestamp = iso_basic(now)
    credential = Credential(id, timestamp[:8], region, "s3", "aws4_request")
    names = ";".join(sorted(request.headers))
    added = {
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": f"{id}/{credential.scope}",
        "X-Amz-Date": timestamp,
        "X-Amz-Expires": str(expires_s),
        "X-Amz-SignedHeaders": names,
        **({"X-Amz-Security-Token": token} if token else {}),
    }
    pairs = [*request.pairs, *((name, quote(value, safe="-_.~")) for name, value in added.items())]
    signed = SignedRequest(request.method, request.path, "&".join(f"{name}={value}" for name, value in pairs), [])
    signed.headers = request.headers
    signature = Signed(credential, timestamp, names, "", "UNSIGNED-PAYLOAD").made(signed, secret)
    return f"{signed.query}&X-Amz-Signature={signature}"


class QueryV2:
    def __init__(self, request: SignedRequest, now: float) -> None:
        found = _once(request.pairs, {*_V2, _V2_TOKEN})
        if not all(found.get(name) for name in _V2):
            raise S3Error("AccessDenied", f"Query-string authentication requires the {', '.join(_V2)} parameters")
        expires = found["Expires"]
        if not (expires.isascii() and expires.isdecimal() and len(expires) <= 12):
            raise S3Error("AccessDenied", "Invalid date (should be seconds since epoch): " + expires[:64])
        if now > int(expires):
            raise _expired_error(int(expires), now)
        if int(expires) - now > EXPIRES_SECONDS_MAX + SKEW_SECONDS_MAX:
            raise S3Error("AccessDenied", f"Expires must be less than a week ahead (in seconds): {EXPIRES_SECONDS_MAX}")
        _refuse_open(request.names)
        token = {name: value for name, value in found.items() if name == _V2_TOKEN}
        self._payload = undeclared_payload(request.headers)
        self.session_token = found.get(_V2_TOKEN) or request.headers.get("x-amz-security-token")
        self._request = request
        self._signed = SignedV2(found["AWSAccessKeyId"], found["Signature"], expires, token)
        self.access_key_id = found["AWSAccessKeyId"]

    def verify(self, secret: str | None) -> Identity:
        self._signed.check(self._request, secret)
        return Identity(self.access_key_id, SignatureForm.V2_QUERY, *self._payload, session_token=self.session_token)


def _refuse_open(names: frozenset[str]) -> None:
    """Refuses parameters that the signature does not cover, because the holder of a link could add or change them, such
    as the prefix of a list."""
    known = {*_V2, *_V2_ECHOES} | SIGNED_PARAMETERS
    loose = sorted(name for name in names if name not in known and not name.startswith("x-amz-"))
    if loose:
        raise S3Error(
            "AccessDenied",
            "The query has parameters that a version 2 signature does not cover; sign the link with version 4.",
            ParametersNotSigned=", ".join(loose)[:512],
        )


def is_v4(names: Collection[str]) -> bool:
    return "X-Amz-Algorithm" in names or "X-Amz-Signature" in names or "X-Amz-Credential" in names


def is_v2(names: Collection[str]) -> bool:
    return "AWSAccessKeyId" in names or "Signature" in names


def _once(pairs: Pairs, names: Collection[str]) -> Mapping[str, str]:
    """Returns the parameters of the signature itself. Raises an error if one comes twice, because it could be read in
    two ways."""
    found: dict[str, str] = {}
    for raw, value in pairs:
        name = decode_name(raw)
        if name in names:
            if name in found:
                raise S3Error(_CODE, f"The parameter {name} was given more than once.")
            # `+` stays: no such value contains a space, but base64 contains pluses, which some clients do not encode.
            found[name] = decode_uri(value)
    return found


def _refuse_out_of_time(timestamp: str, expires: str, now: float) -> None:
    start = parse_iso_basic(timestamp)
    if start is None:
        raise S3Error(_CODE, "X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"")
    digits = expires.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()):
        raise S3Error(_CODE, "X-Amz-Expires should be a number")
    if expires.startswith("-") or not digits.strip("0"):
        raise S3Error(_CODE, "X-Amz-Expires must be positive")
    if len(digits) > 9 or int(digits) > EXPIRES_SECONDS_MAX:
        raise S3Error(_CODE, f"X-Amz-Expires must be less than a week (in seconds): {EXPIRES_SECONDS_MAX}")
    if start - now > SKEW_SECONDS_MAX:
        raise S3Error("AccessDenied", "Request is not yet valid", ServerTime=_iso(now))
    if now > start + int(digits):
        raise _expired_error(start + int(digits), now, {"X-Amz-Expires": expires})


def _expired_error(end: int, now: float, fields: Mapping[str, str] | None = None) -> S3Error:
    return S3Error("AccessDenied", "Request has expired", **(fields or {}), Expires=_iso(end), ServerTime=_iso(now))


def _iso(seconds: float) -> str:
    return iso_extended(int(seconds)) + "Z"
