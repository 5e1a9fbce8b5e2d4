"""Answers PutObject on the fast path: for a small body in one piece that is written to a branch, with a signature of
version 4 in the header, without a query or a condition.

    headers ──▶ who, what is kept ──▶ look at the lake ──▶ may they? ──▶ body ──▶ pack ──▶ journal ──▶ answer
       └──────────────┴────────────────────┴─────────────────┴────────────┴──▶ the general path, from the beginning

A request that would be refused takes the general path before its body is read. If the body itself is the reason, it
takes the general path with the body in hand. Once the body is in the pack there is no way back, and errors are answered
as on the general path.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec
from granian.rsgi import ProtocolClosed  # type: ignore[attr-defined]

from lochan.access import resources
from lochan.access.rights import NOTHING, Rights
from lochan.bounded_cache import BoundedCache
from lochan.errors import LochanError
from lochan.server.gateway.authentication import now
from lochan.server.gateway.cached_verifier import SIGNATURE_DIGITS, VERIFIERS_MAX, CachedVerifier, WriteHeaders
from lochan.server.gateway.fastpath.engine import (
    PACKED_BYTES_MAX,
    Entry,
    HashedBody,
    OpenRepository,
    hash_body,
    holds_rows,
    lies_elsewhere,
    stage,
)
from lochan.server.gateway.fastpath.outbox import Outbox
from lochan.server.gateway.fastpath.reads import FastLog
from lochan.server.gateway.gateway import CLIENT, Gateway
from lochan.server.gateway.object_headers import ObjectHeaders, checksum_headers, kept_headers
from lochan.server.gateway.request import S3Request
from lochan.server.gateway.wire.addressing import KEY_BYTES_MAX, host_bucket
from lochan.server.gateway.wire.checksums import content_md5, declared_checksum
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.signed_request import canonical_path

ACTION = "fs:WriteObject"
OPERATION = "PutObject"
SERVER = ("server", "Lochan")

_NO_BODY = ("content-length", "0")
_UNSIGNED = "UNSIGNED-PAYLOAD"
_PAYLOAD = re.compile(f"[0-9a-f]{{64}}|{_UNSIGNED}")
_LENGTH = re.compile("[0-9]{1,6}")  # so it is not much more than a pack takes
_BRANCHES_MAX = 1_024
_NEVER = -1, NOTHING
_KEPT_MAX = 1_024
_KEPT_LETTERS_MAX = 1_024  # of each; some 2 MB in all

Failed = Callable[[S3Request, str, Exception], Awaitable[None]]


class WriteTarget(msgspec.Struct, frozen=True, eq=False):
    repository: OpenRepository
    branch: str
    path: str
    bucket: str
    key: str


class _Branch(NamedTuple):
    number: int  # the number of the lake's record that this was read at
    repository: OpenRepository
    name: str
    resource: str  # the resource name of its objects, without the path


class WriteTargets:
    """Finds where a plain write goes, and whether its sender may write there. This is done once for each state of the
    lake, which says who may do what, and which repository a bucket is. Whether the branch exists is checked each
    time."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._lake = gateway.access.journal
        self._flat = gateway.settings.flat
        self._branches: BoundedCache[tuple[str, str], _Branch] = BoundedCache(_BRANCHES_MAX)  # by bucket and ref
        self._rights: BoundedCache[CachedVerifier, tuple[int, Rights]]  # with the number of the lake's record
        self._rights = BoundedCache(VERIFIERS_MAX)

    def find(self, verifier: CachedVerifier, at: str) -> WriteTarget | None:
        """Returns the target in a state of the lake that is new enough (A1). Returns None if the branch is not known
        here, if the path is not valid, or if the verifier's key may not write there."""
        bucket, _, key = at[1:].partition("/")
        ref, _, path = ("", "", key) if self._flat else key.partition("/")
        if not path or len(path) * 4 > KEY_BYTES_MAX or "\0" in path:
            return None
        number = self._lake.tail.state.number
        branch = self._branches.get((bucket, ref))
        if branch is None or branch.number != number:
            branch = self._looked_up(number, bucket, ref)
        if branch is None or branch.repository.folded().find_branch(branch.name) is None:
            return None
        if not self._may_write(number, verifier, branch.resource + path):
            return None
        return WriteTarget(branch.repository, branch.name, path, bucket, key)

    def _looked_up(self, number: int, bucket: str, ref: str) -> _Branch | None:
        """Returns the branch, or None if the bucket is not open here or holds rows, or if its files are stored
        elsewhere."""
        repository = self._gateway.session.known(bucket)
        if repository is None or holds_rows(repository) or lies_elsewhere(repository):
            return None
        name = repository.repository.default_branch if self._flat else ref
        resource = resources.object_at(resources.branch(repository.repository.name, name), "")
        return self._branches.put((bucket, ref), _Branch(number, repository, name, resource))

    def _may_write(self, number: int, verifier: CachedVerifier, resource: str) -> bool:
        """Returns whether the verifier's key may write. The key must still be what it was taken for."""
        of, rights = self._rights.get(verifier) or _NEVER
        if of != number:
            access, key = self._gateway.access.folded(), verifier.key
            if key is None or access.key(key.id) != key:
                return False
            lasting = access.lasting_rights(key)
            if lasting is None:  # they depend on when and from where the request comes
                return False
            rights = lasting
            self._rights.put(verifier, (number, rights))
        return rights.allow(ACTION, resource)


class PlainWrite(msgspec.Struct, frozen=True):
    """What the headers say: who sends the request, and what the object and its body are."""

    verifier: CachedVerifier
    path: str  # the path of the request
    length: int
    payload: str
    kept: ObjectHeaders
    md5: str | None
    checksums: Mapping[str, str | None]


class FastWrites:
    def __init__(self, gateway: Gateway, log: FastLog, failed: Failed) -> None:
        """Creates the fast path of one process. `failed` answers a request that has met an error."""
        self._gateway = gateway
        self._lake = gateway.access.journal
        self._targets = WriteTargets(gateway)
        self._log = log
        self._failed = failed
        self._outbox = Outbox()
        self._body_timeout = BodyTimeout(gateway.settings.idle_s)
        self._kept_headers: BoundedCache[tuple[str, ...], ObjectHeaders]  # by the names and values of the kept headers
        self._kept_headers = BoundedCache(_KEPT_MAX)

    async def answered(self, scope: Any, protocol: Any, arrived: float) -> Any:
        """Returns None if the request was answered; otherwise the protocol with which to take the general path. In that
        case nothing has been done, except that the body may have been read."""
        boot, write = self._gateway.clock.boot, self._plain_write(scope)
        signed = boot()
        if write is None or not await self._is_fresh(arrived):
            return protocol
        target = self._targets.find(write.verifier, write.path)
        if target is None:
            return protocol
        self._gateway.guard.authenticated(scope.client)  # this comes before the body, which may be slow
        looked = boot()
        try:
            data = await self._body_timeout.body(protocol)
        except (TimeoutError, ProtocolClosed) as error:
            return ReplayedBody(protocol, error)
        small = _check_body(write, target.path, data)
        if small is None:
            return ReplayedBody(protocol, data)
        user, source, hashed_at = write.verifier.user, self._gateway.origin(scope), boot()
        key = "" if write.verifier.key is None else write.verifier.key.id
        repository, branch = target.repository, target.branch
        try:
            entry = await stage(repository, branch, small, user, CLIENT, source)
        except Exception as error:
            await self._failed(self._request(scope, protocol, arrived, target, (user, key)), OPERATION, error)
            return None
        id = await self._answer(protocol, entry)
        bucket, path = target.bucket, target.path
        waited = looked - signed + boot() - hashed_at  # for the look at the journals, and for the pack and its record
        self._gateway.phases.add(OPERATION, signed - arrived, waited, hashed_at - looked)
        length = write.length
        self._log(OPERATION, "PUT", write.path, bucket, branch, path, 0, arrived, source, user, id, length, key)
        return None

    def _plain_write(self, scope: Any) -> PlainWrite | None:
        """Returns the plain write, or None if the request is not one or will be refused."""
        pairs = scope.headers.items()
        headers: dict[str, str] = dict(pairs)
        length, payload = headers.get("content-length", ""), headers.get("x-amz-content-sha256", "")
        if scope.query_string or not _LENGTH.fullmatch(length) or not _PAYLOAD.fullmatch(payload):
            return None
        path = scope.path
        verifier = self._signed_by(path, headers, payload)
        shape = None if verifier is None else verifier.shape(headers).write
        size = int(length)
        if verifier is None or shape is None or not 0 < size <= PACKED_BYTES_MAX:
            return None
        if not len(pairs) == len(headers) == len(scope.headers):  # several have the same name, or one is not ASCII
            return None
        try:
            kept = self._kept_of(shape, headers)
            md5, checksums = _declared_digests(headers) if shape.is_declared else _NOTHING
        except S3Error:
            return None
        return PlainWrite(verifier, path, size, payload, kept, md5, checksums)

    def _signed_by(self, path: str, headers: dict[str, str], payload: str) -> CachedVerifier | None:
        """Returns the verifier that let in an earlier request which was signed by the same key, with the same headers.
        Returns None if it does not verify this request."""
        gateway, authorization = self._gateway, headers.get("authorization", "")
        verifier = gateway.verifiers.find(authorization)
        signature, signed_path = authorization[-SIGNATURE_DIGITS:], canonical_path(path.replace("%", "%25"))
        if not verifier.verifies(signature, "PUT", signed_path, "", headers, payload, now(gateway)) or path[:1] != "/":
            return None
        if verifier.key is not None and verifier.key.has_expired(gateway.clock.wall()):
            return None
        return None if gateway.domains and host_bucket(headers["host"], gateway.domains) else verifier

    def _kept_of(self, shape: WriteHeaders, headers: dict[str, str]) -> ObjectHeaders:
        """Returns what is kept with the object. A client mostly sends the same headers, except for the user's own
        metadata."""
        if shape.has_metadata:
            return kept_headers(headers)
        values = (*shape.kept, *[headers[name] for name in shape.kept])
        found = self._kept_headers.get(values)
        if found is None:
            found = kept_headers(headers)
            if sum(map(len, values)) <= _KEPT_LETTERS_MAX:
                self._kept_headers.put(values, found)
        return found

    async def _is_fresh(self, arrived: float) -> bool:
        """Returns whether the state of the lake is newer than the arrival of the request (A1)."""
        lake = self._lake
        try:
            await self._gateway.session.probes.wait(lake)
            if not lake.tail.anchor.sent > arrived:  # something has been appended
                await lake.fresh()
        except LochanError:  # the general path reports it
            return False
        return True

    async def _answer(self, protocol: Any, entry: Entry) -> str:
        """Sends the answer. Returns the id of the request."""
        id = self._gateway.request_id()
        more = checksum_headers(entry.checksums) if entry.checksums else ()
        etag = ("etag", f'"{entry.etag}"')
        await self._outbox.send(protocol, [("x-amz-request-id", id), SERVER, etag, *more, _NO_BODY])
        return id

    def _request(
        self, scope: Any, protocol: Any, arrived: float, target: WriteTarget, who: tuple[str, str]
    ) -> S3Request:
        """Returns the request as the general path would have it by now, to report an error. `who` holds the user and
        their key."""
        request = S3Request(scope, protocol, self._gateway.request_id(), arrived)
        request.source = self._gateway.origin(scope)
        request.bucket, request.key = target.bucket, target.key
        request.user, request.access_key = who
        request.body_taken = request.body_ended = True
        return request


def _declared_digests(headers: Mapping[str, str]) -> tuple[str | None, Mapping[str, str | None]]:
    """Returns the declared MD5 and checksums. Raises S3Error if they do not fit together."""
    md5, checksum = content_md5(headers), declared_checksum(headers)
    return None if md5 is None else md5.hex(), {} if checksum is None else {checksum.algorithm: checksum.value}


def _check_body(write: PlainWrite, path: str, data: bytes) -> HashedBody | None:
    """Hashes the body. Returns None if it is not what was signed or declared."""
    digest = sha256(data).digest()
    if len(data) != write.length or (write.payload != _UNSIGNED and digest.hex() != write.payload):
        return None
    try:
        return hash_body(path, data, write.kept, digest, write.md5, write.checksums)
    except LochanError:
        return None


_NOTHING: tuple[None, Mapping[str, str | None]] = None, {}


class BodyTimeout:
    """Limits how long the bodies of one event loop may take."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._waiting: dict[asyncio.Task[Any], float] = {}  # since when each task waits, the longest first
        self._timer: asyncio.TimerHandle | None = None

    async def body(self, protocol: Any) -> bytes:
        """Returns the whole body. Raises TimeoutError."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._waiting[task] = since = loop.time()
        if self._timer is None:
            self._timer = loop.call_at(since + self._seconds, self._look, loop)
        try:
            return bytes(await protocol())
        except asyncio.CancelledError:
            if task not in self._waiting and task.uncancel() == 0:  # the timer alone has cancelled the task
                raise TimeoutError from None
            raise
        finally:
            self._waiting.pop(task, None)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        while self._waiting:
            task, since = next(iter(self._waiting.items()))
            if since + self._seconds > loop.time():
                self._timer = loop.call_at(since + self._seconds, self._look, loop)
                return
            del self._waiting[task]
            task.cancel()


class ReplayedBody:
    """Repeats a body that was read already. It has the methods of Granian's protocol that a small body and its answer
    need."""

    def __init__(self, protocol: Any, body: bytes | Exception) -> None:
        """Creates the body again. `body` may also be the error that explains why there is none."""
        self._body = body
        self.response_bytes = protocol.response_bytes
        self.response_empty = protocol.response_empty

    async def __call__(self) -> bytes:
        if isinstance(self._body, Exception):
            raise self._body
        return self._body
