"""PutObject the short way: of a small body in one piece to a branch, by a signature of version 4 in the header, with no
query and no condition.

    headers ──▶ who, what is kept ──▶ look at the lake ──▶ may they? ──▶ body ──▶ pack ──▶ journal ──▶ answer
       └──────────────┴────────────────────┴─────────────────┴────────────┴──▶ the general way, from the beginning

What would be refused goes the general way before its body is read; what its body gives away, with the body in hand.
From the pack on there is no way back, and errors are told as they are told there.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Any

import msgspec
from granian.rsgi import ProtocolClosed  # type: ignore[attr-defined]

from lochan.errors import LochanError
from lochan.formats.entry import Entry
from lochan.formats.record import Actor
from lochan.server.gateway.authentication import now
from lochan.server.gateway.fastpath.note import Note
from lochan.server.gateway.fastpath.patience import Patience
from lochan.server.gateway.fastpath.taken import Taken
from lochan.server.gateway.fastpath.targets import Target, Targets
from lochan.server.gateway.gateway import CLIENT, Gateway
from lochan.server.gateway.header_shapes import Write
from lochan.server.gateway.looking import checksum_headers
from lochan.server.gateway.request import Request
from lochan.server.gateway.signature_plans import SIGNATURE_DIGITS, Plan
from lochan.server.gateway.storing import Told, told
from lochan.server.gateway.wire.addressing import host_bucket
from lochan.server.gateway.wire.checksums import content_md5, declared_checksum
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.uri import canonical_path
from lochan.versioning.bodies.body import PACKED_BYTES_MAX, HashedBody, ready

OPERATION = "PutObject"
SERVER = ("server", "Lochan")

_NO_BODY = ("content-length", "0")
_UNSIGNED = "UNSIGNED-PAYLOAD"
_PAYLOAD = re.compile(f"[0-9a-f]{{64}}|{_UNSIGNED}")
_LENGTH = re.compile("[0-9]{1,6}")  # and so no more than a pack takes, or not much
_TOLD_MAX = 1_024
_TOLD_LETTERS_MAX = 1_024  # of each: some 2 MB in all

Failed = Callable[[Request, str, Exception], Awaitable[None]]


class Said(msgspec.Struct, frozen=True):
    """By the headers: who it is, and what they say of an object and its body."""

    plan: Plan
    path: str  # of the request
    length: int
    payload: str
    told: Told
    md5: str | None
    checksums: Mapping[str, str | None]


class Writes:
    def __init__(self, gateway: Gateway, note: Note, failed: Failed) -> None:
        """`note` is told of every answer, and `failed` answers where it is an error."""
        self._gateway = gateway
        self._lake = gateway.access.journal
        self._targets = Targets(gateway)
        self._note = note
        self._failed = failed
        self._patience = Patience(gateway.settings.idle_s)
        self._told: dict[tuple[str, ...], Told] = {}  # by the names and values of what is kept

    async def answered(self, scope: Any, protocol: Any, arrived: float) -> Any:
        """None, or else the other side to go the general way with: it is not so plain, and nothing has been done, but
        for a body that was taken."""
        said = self._said(scope)
        if said is None or not await self._has_looked(arrived):
            return protocol
        target = self._targets.find(said.plan, said.path)
        if target is None:
            return protocol
        self._gateway.guard.authenticated(scope.client)  # before the body, which may be slow
        try:
            data = await self._patience.body(protocol)
        except (TimeoutError, ProtocolClosed) as error:
            return Taken(protocol, error)
        small = _checked(said, target.path, data)
        if small is None:
            return Taken(protocol, data)
        user, source = said.plan.user, scope.client
        repository, branch = target.repository, target.branch
        try:
            await self._gateway.packing(repository).stage(small, branch, Actor(user, CLIENT, source))
        except Exception as error:
            await self._failed(self._request(scope, protocol, arrived, target, user), OPERATION, error)
            return None
        repository.staged(branch)
        id = self._answer(protocol, small.entry)
        bucket, path = target.bucket, target.path
        self._note(OPERATION, "PUT", said.path, bucket, branch, path, 0, arrived, source, user, id, said.length)
        return None

    def _said(self, scope: Any) -> Said | None:
        """None: it is no plain write, or one that will be refused."""
        pairs = scope.headers.items()
        headers: dict[str, str] = dict(pairs)
        length, payload = headers.get("content-length", ""), headers.get("x-amz-content-sha256", "")
        if scope.query_string or not _LENGTH.fullmatch(length) or not _PAYLOAD.fullmatch(payload):
            return None
        path = scope.path
        plan = self._signed_by(path, headers, payload)
        write = None if plan is None else plan.shape(headers).write
        size = int(length)
        if plan is None or write is None or not 0 < size <= PACKED_BYTES_MAX:
            return None
        if not len(pairs) == len(headers) == len(scope.headers):  # several of one name, or one that is not ASCII
            return None
        try:
            kept = self._kept(write, headers)
            md5, checksums = _declared(headers) if write.is_declared else _NOTHING
        except S3Error:
            return None
        return Said(plan, path, size, payload, kept, md5, checksums)

    def _signed_by(self, path: str, headers: dict[str, str], payload: str) -> Plan | None:
        """How one was let in before that was signed by the same key, with the same headers."""
        gateway, authorization = self._gateway, headers.get("authorization", "")
        plan = gateway.plans.find(authorization)
        signature, signed_path = authorization[-SIGNATURE_DIGITS:], canonical_path(path.replace("%", "%25"))
        if not plan.holds(signature, "PUT", signed_path, "", headers, payload, now(gateway)) or path[:1] != "/":
            return None
        return None if gateway.domains and host_bucket(headers["host"], gateway.domains) else plan

    def _kept(self, write: Write, headers: dict[str, str]) -> Told:
        """What is kept with the object: of a client it is mostly the same, but for its own metadata."""
        if write.has_metadata:
            return told(headers)
        asked = (*write.kept, *[headers[name] for name in write.kept])
        found = self._told.get(asked)
        if found is None:
            found = told(headers)
            self._remember(asked, found)
        return found

    def _remember(self, asked: tuple[str, ...], found: Told) -> None:
        if len(self._told) >= _TOLD_MAX:
            self._told.clear()
        if sum(map(len, asked)) <= _TOLD_LETTERS_MAX:
            self._told[asked] = found

    async def _has_looked(self, arrived: float) -> bool:
        """At the lake, after this (A1)."""
        lake = self._lake
        try:
            await self._gateway.moment.passed(lake)
            if not lake.tail.anchor.sent > arrived:  # something has been appended
                await lake.fresh()
        except LochanError:  # the general way tells of it
            return False
        return True

    def _answer(self, protocol: Any, entry: Entry) -> str:
        """The request's id."""
        id = self._gateway.request_id()
        more = checksum_headers(entry) if entry.checksums else ()
        etag = ("etag", f'"{entry.etag}"')
        protocol.response_empty(200, [("x-amz-request-id", id), SERVER, etag, *more, _NO_BODY])
        return id

    def _request(self, scope: Any, protocol: Any, arrived: float, target: Target, user: str) -> Request:
        """As the general way would have it by now, to be told of an error."""
        request = Request(scope, protocol, self._gateway.request_id(), arrived)
        request.bucket, request.key, request.user = target.bucket, target.key, user
        request.body_taken = request.body_ended = True
        return request


def _declared(headers: Mapping[str, str]) -> tuple[str | None, Mapping[str, str | None]]:
    """An MD5 and a checksum. Raises S3Error for what does not fit together."""
    md5, checksum = content_md5(headers), declared_checksum(headers)
    return None if md5 is None else md5.hex(), {} if checksum is None else {checksum.algorithm: checksum.value}


def _checked(said: Said, path: str, data: bytes) -> HashedBody | None:
    """None: the body is not what was signed or declared."""
    digest = sha256(data).digest()
    if len(data) != said.length or (said.payload != _UNSIGNED and digest.hex() != said.payload):
        return None
    content_type, headers, metadata = said.told
    try:
        return ready(
            path,
            data,
            content_type=content_type,
            headers=headers,
            metadata=metadata,
            expected_md5=said.md5,
            checksums=said.checksums,
            sha256=digest,
        )
    except LochanError:
        return None


_NOTHING: tuple[None, Mapping[str, str | None]] = None, {}
