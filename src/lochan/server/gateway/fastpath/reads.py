"""HeadObject and GetObject on the fast path: of a small object on a branch, by a signature of version 4 in the header,
with no query and no condition.

An answer is kept with the numbers of the last records of two journals: the lake's, which says who may do what and which
repository a bucket is, and the repository's, which says what is there. As long as neither has gone on, all of that is
as it was, and is not asked again.
"""

from typing import Any, Final, NamedTuple, Protocol

from lochan.access import resources
from lochan.access.state import AccessKey
from lochan.bounded_cache import BoundedCache
from lochan.errors import LochanError
from lochan.server.gateway.authentication import now
from lochan.server.gateway.cached_verifier import SIGNATURE_DIGITS
from lochan.server.gateway.fastpath.engine import CachedObject, ObjectCache, OpenRepository, reads_at_once
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.object_headers import asks_for_checksums
from lochan.server.gateway.wire.addressing import KEY_BYTES_MAX, host_bucket
from lochan.server.gateway.wire.signed_request import canonical_path

OPERATIONS: Final = {"HEAD": "HeadObject", "GET": "GetObject"}
ACTION = "fs:ReadObject"
SERVER = ("server", "Lochan")

_ANSWERS_MAX = 10_000  # 3 MB, and the headers that the object cache may have forgotten: some 25 MB
_EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
_PAYLOADS = (_EMPTY, "UNSIGNED-PAYLOAD")


class CachedAnswer(NamedTuple):
    key: AccessKey
    repository: OpenRepository
    bucket: str
    ref: str
    inside: str
    seen: CachedObject
    numbers: tuple[int, int]  # of the lake's last record, and the repository's


class AnswerCache:
    def __init__(self) -> None:
        self._answers: BoundedCache[tuple[str, str], CachedAnswer]  # by the access key's id and the path
        self._answers = BoundedCache(_ANSWERS_MAX)

    def find(self, key: AccessKey, path: str) -> CachedAnswer | None:
        """The last one, whether or not it still holds."""
        found = self._answers.get((key.id, path))
        return found if found is not None and found.key is key else None

    def keep(self, path: str, answer: CachedAnswer) -> None:
        self._answers.put((answer.key.id, path), answer)


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
        self._flat = gateway.settings.flat
        self._log = log
        self._probes = gateway.session.probes
        self._known = ObjectCache()
        self._answers = AnswerCache()

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
        answer = self._answers.find(key, path)
        repository = self._gateway.session.known(path[1:].partition("/")[0]) if answer is None else answer.repository
        if repository is None:
            return False
        lake, journal = self._lake, repository.journal
        try:
            await self._probes.wait(lake, journal)
            for each in (lake, journal):
                if not each.tail.anchor.sent > arrived:  # something has been appended
                    await each.fresh()
            if answer is None or answer.numbers != (lake.tail.state.number, journal.tail.state.number):
                answer = await self._looked_up(key, repository, path)
        except LochanError:  # the general path reports it
            return False
        if answer is None:
            return False
        self._gateway.guard.authenticated(scope.client)
        seen = answer.seen
        data = repository.reader.read_now(seen.entry) if method == "GET" and seen.entry.size else b""
        if data is None:
            return False
        id = self._gateway.request_id()
        found = seen.with_checksums if asks_for_checksums(headers) else seen.headers
        sent = [("x-amz-request-id", id), SERVER, *found]
        if data:
            protocol.response_bytes(200, sent, data)
        else:
            protocol.response_empty(200, sent)
        _, _, bucket, ref, inside, _, _ = answer
        self._log(operation, method, path, bucket, ref, inside, len(data), arrived, scope.client, key.user, id)
        return True

    def _signed_by(self, method: str, path: str, headers: dict[str, str]) -> AccessKey | None:
        """The key of a plain request, as it was known when one of the same kind was let in."""
        gateway = self._gateway
        authorization, payload = headers.get("authorization", ""), headers.get("x-amz-content-sha256", "")
        verifier = gateway.verifiers.find(authorization)
        signature, signed_path = authorization[-SIGNATURE_DIGITS:], canonical_path(path.replace("%", "%25"))
        if not verifier.verifies(signature, method, signed_path, "", headers, payload, now(gateway)):
            return None
        plain = payload in _PAYLOADS and verifier.shape(headers).is_plain_read and path[:1] == "/"
        return verifier.key if plain and not host_bucket(headers["host"], gateway.domains) else None

    async def _looked_up(self, key: AccessKey, repository: OpenRepository, path: str) -> CachedAnswer | None:
        """In states that are new enough (A1). None: it is not there, or not for this key, or not so plain."""
        numbers = self._lake.tail.state.number, repository.journal.tail.state.number
        bucket, _, name = path[1:].partition("/")
        if not name or len(name) * 4 > KEY_BYTES_MAX or "\0" in name:
            return None
        default = repository.repository.default_branch
        ref, _, inside = (default, "", name) if self._flat else name.partition("/")
        if not self._may_read(key, repository, bucket, ref, inside):
            return None
        seen = await self._known.object(repository, ref, inside) if inside else None
        if seen is None:
            return None
        answer = CachedAnswer(key, repository, bucket, ref, inside, seen, numbers)
        self._answers.keep(path, answer)
        return answer

    def _may_read(self, key: AccessKey, repository: OpenRepository, bucket: str, ref: str, inside: str) -> bool:
        """In a state that is new enough (A1), in which key and bucket must be what they were taken for."""
        access = self._gateway.access.folded()
        if access.key(key.id) != key or self._gateway.session.known(bucket) is not repository:
            return False
        resource = resources.object_at(resources.branch(repository.repository.name, ref), inside)
        return access.rights(key.user).allow(ACTION, resource)
