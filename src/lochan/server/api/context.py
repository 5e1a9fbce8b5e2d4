"""What all resources of the API share, in the one process that serves it; and what is known of each request."""

from dataclasses import dataclass
from functools import cached_property

from lochan.access.open_access import OpenAccess
from lochan.lake import Lake
from lochan.server.api.query.queries import Queries
from lochan.server.api.spark import ServerSpark
from lochan.server.connection_guard import ConnectionGuard
from lochan.server.gateway.wire.identity import Realm
from lochan.server.metrics import QueryMetrics
from lochan.server.settings import Listener
from lochan.server.usage import UsageLog

CONTEXT = "lochan.asked"  # where a request's own are, in its scope


@dataclass
class RequestContext:
    id: str
    arrived: float  # by the boot clock, when the request came (A1)
    source: str
    user: str = ""
    operation: str = "Unknown"


@dataclass(frozen=True)
class Api:
    listener: Listener
    lake: Lake
    access: OpenAccess
    queries: Queries
    spark: ServerSpark
    metrics: QueryMetrics
    guard: ConnectionGuard
    usage: UsageLog | None = None

    @cached_property
    def realm(self) -> Realm:
        """What a signature must name: the same as at the gateway, so that a client signs for both alike."""
        return Realm(self.listener.s3.region)
