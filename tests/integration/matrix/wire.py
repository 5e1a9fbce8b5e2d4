"""Sends what the matrix asks, signed by whoever asks: to a server, by connections that stay open."""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import md5, sha256
from http.client import HTTPConnection, RemoteDisconnected
from json import dumps
from typing import NamedTuple, Protocol
from urllib.parse import quote

from tests.integration.matrix.requests import Sent
from tests.integration.matrix.world import Credentials

REGION = "us-east-1"


class Answer(NamedTuple):
    status: int
    body: bytes


class Transport(Protocol):
    def send(self, sent: Sent, headers: Mapping[str, str]) -> Answer: ...

    def host(self, door: str) -> str: ...


class HttpTransport:
    def __init__(self, api: str, s3: str) -> None:
        self._hosts = {"api": api, "s3": s3}
        self._open: dict[str, HTTPConnection] = {}

    def host(self, door: str) -> str:
        return self._hosts[door]

    def send(self, sent: Sent, headers: Mapping[str, str]) -> Answer:
        """A connection that the server has closed meanwhile is opened again, once."""
        try:
            return self._send(sent, headers)
        except (BrokenPipeError, ConnectionResetError, RemoteDisconnected):
            self._open.pop(sent.door).close()
            return self._send(sent, headers)

    def _send(self, sent: Sent, headers: Mapping[str, str]) -> Answer:
        connection = self._open.get(sent.door)
        if connection is None:
            connection = self._open[sent.door] = HTTPConnection(self._hosts[sent.door], timeout=120)
        target = quote(sent.path, safe="/+%-_.~") if sent.door == "s3" else sent.path
        connection.request(sent.method, f"{target}?{sent.query}" if sent.query else target, sent.body, dict(headers))
        answer = connection.getresponse()
        return Answer(answer.status, answer.read())

    def close(self) -> None:
        for each in self._open.values():
            each.close()


def ask(transport: Transport, sent: Sent, who: Credentials) -> Answer:
    if sent.door == "s3" and sent.method == "POST" and sent.body == b"" and not sent.query:
        return transport.send(*_form(sent, who))
    if sent.door == "s3":
        return transport.send(sent, _signed(sent, who, transport.host("s3")) if who.id else dict(sent.headers))
    headers = {"content-type": sent.media} if sent.media else {}
    if who.token:
        headers["authorization"] = f"Bearer {who.token}"
    elif who.id:
        headers["authorization"] = "Basic " + b64encode(f"{who.id}:{who.secret}".encode()).decode()
    return transport.send(sent, headers)


def _signed(sent: Sent, who: Credentials, host: str) -> dict[str, str]:
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    payload = sha256(sent.body or b"").hexdigest()
    own = {"host": host, "x-amz-content-sha256": payload, "x-amz-date": now, **sent.headers}
    if sent.body and sent.method == "POST":
        own["content-md5"] = b64encode(md5(sent.body).digest()).decode()
    if who.token:
        own["x-amz-security-token"] = who.token
    lines = "".join(f"{name}:{own[name]}\n" for name in sorted(own))
    names = ";".join(sorted(own))
    path = quote(sent.path, safe="/-_.~")
    canonical = f"{sent.method}\n{path}\n{'&'.join(sorted(sent.query.split('&')))}\n{lines}\n{names}\n{payload}"
    scope = f"{now[:8]}/{REGION}/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
    signature = hmac.digest(_key(who, scope), text.encode(), "sha256").hex()
    credential = f"AWS4-HMAC-SHA256 Credential={who.id}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**own, "authorization": credential}


def _key(who: Credentials, scope: str) -> bytes:
    key = f"AWS4{who.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def _form(sent: Sent, who: Credentials) -> tuple[Sent, dict[str, str]]:
    """An upload as a browser sends it; the scope's key is in a header of its own until then."""
    now = datetime.now(UTC)
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{REGION}/s3/aws4_request"
    fields = {"key": sent.headers["key"]}
    if who.id:
        fields |= {
            "x-amz-algorithm": "AWS4-HMAC-SHA256",
            "x-amz-credential": f"{who.id}/{scope}",
            "x-amz-date": stamp,
        }
        if who.token:
            fields["x-amz-security-token"] = who.token
        conditions = [{"bucket": sent.path.strip("/")}, *({name: value} for name, value in fields.items())]
        ends = (now + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        policy = b64encode(dumps({"expiration": ends, "conditions": conditions}).encode()).decode()
        fields["policy"] = policy
        fields["x-amz-signature"] = hmac.digest(_key(who, scope), policy.encode(), "sha256").hex()
    mark = "matrix-form-boundary"
    parts = [
        f'--{mark}\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    parts.append(
        f'--{mark}\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\nbody of a form\r\n--{mark}--\r\n'
    )
    body = "".join(parts).encode()
    return sent._replace(body=body), {"content-type": f"multipart/form-data; boundary={mark}"}
