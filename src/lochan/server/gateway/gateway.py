"""What the operations of one process share: the lake, its open repositories, who may do what."""

from collections.abc import Awaitable, Callable

from lochan.clock import Clock
from lochan.errors import NotFound
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.journal.keys import keyed, part_of
from lochan.lake import Lake
from lochan.server.connections import ConnectionGuard
from lochan.server.gateway.cached_verifier import VerifierCache
from lochan.server.gateway.flow import Flows
from lochan.server.gateway.list_cache import ListCache
from lochan.server.gateway.probe_batch import ProbeBatch
from lochan.server.gateway.request import S3Request
from lochan.server.gateway.wire.addressing import checked_bucket
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.realm import Realm
from lochan.server.settings import ClientLimits, S3Settings
from lochan.versioning.open_repository import OpenRepository

CLIENT = "s3"
LIMITS = ClientLimits()
KEY_HEADER = "idempotency-key"


class Gateway:
    def __init__(
        self,
        lake: Lake,
        settings: S3Settings,
        clock: Clock,
        ids: Ids,
        limits: ClientLimits = LIMITS,
        guard: ConnectionGuard | None = None,
    ) -> None:
        self.lake = lake
        self.limits = limits
        self.guard = guard or ConnectionGuard(limits, clock)
        self.access = lake.open_access()
        self.settings = settings
        self.realm = Realm(settings.region, takes_v2=settings.takes_v2)
        self.domains = (settings.domain,) if settings.domain else ()
        self.clock = clock
        self.ids = ids
        self.probes = ProbeBatch()
        self.verifiers = VerifierCache()
        self.list_cache = ListCache()
        self.flows = Flows()
        self._open: dict[str, OpenRepository] = {}  # by id: a name may come to mean another
        self._process = ids.put_id().hex()[:8].upper()
        self._requests = 0
        self.closing: Callable[[], Awaitable[None]] | None = None  # what is to be done while the lake is still open

    async def repository(self, name: str) -> OpenRepository:
        """As of the lake's state that the request was authenticated by; one that is new to this process is looked for
        again, for another may have made it since. Raises NoSuchBucket, InvalidBucketName."""
        repository = self.opened(name)
        if repository is None:
            try:
                opened = await self.lake.open_repository(name)
            except NotFound:
                raise S3Error("NoSuchBucket", BucketName=checked_bucket(name)) from None
            repository = self._open.setdefault(opened.repository.id, opened)
        return repository

    def opened(self, name: str) -> OpenRepository | None:
        """As `repository`, where that is known without asking."""
        found = self.lake.known_repository(name)
        repository = None if found is None else self._open.get(found.id)
        if found is not None and repository is not None and repository.repository is not found:
            repository.repository = found  # it may have another name by now, by which policies judge it
        return repository

    def request_id(self) -> str:
        self._requests += 1
        return f"{self._process}{self._requests:08X}"

    def actor(self, request: S3Request) -> Actor:
        return Actor(request.user, CLIENT, request.source)

    def keyed_actor(self, request: S3Request, *what: object, part: str = "") -> Actor:
        """With the idempotency key of a request that changes something, if it has one; `what` is the change, besides
        the request's own method and names. `part` names one of several pieces of work that the request consists of,
        each of which is decided by itself. Raises Invalid for what is no key."""
        key = request.headers.get(KEY_HEADER, "")
        if not key:
            return self.actor(request)
        actor = keyed(self.actor(request), key, request.method, request.bucket, request.key, *what)
        return part_of(actor, part) if part else actor

    async def close(self) -> None:
        if self.closing is not None:
            await self.closing()
        for repository in self._open.values():
            await repository.close()
        await self.lake.close()
