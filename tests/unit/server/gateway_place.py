"""A gateway in this process. It signs requests and records answers as Granian gets them."""

import hmac
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import quote

from lochan.access.users import NewAccessKey
from lochan.api.session import ServerSession
from lochan.clock import SystemClock
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.lake import Lake
from lochan.server.gateway.app import App
from lochan.server.gateway.cached_verifier import VerifierCache
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.listing_page import ListCache
from lochan.server.gateway.request import S3Request
from lochan.server.gateway.request_log import _received_bytes
from lochan.server.settings import S3Settings

ACTOR = Actor("tests", "tests", "")
HOST = "127.0.0.1:8000"
REGION = "us-east-1"
Pairs = tuple[tuple[str, str], ...]


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Noted(NamedTuple):
    operation: str
    status: int
    sent: int
    user: str
    method: str
    path: str
    source: str
    used: tuple[str, str, str, int]  # bucket, ref, path inside it, bytes of the body that came or went


@dataclass(frozen=True)
class Asked:
    """A request as Granian shows it: the path decoded."""

    method: str
    path: str
    query_string: str
    pairs: Pairs
    body: bytes = b""
    client: str = "127.0.0.1:40000"
    scheme: str = "http"
    http_version: str = "1.1"
    headers: "AskedHeaders" = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "headers", AskedHeaders(self.pairs))

    def with_header(self, name: str, value: str | None) -> "Asked":
        """Another value, or without it."""
        rest = tuple(pair for pair in self.pairs if pair[0] != name)
        return replace(self, pairs=rest if value is None else (*rest, (name, value)))

    def adding(self, name: str, value: str) -> "Asked":
        return replace(self, pairs=(*self.pairs, (name, value)))


@dataclass(frozen=True)
class AskedHeaders:
    pairs: Pairs

    def items(self) -> list[tuple[str, str]]:
        """Granian drops a value that is not ASCII, but keeps its name."""
        return [pair for pair in self.pairs if pair[1].isascii()]

    def keys(self) -> list[str]:
        return list(dict.fromkeys(name for name, _ in self.pairs))

    def __len__(self) -> int:
        return len(self.pairs)


class Protocol:
    def __init__(self, body: bytes) -> None:
        self._body = body
        self.answer: Answer | None = None

    async def __call__(self) -> bytes:
        return self._body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for at in range(0, len(self._body), 10_000):
            yield self._body[at : at + 10_000]

    def response_empty(self, status: int, headers: list[tuple[str, str]]) -> None:
        self.response_bytes(status, headers, b"")

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        assert self.answer is None, "answered twice"
        assert len({name for name, _ in headers}) == len(headers)
        self.answer = Answer(status, dict(headers), bytes(body))

    def response_stream(self, status: int, headers: list[tuple[str, str]]) -> "Protocol":
        self.response_bytes(status, headers, b"")
        return self

    async def send_bytes(self, data: bytes) -> None:
        assert self.answer is not None
        self.answer = self.answer._replace(body=self.answer.body + data)


class NoVerifiers(VerifierCache):
    """Knows no verifier: every request takes the general path."""

    def learn(self, *known: object) -> None:
        pass


class NoListCache(ListCache):
    """A cache that never has a list."""

    def keep(self, *page: object) -> None:
        pass


class Place:
    """One gateway. `short` is how many went the short way."""

    def __init__(self, lake: Lake, *, fastpath: bool, settings: S3Settings) -> None:
        self.lake = lake
        self.short = 0
        self.noted: list[Noted] = []
        self.is_flat = settings.flat
        self._fastpath = fastpath
        self._settings = settings
        self.app = App(self._open, self._seen, self._read if fastpath else None)

    async def ask(self, asked: Asked, protocol: Protocol | None = None) -> Answer:
        protocol = protocol or Protocol(asked.body)
        await self.app.__rsgi__(asked, protocol)
        assert protocol.answer is not None, asked
        return protocol.answer

    async def _open(self) -> Gateway:
        gateway = Gateway(ServerSession(self.lake), self._settings, SystemClock(), Ids())
        if not self._fastpath:
            gateway.verifiers, gateway.list_cache = NoVerifiers(), NoListCache()
        return gateway

    def _seen(self, request: S3Request, operation: str, status: int, sent: int) -> None:
        ref, _, inside = ("main", "", request.key) if self.is_flat else request.key.partition("/")
        size = _received_bytes(request) if request.method == "PUT" else sent
        used = request.bucket, ref, inside, size
        self.noted.append(
            Noted(operation, status, sent, request.user, request.method, request.path, request.source, used)
        )

    def _read(self, operation: str, method: str, path: str, *more: Any) -> None:
        bucket, ref, inside, sent, _, source, user, _, received, access_key = more
        assert access_key, "the audit names the key"
        self.short += 1
        used = bucket, ref, inside, sent + received
        self.noted.append(Noted(operation, 200, sent, user, method, path, source, used))


def signed(
    who: NewAccessKey,
    method: str,
    path: str,
    query: str = "",
    *,
    headers: Mapping[str, str] = {},
    body: bytes = b"",
    payload: str = "",
    late: timedelta = timedelta(),
    host: str = HOST,
    day: str = "",
    also: tuple[str, ...] = (),
) -> Asked:
    """Version 4 in the header. `path` is decoded, `query` canonical. `also` are listed as signed, and do not come."""
    now = (datetime.now(UTC) - late).strftime("%Y%m%dT%H%M%SZ")
    payload = payload or sha256(body).hexdigest()
    own = {"host": host, "x-amz-content-sha256": payload, "x-amz-date": now, **headers}
    listed = sorted({*own, *also})
    lines = "".join(f"{name}:{own.get(name, '')}\n" for name in listed)
    canonical = f"{method}\n{quote(path, safe='/-_.~')}\n{query}\n{lines}\n{';'.join(listed)}\n{payload}"
    scope = f"{day or now[:8]}/{REGION}/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{sha256(canonical.encode('latin-1', 'replace')).hexdigest()}"
    key = f"AWS4{who.secret_access_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    authorization = (
        f"AWS4-HMAC-SHA256 Credential={who.access_key_id}/{scope}, "
        f"SignedHeaders={';'.join(listed)}, Signature={signature}"
    )
    length = (("content-length", str(len(body))),) if body or method == "PUT" else ()
    return Asked(method, path, query, (*own.items(), *length, ("authorization", authorization)), body)
