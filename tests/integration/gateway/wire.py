"""Builds requests byte by byte: signed in every form, corrupted where a test needs it, sent over a socket."""

import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.servers.lochan import LochanServer

FORMS = ("v4 header", "v4 query", "v2 header", "v2 query")
REGION = "us-east-1"


@dataclass(frozen=True)
class Sent:
    """A request as it goes over the wire."""

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""

    def with_header(self, name: str, value: str | None) -> "Sent":
        """Another value, or without it."""
        rest = tuple(pair for pair in self.headers if pair[0].lower() != name.lower())
        return replace(self, headers=rest if value is None else (*rest, (name, value)))

    def adding(self, name: str, value: str) -> "Sent":
        return replace(self, headers=(*self.headers, (name, value)))

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    def head(self) -> bytes:
        target = self.path + (f"?{self.query}" if self.query else "")
        lines = [f"{self.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in self.headers)]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def encoded(self) -> bytes:
        return self.head() + self.body


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """S3's code of an error; empty if there is no body."""
        return self.body.partition(b"<Code>")[2].partition(b"</Code>")[0].decode()


class Wire:
    """One connection."""

    def __init__(self, address: str, timeout: float = 20.0) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def half_close(self) -> None:
        with suppress(OSError):  # the other side may have hung up
            self._socket.shutdown(socket.SHUT_WR)

    def ask(self, sent: Sent) -> Answer:
        """A server may answer and hang up before it has read a body."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self.send(sent.encoded())
        return self.answer(head=sent.method == "HEAD")

    def answer(self, *, head: bool = False) -> Answer:
        """The next one. Raises EOFError where the connection was closed instead."""
        status, headers = self._head()
        while status == 100:
            status, headers = self._head()
        return Answer(status, headers, b"" if head or status in (204, 304) else self._body(headers))

    def interim(self) -> int:
        """The status of the next head, which may be 100."""
        return self._head()[0]

    def is_silent(self, seconds: float) -> bool:
        """Whether nothing comes for so long."""
        if self._buffer:
            return False
        self._socket.settimeout(seconds)
        try:
            self._buffer = self._socket.recv(65536)
            return False
        except TimeoutError:
            return True
        finally:
            self._socket.settimeout(20.0)

    def is_closed(self, seconds: float = 5.0) -> bool:
        """Whether the other side hangs up, without another word."""
        self._socket.settimeout(seconds)
        try:
            return not self._buffer and not self._socket.recv(1)
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False

    def _head(self) -> tuple[int, dict[str, str]]:
        while b"\r\n\r\n" not in self._buffer:
            self._more()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}

    def _body(self, headers: dict[str, str]) -> bytes:
        if "content-length" in headers:
            length = int(headers["content-length"])
            while len(self._buffer) < length:
                self._more()
            body, self._buffer = self._buffer[:length], self._buffer[length:]
            return body
        if headers.get("transfer-encoding") != "chunked":
            return self._rest()
        pieces = []
        while piece := self._chunk():
            pieces.append(piece)
        return b"".join(pieces)

    def _rest(self) -> bytes:
        with suppress(EOFError):
            while True:
                self._more()
        body, self._buffer = self._buffer, b""
        return body

    def _chunk(self) -> bytes:
        while b"\r\n" not in self._buffer:
            self._more()
        size, _, self._buffer = self._buffer.partition(b"\r\n")
        length = int(size, 16)
        while len(self._buffer) < length + 2:
            self._more()
        piece, self._buffer = self._buffer[:length], self._buffer[length + 2 :]
        return piece

    def _more(self) -> None:
        try:
            data = self._socket.recv(65536)
        except ConnectionResetError:
            data = b""
        if not data:
            raise EOFError("the connection was closed")
        self._buffer += data


def unsigned(
    server: LochanServer,
    method: str,
    path: str,
    query: str = "",
    headers: Iterable[tuple[str, str]] = (),
    body: bytes = b"",
) -> Sent:
    length = (("Content-Length", str(len(body))),) if body or method in ("PUT", "POST") else ()
    return Sent(method, path, query, (("Host", server.s3), *headers, *length), body)


def signed(
    server: LochanServer,
    form: str,
    method: str,
    path: str,
    query: str = "",
    headers: dict[str, str] | None = None,
    body: bytes = b"",
    *,
    key: str = "",
    secret: str = "",
    expires: int = 600,
    ago: timedelta = timedelta(0),
    token: str | None = None,
) -> Sent:
    """A request as botocore signs it. `ago`: how long ago it was signed; `token`: a session token."""
    url = f"http://{server.s3}{path}" + (f"?{query}" if query else "")
    request = AWSRequest(method, url, {"Host": server.s3, **(headers or {})}, b"" if form.endswith("query") else body)
    moment = datetime.now(UTC) - ago
    request.context["timestamp"] = moment.strftime("%Y%m%dT%H%M%SZ")
    credentials = Credentials(key or server.access_key, secret or server.secret_key, token)
    with (
        patch("botocore.auth.get_current_datetime", lambda: moment.replace(tzinfo=None)),
        patch("botocore.auth.time.time", moment.timestamp),
        patch("botocore.auth.formatdate", lambda usegmt: moment.strftime("%a, %d %b %Y %H:%M:%S GMT")),
    ):
        signer = _signer(form, credentials, expires)
        if "x-amz-content-sha256" in (headers or {}):  # else botocore says what it thinks itself
            signer.payload = lambda _: (headers or {})["x-amz-content-sha256"]
        signer.add_auth(request)
    parts = urlsplit(request.url)
    fields = [(name, value) for name, value in request.headers.items()]
    if body or method in ("PUT", "POST"):
        fields.append(("Content-Length", str(len(body))))
    return Sent(method, parts.path, parts.query, tuple(fields), body)


def _signer(form: str, credentials: Credentials, expires: int) -> Any:
    if form == "v4 header":
        return auth.S3SigV4Auth(credentials, "s3", REGION)
    if form == "v4 query":
        return auth.S3SigV4QueryAuth(credentials, "s3", REGION, expires)
    if form == "v2 header":
        return auth.HmacV1Auth(credentials)
    return auth.HmacV1QueryAuth(credentials, expires)
