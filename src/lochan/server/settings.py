"""Defines the settings of a server. Its starter has read the configuration and the environment."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lochan.access.external import ProviderGroups
from lochan.api.upkeep_tasks import UpkeepOptions
from lochan.engines.spark.place import STANDARD, SparkPlace
from lochan.lake import Lake

if TYPE_CHECKING:  # these modules need this one
    from lochan.server.ldap.settings import DirectorySettings


class Tls(NamedTuple):
    certificate: Path
    key: Path


class S3Settings(NamedTuple):
    domain: str = "s3.local"  # bucket names may precede it in the host name
    region: str = "us-east-1"
    flat: bool = False  # whether a bucket is the default branch of a repository
    idle_s: float = 60.0  # how long a client may be silent in the middle of a request
    takes_v2: bool = False  # whether signatures of version 2 are accepted


class ClientLimits(NamedTuple):
    """The limits of clients in one process of the server."""

    connections: int = 4_096
    anonymous: int = 1_024  # the part of these on which no request has been authenticated yet
    anonymous_per_address: int = 256
    requests: int = 1_024  # the most that are answered at once
    authentication_s: float = 15.0  # the time for the head of a request, and for a form up to its signature
    body_bytes_per_s: float = 1_000.0  # the lowest pace, on average


class QuerySettings(NamedTuple):
    at_once: int = 4  # each runs on a thread of its own, with a lake of its own
    waiting: int = 16  # how many wait for one of these to end; more are refused
    memory_bytes: int = 1 << 30  # the most that one may use, and what it gets unless it requests less
    seconds: float = 3_600.0  # the most time that one may take
    spark: SparkPlace = STANDARD
    warm: bool = False  # whether Spark is started with the server, and not by the first query that needs it
    at_once_per_user: int = 3  # how many of one user run; others of this user wait, and let those of other users pass
    waiting_per_user: int = 8  # how many of one user wait
    spill_bytes: int = 10 << 30  # the most that one may put on the disk


class DeliverySettings(NamedTuple):
    """How events are sent to subscriptions."""

    attempts: int = 14  # how many attempts are made before events are given up
    retry_s: float = 1.0  # the first pause; each one after it is twice as long
    pause_s: float = 3_600.0  # the longest pause
    timeout_s: float = 10.0
    turn_s: float = 15.0  # how long other servers wait for a server that has stopped


class OidcSettings(NamedTuple):
    """How users sign in at a provider of OpenID Connect."""

    issuer: str
    client_id: str
    client_secret: str = ""  # empty if the provider knows this client by its address and PKCE alone
    scopes: str = "openid profile email"
    name_claim: str = "preferred_username"
    groups_claim: str = "groups"
    groups: ProviderGroups = ProviderGroups()
    callback_url: str = ""  # empty for the address under which the browser reaches this server
    ca_file: str = ""  # verifies the provider's certificate; empty for the system's
    title: str = "Sign in with OpenID Connect"

    def __repr__(self) -> str:
        """Shows the settings without the secret, so that no log or traceback shows it."""
        return f"OidcSettings(issuer={self.issuer!r}, client_id={self.client_id!r})"

    @property
    def source(self) -> str:
        """The source that identities name, because a subject means nothing at another issuer."""
        return f"oidc {self.issuer}"


class Listener(NamedTuple):
    """One address, with processes of its own. All of it can be pickled, because each process is started afresh."""

    name: str  # s3, flat or api
    host: str
    port: int
    workers: int
    open_lake: Callable[[], Awaitable[Lake]]
    s3: S3Settings
    set_up_logging: Callable[[], None]  # called once in each process
    tls: Tls | None = None
    access_log: str = "text"  # text or json, with a line for every request; empty for none
    usage_s: float | None = 60.0  # how often the usage log is written; None if there is none
    upkeep: UpkeepOptions | None = None  # what this process does for the lake by schedule; None for nothing
    deliveries: DeliverySettings | None = None  # None if this process sends no events to subscriptions
    directory: "DirectorySettings | None" = None  # the directory whose names and passwords sign in, at the API
    queries: QuerySettings = QuerySettings()
    limits: ClientLimits = ClientLimits()
    proxies: tuple[str, ...] = ()  # addresses and networks whose X-Forwarded-For is believed
    oidc: OidcSettings | None = None  # None if nobody signs in this way
    setup_hash: bytes = b""  # the hash of the token that makes the first administrator; empty if nobody can be made
