"""Defines the objects that all routes of the API share, in the one process that serves it, and the context of each
request."""

from asyncio import Event
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from lochan.access.open_access import OpenAccess
from lochan.access.requester import Requester, address_of
from lochan.api.lake import Lake
from lochan.api.server_spark import ServerSpark
from lochan.api.session import Session
from lochan.api.wrappers.records import Caller
from lochan.clock import Clock
from lochan.server.api.failed_logins import FailedLogins
from lochan.server.api.queries import Queries
from lochan.server.connections import ConnectionGuard
from lochan.server.gateway.wire.identity import Realm
from lochan.server.login.provider import OidcProvider
from lochan.server.metrics import QueryMetrics
from lochan.server.rest.fast_rows import FastRows
from lochan.server.rest.fast_stat import FastStat
from lochan.server.rest.import_tasks import ImportTasks
from lochan.server.rest.known_keys import KnownKeys
from lochan.server.settings import Listener
from lochan.server.verbs.tasks import VerbTasks
from lochan.usage.log import UsageLog

if TYPE_CHECKING:  # it needs a package that is only installed with a directory
    from lochan.server.ldap.directory import Directory

CONTEXT = "lochan.context"  # the key of a request's RequestContext in its scope


@dataclass
class RequestContext:
    id: str
    arrived: float  # when the request came, by the boot clock (A1)
    source: str  # the address of the connection, or of the client that a trusted proxy names
    user: str = ""
    access_key: str = ""  # the key that authenticated the user; a session may have none and act as the user
    limits: tuple[tuple[str, ...], ...] = ()  # the limits of a session
    is_session: bool = False  # whether a token stands for the access key
    session_secret: str = field(default="", repr=False)  # the secret of a session that can sign
    session_id: str = ""
    session_token: str = field(default="", repr=False)
    login_session: str = ""  # the id of a session that the user has opened by signing in
    operation: str = "Unknown"
    connection: str = ""

    @property
    def requester(self) -> Requester:
        return Requester(self.user, self.access_key, self.limits, address_of(self.source))

    def caller(self, client: str, author: str = "") -> Caller:
        return Caller(self.user, client, self.source, self.arrived, author, self.access_key, self.limits)


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
    begun: float  # when the server was started, by the boot clock
    imports: ImportTasks = field(default_factory=ImportTasks)
    tasks: VerbTasks = field(default_factory=VerbTasks)
    failed_logins: FailedLogins = field(default_factory=FailedLogins)
    directory: "Directory | None" = None  # None if only access keys open a session
    stopping: Event = field(default_factory=Event)  # set when the server has to stop, so that endless answers end

    def wind_up(self) -> None:
        """Prepares for the server's stop: long work ends soon."""
        self.queries.wind_up()
        self.stopping.set()

    @cached_property
    def fast_stat(self) -> FastStat:
        return FastStat(self.session, self.access, self.lake.url, self.known_keys)

    @cached_property
    def fast_rows(self) -> FastRows:
        return FastRows(self.session, self.access, self.known_keys)

    @cached_property
    def known_keys(self) -> KnownKeys:
        return KnownKeys(self.access)

    @cached_property
    def oidc(self) -> OidcProvider | None:
        """The provider of OpenID Connect, or None if none is configured."""
        settings = self.listener.oidc
        return None if settings is None else OidcProvider(settings, self.clock)

    @cached_property
    def realm(self) -> Realm:
        """The realm that a signature must name: the same as at the gateway, so that a client signs for both alike."""
        return Realm(self.listener.s3.region)
