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
    from lochan.server.settings import ClientLimits, Listener, QuerySettings, Tls

_LIBRARIES = ("awscrt", "cryptography", "granian", "prometheus_client", "starlette", "uvloop")
_SPARK_LEAST_MIB = 512  # a JVM with less does not even start Spark
ADMIN_ID, ADMIN_SECRET = "LOCHAN_ADMIN_ACCESS_KEY_ID", "LOCHAN_ADMIN_SECRET_ACCESS_KEY"


@verb("serve", "lochan serve", form=False)
@click.option("--s3-listen", metavar="HOST:PORT", help="Where the S3 gateway listens [default: 127.0.0.1:8000].")
@click.option("--flat-listen", metavar="HOST:PORT", help="Where the flat S3 gateway listens. Default: nowhere.")
@click.option("--api-listen", metavar="HOST:PORT", help="Where the API and the page listen [default: 127.0.0.1:8001].")
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="The number of processes of each gateway.",
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
    workers: int,
    tls_cert: str | None,
    tls_key: str | None,
) -> None:
    """Serve the lake over HTTP: S3 on one address, the API and the page on another.

    The first start on a lake creates an administrator and prints its keys, once.
    """
    _check_installed()
    from lochan.server.serve import serve

    config = configuration()
    run(config, probe_store(config))
    run(config, _check_keys(config))
    addresses = {
        "s3": s3_listen or config.settings.gateways.s3.listen,
        "flat": flat_listen or config.settings.gateways.s3.flat_listen,
        "api": api_listen or config.settings.api.listen,
    }
    tls = _tls(tls_cert or config.settings.tls.cert, tls_key or config.settings.tls.key)
    upkeep = upkeep_options(config) if config.settings.upkeep.enabled else None
    listeners = [_listener(name, at, config, workers, tls, upkeep) for name, at in addresses.items() if at]
    # The administrator is made when all listeners have their addresses: its secret is shown once, and a server that
    # cannot listen shows nothing.
    serve(listeners, lambda: _greet(listeners, run(config, _admin(config))))


def _check_installed() -> None:
    """Raises Refused, before a process is started that could only fail."""
    from importlib.util import find_spec

    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        raise Refused(
            f"the server needs {', '.join(missing)}, which are not installed",
            hint="install Lochan with its extra: pip install 'lochan[server]'",
        )


async def _check_keys(config: Config) -> None:
    """Raises Invalid for what was given as the first administrator's key, before anything is started."""
    from lochan.access.users import admin_credentials, check_encryption

    async with open_engine_lake(config) as lake:
        access = lake.open_access()
        admin_credentials(access, *_given())
        for id in await check_encryption(access):
            click.echo(f"the secret of access key {id} cannot be decrypted, so it cannot be used", err=True)


async def _admin(config: Config) -> "NewAccessKey | None":
    from lochan.access.users import ensure_admin
    from lochan.cli.session import actor

    async with open_engine_lake(config) as lake:
        return await ensure_admin(lake.open_access(), *_given(), actor=actor(config))


def _given() -> tuple[str, str]:
    return os.environ.get(ADMIN_ID, ""), os.environ.get(ADMIN_SECRET, "")


class OpenLake:
    """Opens the lake in a worker process, from the configuration that the command was given."""

    def __init__(self, config: Config) -> None:
        self._config = config

    async def __call__(self) -> "Lake":
        from lochan.cli.session import opened_lake

        return await opened_lake(self._config, lasting=True)


class SetUpLogging:
    """In a process of the server, as the configuration asks."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def __call__(self) -> None:
        from lochan.cli.logging import set_up_server

        set_up_server(self._config)


def _listener(
    name: str, address: str, config: Config, workers: int, tls: "Tls | None", upkeep: "UpkeepOptions | None"
) -> "Listener":
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
        queries=_queries(config),
        limits=_limits(config),
    )


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
    """Raises Invalid, before a process is started that could only fail."""
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        raise Invalid(
            f"the certificate {certificate} and the key {key} cannot be used: {error}",
            hint="both are files in PEM that belong together; the key has no password",
        ) from None


def _greet(listeners: "list[Listener]", credentials: "NewAccessKey | None") -> None:
    from lochan.server.connections import is_loopback

    scheme = "https" if listeners[0].tls else "http"
    names = {"s3": "S3 gateway", "flat": "flat S3 gateway", "api": "API"}
    for each in listeners:
        host = f"[{each.host}]" if ":" in each.host else each.host
        click.echo(f"{names[each.name]:<16} {scheme}://{host}:{each.port}")
    if credentials is not None:
        click.echo("an administrator was made; its keys are shown this once:")
        click.echo(f"  access key id      {credentials.access_key_id}")
        click.echo(f"  secret access key  {credentials.secret_access_key}")
        click.echo(f"if they are lost, this makes others: lochan auth keys create {credentials.user}")
    if not listeners[0].tls and not all(is_loopback(each.host) for each in listeners):
        click.echo("other machines can connect, and there is no TLS: what they send can be read on the way", err=True)
    click.echo("ready; Ctrl-C stops it")
