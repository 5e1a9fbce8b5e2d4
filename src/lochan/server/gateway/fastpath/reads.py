"""HeadObject and GetObject on the fast path: of a small object on a branch, by a signature of version 4 in the header,
with no query and no condition.

Each request asks anew who may read what, which repository a bucket is, and where in the branch the object lies: in the
states of two journals that are new enough for it. That takes a few microseconds, since nothing has to be opened or made
for it. What an object's answer says is kept in the object cache, and is made in some microseconds where it is not.
"""

from typing import Any, Final, Protocol

from lochan.access import resources
from lochan.access.rights import NOTHING, Rights
from lochan.access.state import AccessKey
from lochan.bounded_cache import BoundedCache
from lochan.errors import LochanError
from lochan.server.gateway.authentication import now
from lochan.server.gateway.cached_verifier import SIGNATURE_DIGITS
from lochan.server.gateway.fastpath.engine import (
    Block,
    CachedObject,
    NotOpen,
    ObjectCache,
    OpenRepository,
    reads_at_once,
)
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.object_headers import asks_for_checksums
from lochan.server.gateway.wire.addressing import KEY_BYTES_MAX, host_bucket
from lochan.server.gateway.wire.signed_request import canonical_path
from lochan.server.ref_cache import CachedRef

OPERATIONS: Final = {"HEAD": "HeadObject", "GET": "GetObject"}
ACTION = "fs:ReadObject"
SERVER = ("server", "Lochan")

_PLACES_MAX = 1_024
_ATTEMPTS = 4  # a branch may be written to while its files are opened; the general path has more patience
_EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
_PAYLOADS = (_EMPTY, "UNSIGNED-PAYLOAD")


class ReadPlace:
    """A branch that plain reads name, in one state of the lake, which says which repository a bucket is and who may do
    what. What the last request found out for that state is kept with it: the rights of its key, and the branch."""

    __slots__ = ("branch", "bucket", "front", "key", "number", "ref", "repository", "rights")

    def __init__(self, number: int, repository: OpenRepository, bucket: str, ref: str, front: str) -> None:
        self.number = number  # of the lake's last record then
        self.repository = repository
        self.bucket = bucket
        self.ref = ref
        self.front = front  # of the resources of its objects
        self.key: AccessKey | None = None
        self.rights: Rights = NOTHING
        self.branch: CachedRef | None = None


class ReadPlaces:
    def __init__(self, gateway: Gateway) -> None:
        self._session = gateway.session
        self._lake = gateway.access.journal
        self._flat = gateway.settings.flat
        self._places: BoundedCache[tuple[str, str], ReadPlace] = BoundedCache(_PLACES_MAX)
        self._last: tuple[str, ReadPlace | None] = "", None  # what the last path began with, and its place

    def find(self, path: str) -> tuple[ReadPlace, str] | None:
        """The branch, and the path of the object in it, in the state of the lake that is known. None: the bucket is not
        open here, or the path is none of an object."""
        front, place = self._last
        if place is not None and path.startswith(front) and place.number == self._lake.tail.state.number:
            inside = path[len(front) :]
            if inside and len(path) * 4 <= KEY_BYTES_MAX and "\0" not in inside:
                return place, inside
        bucket, _, name = path[1:].partition("/")
        ref, _, inside = ("", "", name) if self._flat else name.partition("/")
        if not inside or len(name) * 4 > KEY_BYTES_MAX or "\0" in name:
            return None
        place = self._places.get((bucket, ref))
        if place is None or place.number != self._lake.tail.state.number:
            place = self._looked_up(bucket, ref)
        if place is None:
            return None
        self._last = path[: len(path) - len(inside)], place
        return place, inside

    def _looked_up(self, bucket: str, ref: str) -> ReadPlace | None:
        repository = self._session.known(bucket)
        if repository is None:
            return None
        name = repository.repository.default_branch if self._flat else ref
        front = resources.object_at(resources.branch(repository.repository.name, name), "")
        place = ReadPlace(self._lake.tail.state.number, repository, bucket, name, front)
        return self._places.put((bucket, ref), place)


class FastLog(Protocol):
    """Called with every answer of the fast path."""

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
        /,
    ) -> None: ...


class FastReads:
    def __init__(self, gateway: Gateway, log: FastLog) -> None:
        self._gateway = gateway
        self._lake = gateway.access.journal
        self._log = log
        self._probes = gateway.session.probes
        self._places = ReadPlaces(gateway)
        self._objects = ObjectCache()

    @classmethod
    def suit(cls, gateway: Gateway) -> bool:
        return reads_at_once(gateway.session)

    async def answered(self, scope: Any, protocol: Any, arrived: float) -> bool:
        """False: it is not so plain, and nothing has been done."""
        method, path = scope.method, scope.path
        operation = OPERATIONS.get(method)
        if operation is None or scope.query_string:
            return False
        pairs = scope.headers.items()
        headers = dict(pairs)
        key = self._signed_by(method, path, headers)
        if key is None or len(pairs) != len(headers):  # several of one name are joined, the general path
            return False
        at = self._places.find(path)
        if at is None:
            return False
        lake, journal, clock = self._lake, at[0].repository.journal, self._gateway.clock
        signed = clock.boot()
        try:
            await self._probes.wait(lake, journal)
            for each in (lake, journal):
                if not each.tail.anchor.sent > arrived:  # something has been appended
                    await each.fresh()
            looked = clock.boot()
            place, inside = at
            if place.number != lake.tail.state.number:
                at = self._places.find(path)
                if at is None or at[0].repository.journal is not journal:  # the bucket is another repository since
                    return False
                place, inside = at
            if not self._rights(key, place).allow(ACTION, place.front + inside):
                return False
            to_read = method == "GET"
            try:
                found = self._found(place, inside, path, to_read)
            except NotOpen:
                found = await self._opened(place, inside, path, to_read)
        except LochanError:  # the general path reports it
            return False
        if found is None:
            return False
        self._gateway.guard.authenticated(scope.client)
        data, body_s = b"", 0.0
        if method == "GET" and found.size:
            begun = clock.boot()
            block = found.block
            body = place.repository.reader.read_block_now(block) if isinstance(block, Block) else None
            if body is None:
                return False
            data, body_s = body, clock.boot() - begun
        id = self._gateway.request_id()
        told = found.with_checksums if asks_for_checksums(headers) else found.headers
        sent = [("x-amz-request-id", id), SERVER, *told]
        if data:
            protocol.response_bytes(200, sent, data)
        else:
            protocol.response_empty(200, sent)
        self._gateway.phases.add(operation, signed - arrived, looked - signed, body_s)
        source = self._gateway.origin(scope)
        self._log(operation, method, path, place.bucket, place.ref, inside, len(data), arrived, source, key.user, id)
        return True

    def _signed_by(self, method: str, path: str, headers: dict[str, str]) -> AccessKey | None:
        """The key of a plain request, as it was known when one of the same kind was let in."""
        gateway = self._gateway
        authorization, payload = headers.get("authorization", ""), headers.get("x-amz-content-sha256", "")
        verifier = gateway.verifiers.find(authorization)
        signature, signed_path = authorization[-SIGNATURE_DIGITS:], canonical_path(path.replace("%", "%25"))
        if not verifier.verifies(signature, method, signed_path, "", headers, payload, now(gateway)):
            return None
        if verifier.key is not None and verifier.key.has_expired(gateway.clock.wall()):
            return None
        plain = payload in _PAYLOADS and verifier.shape(headers).is_plain_read and path[:1] == "/"
        if not plain or (gateway.domains and host_bucket(headers["host"], gateway.domains)):
            return None
        return verifier.key

    def _rights(self, key: AccessKey, place: ReadPlace) -> Rights:
        """Of the key, in the state of the lake that the place is of, which is new enough (A1). None if they depend on
        when and from where it is asked: the general path works those out."""
        if place.key is not key:
            access = self._gateway.access.folded()
            if access.key(key.id) != key:  # it must still be what it was taken for
                return NOTHING
            lasting = access.lasting_rights(key)
            place.rights, place.key = NOTHING if lasting is None else lasting, key
        return place.rights

    def _found(self, place: ReadPlace, inside: str, path: str, to_read: bool) -> CachedObject | None:
        """In the state that is known. None: it is not there. Raises NotOpen."""
        repository, branch = place.repository, place.branch
        if branch is None or branch.number != repository.journal.tail.state.number:
            branch = place.branch = self._objects.branch(repository, place.ref)
        return None if branch is None else self._objects.find(repository, branch, inside, path, to_read=to_read)

    async def _opened(self, place: ReadPlace, inside: str, path: str, to_read: bool) -> CachedObject | None:
        """The same, after the files that it needs were opened."""
        for _ in range(_ATTEMPTS):
            if not await self._objects.open(place.repository, place.ref, inside):
                break
            try:
                return self._found(place, inside, path, to_read)
            except NotOpen:
                continue
        return None
