"""Answers HeadObject and GetObject on the fast path: for a small object on a branch, with a signature of version 4 in
the header, without a query or a condition.

Each request asks again who may read what, which repository a bucket is, and where in the branch the object lies. It
asks this in states of two journals that are new enough for it. That takes a few microseconds, since nothing has to be
opened or made for it. What the answer says about an object is kept in the object cache. If it is not there, it is made
in a few microseconds.
"""

from collections.abc import Sequence
from typing import Any, Final, Protocol

from lochan.access.rights import NOTHING
from lochan.access.state import AccessKey
from lochan.errors import LochanError
from lochan.server.connections import Client
from lochan.server.gateway.authentication import MICROSECONDS
from lochan.server.gateway.cached_verifier import SIGNATURE_DIGITS
from lochan.server.gateway.fastpath.engine import Block, CachedObject, NotOpen, ObjectCache, reads_at_once
from lochan.server.gateway.fastpath.places import ReadPlace, ReadPlaces
from lochan.server.gateway.fastpath.read_batch import PlainRead, ReadBatch
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.object_headers import asks_for_checksums
from lochan.server.gateway.wire.addressing import host_bucket
from lochan.server.gateway.wire.signed_request import canonical_path

HEAD, GET = "HeadObject", "GetObject"
ACTION: Final = "fs:ReadObject"
SERVER: Final = ("server", "Lochan")

_ATTEMPTS = 4  # a branch may be written to while its files are opened; the general path tries more often
_EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
_PAYLOADS = (_EMPTY, "UNSIGNED-PAYLOAD")


class FastLog(Protocol):
    """A function that is called with every answer of the fast path."""

    def __call__(
        self,
        operation: str,
        method: str,
        path: str,
        bucket: str,
        ref: str,
        inside: str,
        sent: int,
        arrived: float,
        source: str,
        user: str,
        id: str,
        received: int = 0,
        access_key: str = "",
        /,
    ) -> None: ...


class FastReads:
    def __init__(self, gateway: Gateway, log: FastLog) -> None:
        self._gateway = gateway
        self._lake = gateway.access.journal
        self._log = log
        self._boot = gateway.clock.boot
        self._places = ReadPlaces(gateway)
        self._objects = ObjectCache()
        self._batch = ReadBatch(self._lake, self._boot, self._make, self._send)

    @classmethod
    def suit(cls, gateway: Gateway) -> bool:
        return reads_at_once(gateway.session)

    async def answered(self, scope: Any, protocol: Any, client: Client, arrived: float) -> bool:
        """Returns whether the request was answered. If not, it is not plain enough, and nothing has been done."""
        read = self._plain_read(scope, protocol, client, arrived)
        return read is not None and (await self._batch.answered(read) or await self._answered_alone(read))

    def _plain_read(self, scope: Any, protocol: Any, client: Client, arrived: float) -> PlainRead | None:
        """Returns the plain read, or None if the request is not one or will be refused."""
        method = scope.method
        if (method != "HEAD" and method != "GET") or scope.query_string:
            return None
        pairs, path = scope.headers.items(), scope.path
        headers = dict(pairs)
        if len(pairs) != len(headers):  # headers with the same name are joined on the general path
            return None
        key = self._signed_by(method, path, headers)
        at = None if key is None else self._places.find(path)
        if key is None or at is None:
            return None
        place, inside = at
        source = self._gateway.origin(scope) if self._gateway.proxies else client.address
        return PlainRead(
            protocol, client, source, key, path, place, inside, method == "GET", asks_for_checksums(headers), arrived,
            self._boot(),
        )  # fmt: skip

    def _signed_by(self, method: str, path: str, headers: dict[str, str]) -> AccessKey | None:
        """Returns the key of a plain request, as it was when a request of the same kind was let in."""
        gateway = self._gateway
        authorization, payload = headers.get("authorization", ""), headers.get("x-amz-content-sha256", "")
        verifier, wall = gateway.verifiers.find(authorization), gateway.clock.wall()
        signature, signed_path = authorization[-SIGNATURE_DIGITS:], canonical_path(path.replace("%", "%25"))
        if not verifier.verifies(signature, method, signed_path, "", headers, payload, wall / MICROSECONDS):
            return None
        if verifier.key is not None and verifier.key.has_expired(wall):
            return None
        plain = payload in _PAYLOADS and verifier.shape(headers).is_plain_read and path[:1] == "/"
        if not plain or (gateway.domains and host_bucket(headers["host"], gateway.domains)):
            return None
        return verifier.key

    def _make(self, read: PlainRead) -> bool:
        """Fills in the answer from the known states, which are new enough. Returns False if the general path has to
        answer. Raises NotOpen, and what reading raises."""
        if not self._is_allowed(read):
            return False
        return self._fill(read, self._found(read))

    def _is_allowed(self, read: PlainRead) -> bool:
        """Returns whether the read is allowed in the known state of the lake. Its bucket may be another repository in
        that state."""
        place = read.place
        if place.number != self._lake.tail.state.number:
            at = self._places.find(read.path)
            if at is None or at[0].repository.journal is not place.repository.journal:
                return False
            place, read.inside = at
            read.place = place
        if place.key is not read.key and not self._learn_rights(read.key, place):
            return False
        return place.allows_all or place.rights.allow(ACTION, place.front + read.inside)

    def _learn_rights(self, key: AccessKey, place: ReadPlace) -> bool:
        """Learns the rights of the key in the state of the lake that the place belongs to, which is new enough (A1).
        Stores no rights if they depend on when and from where the request comes: the general path works those out.
        Returns False if the key is not what it was taken for."""
        access = self._gateway.access.folded()
        if access.key(key.id) != key:
            return False
        lasting = access.lasting_rights(key)
        rights = NOTHING if lasting is None else lasting
        place.allows_all = rights.allow_below(ACTION, place.front) is True
        place.rights, place.key = rights, key
        return True

    def _found(self, read: PlainRead) -> CachedObject | None:
        """Returns the object in the known state, or None if it does not exist. Raises NotOpen."""
        place = read.place
        repository, branch = place.repository, place.branch
        if branch is None or branch.number != repository.journal.tail.state.number:
            branch = place.branch = self._objects.branch(repository, place.ref)
        if branch is None:
            return None
        return self._objects.find(repository, branch, read.inside, read.path, to_read=read.wants_body)

    def _fill(self, read: PlainRead, found: CachedObject | None) -> bool:
        if found is None:
            return False
        if read.wants_body and found.size:
            begun, block = self._boot(), found.block
            data = read.place.repository.reader.read_block_now(block) if isinstance(block, Block) else None
            if data is None:
                return False
            read.data, read.body_s = data, self._boot() - begun
        read.told = found.with_checksums if read.wants_checksums else found.headers
        return True

    def _send(self, reads: Sequence[PlainRead]) -> None:
        """Sends all answers first, and then records them."""
        ids = [self._gateway.request_id() for _ in reads]
        for read, id in zip(reads, ids, strict=True):
            sent = [("x-amz-request-id", id), SERVER, *read.told]
            if read.data:
                read.protocol.response_bytes(200, sent, read.data)
            else:
                read.protocol.response_empty(200, sent)
        log, phases = self._log, self._gateway.phases
        for read, id in zip(reads, ids, strict=True):
            place, client, arrived, signed = read.place, read.client, read.arrived, read.signed
            client.authenticated = True
            operation, method = (GET, "GET") if read.wants_body else (HEAD, "HEAD")
            phases.add(operation, signed - arrived, read.looked - signed, read.body_s)
            log(
                operation, method, read.path, place.bucket, place.ref, read.inside, len(read.data),
                arrived, read.source, read.key.user, id, 0, read.key.id,
            )  # fmt: skip

    async def _answered_alone(self, read: PlainRead) -> bool:
        """Answers a read after its own look at the journals, and opens the files that it needs. Returns whether it was
        answered."""
        try:
            for journal in (self._lake, read.place.repository.journal):
                if not journal.tail.anchor.sent > read.arrived:
                    await journal.fresh()
            read.looked = self._boot()
            try:
                is_made = self._make(read)
            except NotOpen:
                is_made = await self._opened(read)
        except LochanError:  # the general path reports it
            return False
        if is_made:
            self._send((read,))
        return is_made

    async def _opened(self, read: PlainRead) -> bool:
        """Opens the files that the read needs, and then does the same as `_make`."""
        for _ in range(_ATTEMPTS):
            if not await self._objects.open(read.place.repository, read.place.ref, read.inside):
                break
            try:
                return self._make(read)
            except NotOpen:
                continue
        return False
