"""Holds what the operations of one process share: the lake, its open repositories, and who may do what."""

from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any

from lochan.api.lake import Lake
from lochan.api.options import KEY_LENGTH_MAX
from lochan.api.repository import Repository
from lochan.api.session import ServerSession
from lochan.clock import Clock
from lochan.errors import NotFound
from lochan.ids import Ids
from lochan.server.connections import ConnectionGuard
from lochan.server.gateway.cached_verifier import VerifierCache
from lochan.server.gateway.flow import Flows
from lochan.server.gateway.listing_page import ListCache
from lochan.server.gateway.request import S3Request
from lochan.server.gateway.wire.addressing import checked_bucket
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.identity import Realm
from lochan.server.origin import HEADER, TrustedProxies
from lochan.server.phases import PhaseTimes
from lochan.server.settings import ClientLimits, S3Settings

CLIENT = "s3"
LIMITS = ClientLimits()

_KEY_HEADER = "idempotency-key"
_KEY_PART_DIGITS = 16


class Gateway:
    def __init__(
        self,
        session: ServerSession,
        settings: S3Settings,
        clock: Clock,
        ids: Ids,
        limits: ClientLimits = LIMITS,
        guard: ConnectionGuard | None = None,
        proxies: TrustedProxies | None = None,
    ) -> None:
        self.session = session
        self.limits = limits
        self.guard = guard or ConnectionGuard(limits, clock)
        self.proxies = proxies or TrustedProxies()
        self.access = session.lake.open_access()
        self.settings = settings
        self.realm = Realm(settings.region, takes_v2=settings.takes_v2)
        self.domains = (settings.domain,) if settings.domain else ()
        self.clock = clock
        self.ids = ids
        self.verifiers = VerifierCache()
        self.list_cache = ListCache()
        self.flows = Flows()
        self.phases = PhaseTimes()
        self._process = ids.put_id().hex()[:8].upper()
        self._requests = 0
        self.closing: Callable[[], Awaitable[None]] | None = None  # what has to be done while the lake is still open

    def lake(self, request: S3Request) -> Lake:
        """Returns the lake as the sender of this request may use it, in the state by which the request was
        authenticated."""
        return Lake(self.session.of_request(request.user, CLIENT, request.source))

    async def repository(self, request: S3Request, bucket: str) -> Repository:
        """Returns the repository of a bucket. Raises NoSuchBucket and InvalidBucketName."""
        session = self.session.of_request(request.user, CLIENT, request.source)
        try:
            await session.repository(bucket)
        except NotFound:
            raise S3Error("NoSuchBucket", BucketName=checked_bucket(bucket)) from None
        return Repository(session, bucket)

    def origin(self, scope: Any) -> str:
        """Returns where the request comes from, as RSGI tells it."""
        if not self.proxies:
            return str(scope.client)
        named = scope.headers.items
        return self.proxies.origin(scope.client, lambda: [value for name, value in named() if name == HEADER])

    def request_id(self) -> str:
        self._requests += 1
        return f"{self._process}{self._requests:08X}"

    async def close(self) -> None:
        if self.closing is not None:
            await self.closing()
        await self.session.close()


def idempotency_key(request: S3Request, part: str = "") -> str:
    """Returns the idempotency key of a request that changes something, or an empty string. `part` names one of several
    parts of the request that are decided separately."""
    key = request.headers.get(_KEY_HEADER, "")
    if not key or not part or len(key) > KEY_LENGTH_MAX:
        return key
    name = sha256(part.encode()).hexdigest()[:_KEY_PART_DIGITS]
    short = key if len(key) + len(name) < KEY_LENGTH_MAX else sha256(key.encode()).hexdigest()
    return f"{short}/{name}"
