"""Requests signed by botocore, as a server would see them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from lochan.server.gateway.authentication import read_claim
from lochan.server.gateway.wire.identity import Identity, Realm
from lochan.server.gateway.wire.signed_request import SignedRequest

KEY_ID = "AKIAIOSFODNN7EXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
REGION = "us-east-1"
NOW = int(datetime(2026, 5, 24, 10, 30, tzinfo=UTC).timestamp())
REALM = Realm(REGION, takes_v2=True)
HOST = "s3.lake.example:8000"


@dataclass(frozen=True)
class Sent:
    """What went over the wire."""

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    bucket: str | None = None

    def request(self) -> SignedRequest:
        return SignedRequest(self.method, self.path, self.query, self.headers, self.bucket)

    def having(self, **changes: Any) -> "Sent":
        return replace(self, **changes)

    def with_header(self, name: str, value: str | None) -> "Sent":
        """Another value, or without it."""
        rest = tuple(pair for pair in self.headers if pair[0].lower() != name.lower())
        return replace(self, headers=rest if value is None else (*rest, (name, value)))

    def adding(self, name: str, value: str) -> "Sent":
        return replace(self, headers=(*self.headers, (name, value)))

    def adding_query(self, more: str) -> "Sent":
        return replace(self, query="&".join(filter(None, (self.query, more))))

    def header(self, name: str) -> str:
        return next(value for key, value in self.headers if key.lower() == name.lower())


def secrets(access_key_id: str) -> str | None:
    return {KEY_ID: SECRET}.get(access_key_id)


def check(sent: Sent, now: float = NOW, realm: Realm = REALM) -> Identity | None:
    return authenticate(sent.request(), realm, secrets, now)


def sign(
    form: str,
    method: str = "GET",
    path: str = "/bucket/main/a.csv",
    query: str = "",
    headers: dict[str, str] | None = None,
    body: bytes = b"",
    expires: int = 3600,
    at: int = NOW,
    auth_path: str | None = None,
    token: str | None = None,
) -> Sent:
    url = f"http://{HOST}{path}" + (f"?{query}" if query else "")
    body = b"" if form.endswith("query") else body  # a link is signed without knowing what will be sent
    request = AWSRequest(method, url, {"Host": HOST, **(headers or {})}, body, auth_path=auth_path)
    request.context["timestamp"] = datetime.fromtimestamp(at, UTC).strftime("%Y%m%dT%H%M%SZ")
    credentials = Credentials(KEY_ID, SECRET, token)
    moment = datetime.fromtimestamp(at, UTC).replace(tzinfo=None)
    with (
        patch("botocore.auth.get_current_datetime", lambda: moment),
        patch("botocore.auth.time.time", lambda: float(at)),
        patch("botocore.auth.formatdate", lambda usegmt: moment.strftime("%a, %d %b %Y %H:%M:%S GMT")),
    ):
        _signer(form, credentials, expires).add_auth(request)
    parts = urlsplit(request.url)
    sent = tuple((name, value) for name, value in request.headers.items())
    return Sent(request.method, parts.path, parts.query, sent)


def _signer(form: str, credentials: Credentials, expires: int) -> Any:
    if form == "v4 header":
        return auth.S3SigV4Auth(credentials, "s3", REGION)
    if form == "v4 query":
        return auth.S3SigV4QueryAuth(credentials, "s3", REGION, expires)
    if form == "v2 header":
        return auth.HmacV1Auth(credentials)
    return auth.HmacV1QueryAuth(credentials, expires)


def authenticate(
    request: SignedRequest, realm: Realm, secrets: Callable[[str], str | None], now: float
) -> Identity | None:
    """Authenticates in one step, as a server does. None is an anonymous request."""
    claim = read_claim(request, realm, now)
    return None if claim is None else claim.verify(secrets(claim.access_key_id))
