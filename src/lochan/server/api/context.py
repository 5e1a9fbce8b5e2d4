"""What all routes of the API share, in the one process that serves it; and what is known of each request."""

from dataclasses import dataclass, field
from functools import cached_property

from lochan.access.open_access import OpenAccess
from lochan.api.lake import Lake
from lochan.api.server_spark import ServerSpark
from lochan.api.session import Session
from lochan.clock import Clock
from lochan.server.api.queries import Queries
from lochan.server.connections import ConnectionGuard
from lochan.server.gateway.wire.identity import Realm
from lochan.server.metrics import QueryMetrics
from lochan.server.rest.import_tasks import ImportTasks
from lochan.server.settings import Listener
from lochan.usage.log import UsageLog

CONTEXT = "lochan.context"  # the key of a request's RequestContext in its scope


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
    session: Session
    lake: Lake
    access: OpenAccess
    queries: Queries
    spark: ServerSpark
    metrics: QueryMetrics
    guard: ConnectionGuard
    clock: Clock
    usage: UsageLog
    imports: ImportTasks = field(default_factory=ImportTasks)

    @cached_property
    def realm(self) -> Realm:
        """What a signature must name: the same as at the gateway, so that a client signs for both alike."""
        return Realm(self.listener.s3.region)
