"""`lochan serve`: the S3 gateway and the API over a lake, until it is stopped."""

import os
from typing import TYPE_CHECKING

import click

from lochan.cli.session import configuration, open_engine_lake, run
from lochan.cli.upkeep import upkeep_options
from lochan.cli.verb import verb
from lochan.config.load import Config
from lochan.connection import probe_store
from lochan.errors import Invalid, Refused

if TYPE_CHECKING:
    from lochan.access.users import NewAccessKey
    from lochan.api.upkeep_tasks import UpkeepOptions
    from lochan.lake import Lake
    from lochan.server.settings import ClientLimits, DeliverySettings, Listener, OidcSettings, QuerySettings, Tls

_LIBRARIES = ("awscrt", "cryptography", "granian", "prometheus_client", "starlette", "uvloop")
_OIDC_LIBRARIES = ("authlib", "cryptography", "httpx", "joserfc")
_WORKERS_MAX = 256
_SPARK_LEAST_MIB = 512  # a JVM with less does not even start Spark
ADMIN_ID, ADMIN_SECRET = "LOCHAN_ADMIN_ACCESS_KEY_ID", "LOCHAN_ADMIN_SECRET_ACCESS_KEY"


@verb("serve", "lochan serve", form=False)
@click.option("--s3-listen", metavar="HOST:PORT", help="Where the S3 gateway listens [default: 127.0.0.1:8000].")
@click.option("--flat-listen", metavar="HOST:PORT", help="Where the flat S3 gateway listens. Default: nowhere.")
@click.option("--api-listen", metavar="HOST:PORT", help="Where the API and the page listen [default: 127.0.0.1:8001].")
@click.option(
    "--workers",
    type=click.IntRange(1, _WORKERS_MAX),
    default=None,
    help="The number of processes of each gateway [default: the number of cores].",
)
@click.option(
    "--tls-cert",
    type=click.Path(exists=True, dir_okay=False),
    help="The certificate, in PEM. Default: the setting tls.cert.",
)
@click.option(
    "--tls-key",
    type=click.Path(exists=True, dir_okay=False),
    help="Its private key, in PEM. Default: the setting tls.key.",
)
def serve_command(
    s3_listen: str | None,
    flat_listen: str | None,
    api_listen: str | None,
    workers: int | None,
    tls_cert: str | None,
    tls_key: str | None,
) -> None:
    """Serve the lake over HTTP: S3 on one address, the API and the page on another.

    While the lake has no user, it prints a link that makes the administrator. The link works once.
    """
    _check_libraries(_LIBRARIES, "the server", "server")
    from lochan.server.api.setup import token_hash
    from lochan.server.serve import serve

    config = configuration()
    run(config, probe_store(config))
    setup_token = run(config, _check_keys(config))
    addresses = {
        "s3": s3_listen or config.settings.gateways.s3.listen,
        "flat": flat_listen or config.settings.gateways.s3.flat_listen,
        "api": api_listen or config.settings.api.listen,
    }
    tls = _tls(tls_cert or config.settings.tls.cert, tls_key or config.settings.tls.key)
    upkeep = upkeep_options(config) if config.settings.upkeep.enabled else None
    processes = workers or _cores()
    listeners = [_listener(name, at, config, processes, tls, upkeep) for name, at in addresses.items() if at]
    if setup_token:
        hashed = token_hash(setup_token)
        listeners = [each._replace(setup_hash=hashed) if each.name == "api" else each for each in listeners]
    serve(listeners, lambda: _greet(listeners, setup_token, run(config, _admin(config))))


def _cores() -> int:
    """Returns the number of cores that this process may use. In a container that is often fewer than the machine
    has."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, _WORKERS_MAX)


def _check_libraries(libraries: tuple[str, ...], what: str, extra: str) -> None:
    """Raises Refused if a library is missing, before a process is started that could only fail."""
    from importlib.util import find_spec

    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        raise Refused(
            f"{what} needs {', '.join(missing)}, which are not installed",
            hint=f"install Lochan with its extra: pip install 'lochan[{extra}]'",
        )


async def _check_keys(config: Config) -> str:
    """Returns the token of the set-up link, which is random, if the lake has no user and no key was given for one;
    otherwise returns an empty text. Raises Invalid for a wrong key of the first administrator, before anything is
    started."""
    from lochan.access.users import admin_credentials, check_encryption

    async with open_engine_lake(config) as lake:
        access = lake.open_access()
        admin_credentials(access, *_given_admin())
        for id in await check_encryption(access):
            click.echo(f"the secret of access key {id} cannot be decrypted, so it cannot be used", err=True)
        needs_setup = not any(_given_admin()) and (await access.state()).is_empty()
        return access.ids.access_key_secret() if needs_setup else ""


async def _admin(config: Config) -> "NewAccessKey | None":
    """Makes the first administrator with the given key, if there is one and the lake has no user."""
    if not any(_given_admin()):
        return None
    from lochan.access.users import ensure_admin
    from lochan.cli.session import actor

    async with open_engine_lake(config) as lake:
        return await ensure_admin(lake.open_access(), *_given_admin(), actor=actor(config))


def _given_admin() -> tuple[str, str]:
    return os.environ.get(ADMIN_ID, ""), os.environ.get(ADMIN_SECRET, "")


class OpenLake:
    """Opens the lake in a worker process, from the command's configuration."""

    def __init__(self, config: Config) -> None:
        self._config = config

    async def __call__(self) -> "Lake":
        from lochan.cli.session import opened_lake

        return await opened_lake(self._config, lasting=True)


class SetUpLogging:
    """Sets up logging in a process of the server, by the configuration."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def __call__(self) -> None:
        from lochan.cli.logging import set_up_server

        set_up_server(self._config)


def _listener(
    name: str, address: str, config: Config, workers: int, tls: "Tls | None", upkeep: "UpkeepOptions | None"
) -> "Listener":
    from lochan.server.ldap.settings import directory_settings
    from lochan.server.settings import Listener, S3Settings

    settings, s3 = config.settings, config.settings.gateways.s3
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise Invalid(f"{address!r} is not an address to listen on", hint="such as 127.0.0.1:8000")
    return Listener(
        name,
        host.strip("[]"),
        int(port),
        1 if name == "api" else workers,
        OpenLake(config),
        S3Settings(s3.domain, s3.region, name == "flat", s3.idle_s, s3.signature_v2),
        SetUpLogging(config),
        tls,
        access_log=settings.logging.format if settings.logging.access else "",
        usage_s=settings.usage.flush_s if settings.usage.enabled else None,
        upkeep=upkeep if name == "api" else None,
        deliveries=_deliveries(config) if name == "api" else None,
        directory=directory_settings(config.settings.login.ldap) if name == "api" else None,
        queries=_queries(config),
        limits=_limits(config),
        proxies=_proxies(config),
        oidc=_oidc(config) if name == "api" else None,
    )


def _oidc(config: Config) -> "OidcSettings | None":
    """Returns the settings of OpenID Connect. Raises Invalid, or Refused if the libraries that it needs are not
    installed."""
    given = config.settings.login.oidc
    if given.issuer is None:
        return None
    if not given.client_id:
        raise Invalid("login.oidc.issuer is set, and login.oidc.client_id is not", hint="set both, or neither")
    from lochan.access.external import ProviderGroups
    from lochan.config.group_map import parse_group_list, parse_group_map
    from lochan.server.login.provider import check_url
    from lochan.server.settings import OidcSettings

    _check_libraries(_OIDC_LIBRARIES, "signing in by OpenID Connect", "oidc")
    for url in (given.issuer, given.callback_url or given.issuer):
        check_url(url)
    return OidcSettings(
        given.issuer,
        given.client_id,
        given.client_secret or "",
        given.scopes,
        given.name_claim,
        given.groups_claim,
        ProviderGroups(
            parse_group_map(given.groups) if given.groups else {},
            parse_group_list(given.allowed_groups) if given.allowed_groups else frozenset(),
        ),
        given.callback_url or "",
        given.ca_file or "",
        given.title,
    )


def _deliveries(config: Config) -> "DeliverySettings | None":
    from lochan.server.settings import DeliverySettings

    given = config.settings.subscriptions
    if not given.enabled:
        return None
    return DeliverySettings(given.attempts, given.retry_s, given.pause_s, given.timeout_s, given.turn_s)


def _limits(config: Config) -> "ClientLimits":
    from lochan.server.settings import ClientLimits

    server = config.settings.server
    return ClientLimits(
        server.connections,
        server.anonymous_connections,
        server.anonymous_per_address,
        server.requests,
        server.authentication_s,
        float(server.body_rate),
    )


def _proxies(config: Config) -> tuple[str, ...]:
    """Returns the trusted proxies. Raises Invalid for a text that is no address and no network."""
    from lochan.server.origin import TrustedProxies

    found = tuple((config.settings.server.trusted_proxies or "").split())
    TrustedProxies(found)
    return found


def _queries(config: Config) -> "QuerySettings":
    from lochan.connection import spark_place
    from lochan.server.settings import QuerySettings

    query, spark = config.settings.api.query, config.settings.spark
    place = spark_place(config)
    memory = f"{max(spark.memory >> 20, _SPARK_LEAST_MIB)}m"
    return QuerySettings(
        query.at_once,
        query.waiting,
        query.memory,
        query.timeout,
        place._replace(options={**place.options, "spark.driver.memory": memory}),
        spark.warm,
        query.at_once_per_user,
        query.waiting_per_user,
        query.spill,
    )


def _tls(certificate: str | None, key: str | None) -> "Tls | None":
    from pathlib import Path

    from lochan.server.settings import Tls

    if bool(certificate) != bool(key):
        raise Invalid(
            "only one of the certificate and its key was given",
            hint="give both --tls-cert and --tls-key (or the settings tls.cert and tls.key), or neither",
        )
    if not certificate or not key:
        return None
    _check_pair(certificate, key)
    return Tls(Path(certificate), Path(key))


def _check_pair(certificate: str, key: str) -> None:
    """Checks certificate and key. Raises Invalid, before a process is started that could only fail."""
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        raise Invalid(
            f"the certificate {certificate} and the key {key} cannot be used: {error}",
            hint="both are files in PEM that belong together; the key has no password",
        ) from None


def _greet(listeners: "list[Listener]", setup_token: str, credentials: "NewAccessKey | None") -> None:
    from lochan.server.connections import is_loopback

    scheme = "https" if listeners[0].tls else "http"
    names = {"s3": "S3 gateway", "flat": "flat S3 gateway", "api": "API, web page"}
    for each in listeners:
        click.echo(f"{names[each.name]:<16} {scheme}://{_host(each.host)}:{each.port}")
    if credentials is not None:
        click.echo(
            f"made the user {credentials.user} with the key {credentials.access_key_id}, as the environment says"
        )
    if setup_token:
        api = next(each for each in listeners if each.name == "api")
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(api.host, api.host)
        click.echo("nobody can sign in yet: this link makes the administrator, once, while this server runs")
        click.echo(f"  {scheme}://{_host(host)}:{api.port}/setup#{setup_token}")
    if not listeners[0].tls and not all(is_loopback(each.host) for each in listeners):
        click.echo("other machines can connect, and there is no TLS: what they send can be read on the way", err=True)
    click.echo("ready; Ctrl-C stops it")


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host
