"""Every setting there is, in one table: its key, kind, default, meaning, and the other names it is accepted by;
and what to say to a name that is not among them.

The loader, the error messages, `lochan config show` and docs/operations/configuration.md all follow this table.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from lochan.config import kinds
from lochan.config.kinds import SettingKind, one_of
from lochan.errors import Invalid

# Variables that begin with LOCHAN_ and are not settings: the configuration file's name, the first administrator's key,
# which is read once, where a lake is set up, and belongs in no file, and what `bisect run` tells the command it runs.
OTHER_VARIABLES = (
    "LOCHAN_CONFIG",
    "LOCHAN_ADMIN_ACCESS_KEY_ID",
    "LOCHAN_ADMIN_SECRET_ACCESS_KEY",
    "LOCHAN_BISECT_REF",
    "LOCHAN_BISECT_URI",
)


class Setting(NamedTuple):
    key: str
    kind: SettingKind
    default: str | None  # as it would be written in a file; None: not set
    about: str
    also: tuple[str, ...] = ()  # other names for the key
    secret: bool = False  # shown as stars, everywhere


SETTINGS: tuple[Setting, ...] = (
    Setting("lake", kinds.LOCATION, None, "the lake: a folder or a URL"),
    Setting(
        "user",
        kinds.TEXT,
        None,
        "who the author of commits is; the system's user stands beside it in the journal, and is the committer",
    ),
    Setting("pool", kinds.TEXT, None, "the pool in use, such as logs@main; by default what `lochan use` was told"),
    Setting(
        "logging.format", one_of("text", "json"), "text", "how log lines look: for people, or one JSON object each"
    ),
    Setting(
        "logging.level", one_of("DEBUG", "INFO", "WARN", "ERROR", "NONE"), "INFO", "the least level that is logged"
    ),
    Setting(
        "logging.output", kinds.OUTPUT, "-", 'a file; "-" is stdout for the server, stderr for every other command'
    ),
    Setting("logging.access", kinds.YES_OR_NO, "true", "whether the server logs a line for every request"),
    Setting(
        "journal.type",
        one_of("store", "postgres", badger="store"),
        "store",
        "where a new lake keeps its journals: on the store, or in PostgreSQL; badger, an older name, means store",
        also=("journal", "metadata.db.type"),
    ),
    Setting(
        "journal.postgres.url",
        kinds.POSTGRES_URL,
        None,
        "the database of the journals, where they are in PostgreSQL",
        secret=True,
    ),
    Setting("journal.hold_ms", kinds.MILLISECONDS, "0", "how long an append waits for others to join it"),
    Setting(
        "blockstore.type",
        one_of("local", "s3", "gs", "azure", "memory"),
        "local",
        "the kind of store, where `lake` does not already say",
    ),
    Setting(
        "blockstore.local.path", kinds.PATH, None, "the lake's folder, where `lake` is not set and the type is local"
    ),
    Setting(
        "blockstore.address_style",
        one_of("id", "path", plain="id"),
        "id",
        "how the files of bodies are named: by an id, or by an id followed by the logical path; plain means id",
    ),
    Setting(
        "blockstore.tag_paths",
        kinds.YES_OR_NO,
        "false",
        "whether the files of bodies are tagged with their logical path, on stores that have tags",
    ),
    Setting("blockstore.s3.region", kinds.TEXT, "us-east-1", "the bucket's region"),
    Setting("blockstore.s3.endpoint", kinds.HTTP_URL, None, "an S3 service other than Amazon's"),
    Setting("blockstore.s3.profile", kinds.TEXT, None, "a named profile of the credentials file"),
    Setting("blockstore.s3.credentials_file", kinds.PATH, None, "a credentials file other than ~/.aws/credentials"),
    Setting("blockstore.s3.credentials.access_key_id", kinds.TEXT, None, "a fixed access key"),
    Setting(
        "blockstore.s3.credentials.access_secret_key",
        kinds.TEXT,
        None,
        "the secret of the fixed access key",
        also=("blockstore.s3.credentials.secret_access_key",),
        secret=True,
    ),
    Setting(
        "blockstore.s3.credentials.session_token", kinds.TEXT, None, "its session token, if it has one", secret=True
    ),
    Setting("blockstore.gs.credentials_file", kinds.PATH, None, "a service account's key file"),
    Setting("blockstore.azure.account", kinds.TEXT, None, "the storage account"),
    Setting("blockstore.azure.key", kinds.TEXT, None, "the storage account's key", secret=True),
    Setting(
        "gateways.s3.listen",
        kinds.ADDRESS,
        "127.0.0.1:8000",
        "where the S3 gateway listens",
        also=("gateways.s3.listen_address",),
    ),
    Setting(
        "gateways.s3.flat_listen",
        kinds.ADDRESS,
        None,
        "where the flat S3 gateway listens, which shows a repository's default branch as a whole bucket",
    ),
    Setting(
        "gateways.s3.domain",
        kinds.TEXT,
        "s3.local",
        "the name S3 clients call the gateway by, for buckets in the host name",
        also=("gateways.s3.domain_name",),
    ),
    Setting(
        "gateways.s3.region", kinds.TEXT, "us-east-1", "the region the gateway says it is, as S3 clients sign for it"
    ),
    Setting(
        "gateways.s3.signature_v2",
        kinds.YES_OR_NO,
        "false",
        "whether signatures of version 2 are taken, which leave parts of a request unsigned",
    ),
    Setting("gateways.s3.idle_s", kinds.SECONDS, "60", "how long a client may stand still in the midst of a request"),
    Setting(
        "gateways.s3.upload_days", kinds.DAYS, "7", "after how long an upload in parts that is not ended is aborted"
    ),
    Setting("server.connections", kinds.COUNT, "4096", "how many connections a process of the server holds at once"),
    Setting(
        "server.anonymous_connections",
        kinds.COUNT,
        "1024",
        "how many of them may be of clients that have not shown who they are; of more the oldest are closed",
    ),
    Setting(
        "server.anonymous_per_address",
        kinds.COUNT,
        "256",
        "how many of these may come from one address",
    ),
    Setting("server.requests", kinds.COUNT, "1024", "how many requests a process of the server answers at once"),
    Setting(
        "server.authentication_s",
        kinds.SECONDS,
        "15",
        "how long a client has to send a request, or a form up to its signature, before it is sent away",
    ),
    Setting(
        "server.body_rate",
        kinds.SIZE,
        "1kB",
        "how much of a body must come in a second, on average and behind the first `gateways.s3.idle_s`",
    ),
    Setting("tls.cert", kinds.PATH, None, "the server's certificate, in PEM, with its chain", also=("tls.cert_file",)),
    Setting("tls.key", kinds.PATH, None, "the private key of the certificate, in PEM", also=("tls.key_file",)),
    Setting("usage.enabled", kinds.YES_OR_NO, "true", "whether the server notes in the lake who read or wrote what"),
    Setting("usage.flush_s", kinds.SECONDS, "60", "how often these notes are written to the lake"),
    Setting(
        "api.listen",
        kinds.ADDRESS,
        "127.0.0.1:8001",
        "where the REST API and the web page listen",
        also=("api.listen_address",),
    ),
    Setting("api.query.at_once", kinds.COUNT, "4", "how many queries the server runs at once"),
    Setting("api.query.waiting", kinds.COUNT, "16", "how many more may wait for one of these to end"),
    Setting("api.query.at_once_per_user", kinds.COUNT, "3", "how many of the queries that run may be of one user"),
    Setting("api.query.waiting_per_user", kinds.COUNT, "8", "how many of those that wait may be of one user"),
    Setting("api.query.memory", kinds.SIZE, "1GiB", "the most memory that one query on the server may use"),
    Setting("api.query.spill", kinds.SIZE, "10GiB", "the most disk that one query on the server may use beside memory"),
    Setting("api.query.timeout", kinds.LENGTH, "1h", "the longest that one query on the server may take"),
    Setting(
        "auth.encrypt.key_file",
        kinds.PATH,
        None,
        "the file whose bytes encrypt the secrets of access keys; by default a key that lies in the lake",
        also=("auth.encryption_key_file",),
    ),
    Setting("auth.encrypt.secret_key", kinds.TEXT, None, "the same as a text, instead of a file", secret=True),
    Setting(
        "manage.policy",
        kinds.PATH,
        None,
        "a policy of upkeep for pools: what `lochan manage` goes by, and the server too if it is set",
    ),
    Setting("spark.master", kinds.TEXT, "local[*]", "the Spark master that jobs run on"),
    Setting("spark.remote", kinds.SPARK_URL, None, "a Spark Connect server, instead of a master"),
    Setting(
        "spark.packages",
        kinds.TEXT,
        None,
        "packages that Spark fetches when it starts, such as org.apache.hadoop:hadoop-aws:3.4.2 for a lake in a bucket",
    ),
    Setting("spark.warm", kinds.YES_OR_NO, "false", "whether the server starts Spark with itself, and not when needed"),
    Setting("spark.memory", kinds.SIZE, "1GiB", "how much memory the server's own Spark has"),
    Setting("spark.threshold", kinds.SIZE, "256MB", "on a cluster, work that reads more than this goes to Spark"),
    Setting(
        "spark.local_threshold",
        kinds.SIZE,
        None,
        "on one machine, work that reads more than this goes to Spark; by default, what fits neither memory nor disk",
    ),
    Setting(
        "cache.path",
        kinds.PATH,
        None,
        "the folder of cached files, by default lochan in the user's cache folder; safe to delete",
        also=("metadata.db.badger.path", "metadata.badger.path"),
    ),
    Setting("cache.size", kinds.SIZE, "10GB", "how large the cache may grow"),
)


def variable(name: str) -> str:
    """The environment variable of a setting: `api.listen` is LOCHAN_API__LISTEN."""
    return "LOCHAN_" + name.upper().replace(".", "__")


def _names() -> Iterator[tuple[str, Setting]]:
    for setting in SETTINGS:
        for name in (setting.key, *setting.also):
            yield name, setting


BY_NAME: Mapping[str, Setting] = dict(_names())
BY_VARIABLE: Mapping[str, str] = {variable(name): name for name in BY_NAME}
SECTIONS = frozenset(
    ".".join(parts[:depth]) for parts in (name.split(".") for name in BY_NAME) for depth in range(1, len(parts))
)


def no_such_setting(where: str, name: str) -> Invalid:
    return Invalid(
        f"{where}: there is no setting {name!r}{did_you_mean(name, {*BY_NAME, *SECTIONS})}",
        hint="`lochan config show` lists every setting",
    )


def no_such_variable(name: str) -> Invalid:
    return Invalid(
        f"{name} in the environment is no setting{did_you_mean(name, {*BY_VARIABLE, *OTHER_VARIABLES})}",
        hint="unset it, or see `lochan config show` for every setting; sections are parted by two underscores",
    )


def did_you_mean(name: str, names: Collection[str]) -> str:
    """The nearest of `names`; failing that, one that ends in the same word: somebody left out the section."""
    from difflib import get_close_matches  # only a mistake pays for it

    near = get_close_matches(name, sorted(names), n=1) or sorted(each for each in names if each.endswith(f".{name}"))
    return f"; did you mean {near[0]!r}?" if near else ""
