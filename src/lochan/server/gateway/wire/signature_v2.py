"""Handles a signature of version 2 in the Authorization header, and the string that its query form signs too."""

import hmac
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Final, NamedTuple
from urllib.parse import unquote

from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.header_values import parse_http_date, parse_iso_basic
from lochan.server.gateway.wire.identity import (
    NOBODY,
    Identity,
    SignatureForm,
    refuse_skewed_seconds,
    undeclared_payload,
)
from lochan.server.gateway.wire.signature_v4 import same
from lochan.server.gateway.wire.signed_request import SignedRequest, decode_name, wire_bytes

# The parameters of a query that version 2 signs: those that turn a request into another operation, or get another
# answer about an object. A test compares them with the routes. The parameters of a list (prefix, marker, …) are not
# signed, and a link cannot have them.
SIGNED_PARAMETERS: Final = frozenset(
    (
        *("accelerate", "acl", "analytics", "attributes", "cors", "defaultObjectAcl", "delete", "encryption"),
        *("intelligent-tiering", "inventory", "legal-hold", "lifecycle", "location", "logging"),
        *("metadataConfiguration", "metadataTable", "metrics", "notification", "object-lock", "ownershipControls"),
        *("partNumber", "policy", "policyStatus", "publicAccessBlock", "renameObject", "replication"),
        *("requestPayment", "restore", "retention", "select", "select-type", "session", "storageClass", "tagging"),
        *("torrent", "uploadId", "uploads", "versionId", "versioning", "versions", "website"),
        *("response-cache-control", "response-content-disposition", "response-content-encoding"),
        *("response-content-language", "response-content-type", "response-expires"),
    )
)
# In a value that is signed decoded, these would read as another parameter or another line.
_AMBIGUOUS = re.compile(r"[&\x00-\x1f\x7f]")


class HeaderV2:
    def __init__(self, request: SignedRequest, authorization: str, now: float) -> None:
        id, colon, signature = authorization[len("AWS ") :].strip().rpartition(":")
        if not colon or not id or not signature:
            raise S3Error(
                "InvalidArgument",
                "AWS authorization header is invalid. Expected AwsAccessKeyId:signature",
                ArgumentName="Authorization",
            )
        refuse_skewed_seconds(_seconds(request.headers), now)
        # A date in `x-amz-date` is signed among the headers, and its line here stays empty.
        date = "" if "x-amz-date" in request.headers else request.headers.get("date", "")
        self._payload = undeclared_payload(request.headers)
        self._request = request
        self._signed = SignedV2(id, signature, date)
        self.access_key_id = id
        self.session_token = request.headers.get("x-amz-security-token")

    def verify(self, secret: str | None) -> Identity:
        self._signed.check(self._request, secret)
        form = SignatureForm.V2_HEADER
        return Identity(self.access_key_id, form, *self._payload, session_token=self.session_token)


class SignedV2(NamedTuple):
    """A V2 signature. `date` is the line of the date: a date, nothing, or the time when a link expires."""

    access_key_id: str
    signature: str
    date: str
    amz_parameters: Mapping[str, str] | None = None  # parameters that are signed as if they were headers

    def check(self, request: SignedRequest, secret: str | None) -> None:
        """Raises SignatureDoesNotMatch or InvalidAccessKeyId if the signature does not hold."""
        first = ""
        for text in self._strings_to_sign(request):
            if same(sign_v2(NOBODY if secret is None else secret, wire_bytes(text)), self.signature) and secret:
                return
            first = first or text
        raise self._refusal(first, known=secret is not None)

    def _strings_to_sign(self, request: SignedRequest) -> Iterator[str]:
        """Yields the strings as the client wrote them, then as AWS would. A server may only know the decoded path, and
        some clients sign `?uploads=` with its `=` and some without. All of them mean the same."""
        headers = request.headers
        lines = (request.method, headers.get("content-md5", ""), headers.get("content-type", ""), self.date)
        head = "\n".join(lines) + "\n" + _amz_headers(headers, self.amz_parameters or {})
        bucket = f"/{request.bucket}" if request.bucket else ""
        written, bare = _signed_parameters(request.query)
        paths = [request.path, request.canonical_path]
        if not bucket and "/" not in request.path[1:]:  # for a bucket alone, some sign a slash that they did not send
            paths.append(f"{request.path}/")
        for path in dict.fromkeys(paths):
            for parameters in dict.fromkeys((written, bare)):
                yield f"{head}{bucket}{path}{parameters}"

    def _refusal(self, text: str, known: bool) -> S3Error:
        """Returns the error. Both errors are created in any case, so that the time of an answer does not reveal whether
        the key is known."""
        unknown = S3Error("InvalidAccessKeyId", AWSAccessKeyId=self.access_key_id)
        mismatch = S3Error(
            "SignatureDoesNotMatch",
            AWSAccessKeyId=self.access_key_id,
            StringToSign=text,
            SignatureProvided=self.signature,
            StringToSignBytes=wire_bytes(text).hex(" "),
        )
        return mismatch if known else unknown


def sign_v2(secret: str, text: bytes) -> str:
    return b64encode(hmac.digest(secret.encode(), text, "sha1")).decode()


def _amz_headers(headers: Mapping[str, str], parameters: Mapping[str, str]) -> str:
    """Returns the headers, each with its line end, sorted by name."""
    found = {name: value for name, value in headers.items() if name.startswith("x-amz-")} | dict(parameters)
    return "".join([f"{name}:{found[name]}\n" for name in sorted(found)])


def _signed_parameters(query: str) -> tuple[str, str]:
    """Returns the parameters sorted by name, with decoded values: as they were written, and without the `=` of empty
    values."""
    pairs = [(decode_name(name), equals, value) for name, equals, value in _split_query(query)]
    found = sorted((pair for pair in pairs if pair[0] in SIGNED_PARAMETERS), key=itemgetter(0))
    if not found:
        return "", ""
    # Decoded byte by byte, like headers, because the string to sign consists of bytes.
    decoded = [(name, equals, _decoded_value(name, value)) for name, equals, value in found]
    written = [f"{name}{equals}{value}" for name, equals, value in decoded]
    bare = [f"{name}={value}" if value else name for name, _, value in decoded]
    return "?" + "&".join(written), "?" + "&".join(bare)


def _split_query(query: str) -> Iterator[tuple[str, str, str]]:
    return (pair.partition("=") for pair in query.split("&"))


def _decoded_value(name: str, value: str) -> str:
    """Returns the decoded value. Raises AccessDenied if the text to sign could be that of another request."""
    decoded = unquote(value, "latin-1")
    if _AMBIGUOUS.search(decoded):
        raise S3Error(
            "AccessDenied",
            f"A version 2 signature cannot cover an ampersand or a control character in {name}; sign with version 4.",
        )
    return decoded


def _seconds(headers: Mapping[str, str]) -> int:
    amz_date = headers.get("x-amz-date")
    text = headers.get("date", "") if amz_date is None else amz_date
    seconds = parse_http_date(text)
    if seconds is None:
        seconds = parse_iso_basic(text)
    if seconds is None:
        raise S3Error("AccessDenied", "AWS authentication requires a valid Date or x-amz-date header")
    return seconds
