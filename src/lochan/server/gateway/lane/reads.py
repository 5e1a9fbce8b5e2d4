"""HeadObject and GetObject the short way: of a small object on a branch, by a signature of version 4 in the header,
with no query and no condition."""

from typing import Any, Final, Protocol

from lochan.access import resources
from lochan.access.state import AccessKey
from lochan.errors import LochanError
from lochan.server.gateway.authentication import now
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.lane.known import Known
from lochan.server.gateway.lane.plans import SIGNATURE_DIGITS
from lochan.server.gateway.looking import asks_for_checksums
from lochan.server.gateway.wire.addressing import KEY_BYTES_MAX, host_bucket
from lochan.server.gateway.wire.uri import canonical_path
from lochan.versioning.open_repository import OpenRepository

OPERATIONS: Final = {"HEAD": "HeadObject", "GET": "GetObject"}
ACTION = "fs:ReadObject"
SERVER = ("server", "Lochan")

_EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
_PAYLOADS = (_EMPTY, "UNSIGNED-PAYLOAD")


class Read(Protocol):
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
        /,
    ) -> None: ...


class Reads:
    def __init__(self, gateway: Gateway, read: Read) -> None:
        """`read` is told of every answer."""
        self._gateway = gateway
        self._lake = gateway.access.journal
        self._flat = gateway.settings.flat
        self._read = read
        self._moment = gateway.moment
        self._known = Known()

    @classmethod
    def suit(cls, gateway: Gateway) -> bool:
        """On a disk. Elsewhere a request waits for the network, and what it takes here does not matter."""
        return hasattr(gateway.lake.store, "get_range_now")

    async def answered(self, scope: Any, protocol: Any) -> bool:
        """False: it is not so plain, and nothing has been done."""
        arrived = self._gateway.clock.boot()
        method, path = scope.method, scope.path
        operation = OPERATIONS.get(method)
        if operation is None or scope.query_string:
            return False
        pairs = scope.headers.items()
        headers = dict(pairs)
        key = self._signed_by(method, path, headers)
        if key is None or len(pairs) != len(headers):  # several of one name are joined, the general way
            return False
        bucket, _, name = path[1:].partition("/")
        repository = self._gateway.opened(bucket)
        if repository is None or not name or len(name) * 4 > KEY_BYTES_MAX or "\0" in name:
            return False
        default = repository.repository.default_branch
        ref, _, inside = (default, "", name) if self._flat else name.partition("/")
        try:
            await self._moment.passed(self._lake, repository.journal)
            for journal in (self._lake, repository.journal):
                if not journal.tail.anchor.sent > arrived:  # something has been appended
                    await journal.fresh()
            if not self._may_read(key, repository, bucket, ref, inside):
                return False
            branch = repository.folded().find_branch(ref)
            seen = None if branch is None or not inside else await self._known.object(repository, branch, inside)
        except LochanError:  # the general way tells of it
            return False
        if seen is None:
            return False
        data = repository.reader.read_now(seen.entry) if method == "GET" and seen.entry.size else b""
        if data is None:
            return False
        id = self._gateway.request_id()
        found = seen.with_checksums if asks_for_checksums(headers) else seen.headers
        answer = [("x-amz-request-id", id), SERVER, *found]
        if data:
            protocol.response_bytes(200, answer, data)
        else:
            protocol.response_empty(200, answer)
        self._read(operation, method, path, bucket, ref, inside, len(data), arrived, scope.client, key.user, id)
        return True

    def _signed_by(self, method: str, path: str, headers: dict[str, str]) -> AccessKey | None:
        """The key of a plain request, as it was known when one of the same kind was let in."""
        gateway = self._gateway
        authorization, payload = headers.get("authorization", ""), headers.get("x-amz-content-sha256", "")
        plan = gateway.plans.find(authorization)
        signature, signed_path = authorization[-SIGNATURE_DIGITS:], canonical_path(path.replace("%", "%25"))
        if not plan.holds(signature, method, signed_path, "", headers, payload, now(gateway)):
            return None
        plain = payload in _PAYLOADS and plan.shape(headers).is_plain and path[:1] == "/"
        return plan.key if plain and not host_bucket(headers["host"], gateway.domains) else None

    def _may_read(self, key: AccessKey, repository: OpenRepository, bucket: str, ref: str, inside: str) -> bool:
        """In a state that is new enough (A1), in which key and bucket must be what they were taken for."""
        access = self._gateway.access.folded()
        if access.key(key.id) != key or self._gateway.opened(bucket) is not repository:
            return False
        resource = resources.object_at(resources.branch(repository.repository.name, ref), inside)
        return access.rights(key.user).allow(ACTION, resource)
