"""All settings. A section is a struct, and a field has its type, its default and its description.

The loader, the error messages, `lochan config show` and docs/operations/configuration.md all follow these structs;
`SETTINGS` is the same as one list."""

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import msgspec

from lochan.config import kinds
from lochan.config.kinds import GB, GIB, MB, SettingKind, one_of
from lochan.errors import Invalid

# Variables that begin with LOCHAN_ and are not settings: the name of the configuration file; the first administrator's
# key, which is read once, when a lake is set up, and belongs in no file; and what `bisect run` passes to its command.
OTHER_VARIABLES = (
    "LOCHAN_CONFIG",
    "LOCHAN_ADMIN_ACCESS_KEY_ID",
    "LOCHAN_ADMIN_SECRET_ACCESS_KEY",
    "LOCHAN_BISECT_REF",
    "LOCHAN_BISECT_URI",
)
# Other names of settings, by which older configuration files call them.
OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "journal.type": ("journal", "metadata.db.type"),
    "blockstore.s3.credentials.access_secret_key": ("blockstore.s3.credentials.secret_access_key",),
    "gateways.s3.listen": ("gateways.s3.listen_address",),
    "gateways.s3.domain": ("gateways.s3.domain_name",),
    "tls.cert": ("tls.cert_file",),
    "tls.key": ("tls.key_file",),
    "api.listen": ("api.listen_address",),
    "auth.encrypt.key_file": ("auth.encryption_key_file",),
    "cache.path": ("metadata.db.badger.path", "metadata.badger.path"),
}
_SYNONYMS = {"journal.type": {"badger": "store"}, "blockstore.address_style": {"plain": "id"}}


class Section(msgspec.Struct, frozen=True):
    pass


class LoggingSettings(Section, frozen=True):
    format: Annotated[
        Literal["text", "json"], "the format of log lines: text for people, or one JSON object per line"
    ] = "text"
    level: Annotated[Literal["DEBUG", "INFO", "WARN", "ERROR", "NONE"], "the lowest level that is logged"] = "INFO"
    output: Annotated[kinds.Output, 'a file; "-" is stdout for the server, stderr for every other command'] = "-"
    access: Annotated[kinds.YesNo, "whether the server logs a line for every request"] = True


class JournalDatabaseSettings(Section, frozen=True):
    url: Annotated[kinds.PostgresUrl | None, "the database of the journals, if they are in PostgreSQL"] = None


class JournalSettings(Section, frozen=True):
    type: Annotated[
        Literal["store", "postgres"],
        "where a new lake keeps its journals: on the store, or in PostgreSQL; badger, an older name, means store",
    ] = "store"
    postgres: JournalDatabaseSettings = JournalDatabaseSettings()
    hold_ms: Annotated[kinds.Milliseconds, "how long an append waits for others to join it"] = 0.0


class LocalStoreSettings(Section, frozen=True):
    path: Annotated[kinds.LocalPath | None, "the lake's folder, if `lake` is not set and the type is local"] = None


class S3CredentialsSettings(Section, frozen=True):
    access_key_id: Annotated[kinds.Text | None, "a fixed access key"] = None
    access_secret_key: Annotated[kinds.Secret | None, "the secret of the fixed access key"] = None
    session_token: Annotated[kinds.Secret | None, "its session token, if it has one"] = None


class S3StoreSettings(Section, frozen=True):
    region: Annotated[kinds.Text, "the bucket's region"] = "us-east-1"
    endpoint: Annotated[kinds.HttpUrl | None, "an S3 service other than Amazon's"] = None
    profile: Annotated[kinds.Text | None, "a named profile of the credentials file"] = None
    credentials_file: Annotated[kinds.LocalPath | None, "a credentials file other than ~/.aws/credentials"] = None
    credentials: S3CredentialsSettings = S3CredentialsSettings()


class GoogleStoreSettings(Section, frozen=True):
    credentials_file: Annotated[kinds.LocalPath | None, "a service account's key file"] = None
    endpoint: Annotated[
        kinds.HttpUrl | None, "a service other than Google's that speaks the XML API of Google Cloud Storage"
    ] = None
    token: Annotated[kinds.Secret | None, "an access token, instead of a key file"] = None


class AzureStoreSettings(Section, frozen=True):
    account: Annotated[kinds.Text | None, "the storage account"] = None
    key: Annotated[kinds.Secret | None, "the storage account's key"] = None
    sas_token: Annotated[kinds.Secret | None, "a shared access signature, instead of the key"] = None
    endpoint: Annotated[
        kinds.HttpUrl | None,
        "the blob endpoint, with the account if it is part of the path, as in http://127.0.0.1:10000/devstoreaccount1",
    ] = None


class BlockstoreSettings(Section, frozen=True):
    type: Annotated[
        Literal["local", "s3", "gs", "azure", "memory"], "the kind of store, if `lake` does not already say"
    ] = "local"
    local: LocalStoreSettings = LocalStoreSettings()
    address_style: Annotated[
        Literal["id", "path"],
        "how the files of bodies are named: by an id, or by an id followed by the logical path; plain means id",
    ] = "id"
    tag_paths: Annotated[
        kinds.YesNo, "whether the files of bodies are tagged with their logical path, on stores that have tags"
    ] = False
    s3: S3StoreSettings = S3StoreSettings()
    gs: GoogleStoreSettings = GoogleStoreSettings()
    azure: AzureStoreSettings = AzureStoreSettings()


class S3GatewaySettings(Section, frozen=True):
    listen: Annotated[kinds.Address, "where the S3 gateway listens"] = "127.0.0.1:8000"
    flat_listen: Annotated[
        kinds.Address | None,
        "where the flat S3 gateway listens, which shows a repository's default branch as a whole bucket",
    ] = None
    domain: Annotated[kinds.Text, "the host name that S3 clients use for the gateway, for buckets in the host name"] = (
        "s3.local"
    )
    region: Annotated[kinds.Text, "the region that S3 clients sign their requests for"] = "us-east-1"
    signature_v2: Annotated[
        kinds.YesNo, "whether signatures of version 2 are accepted, which leave parts of a request unsigned"
    ] = False
    idle_s: Annotated[kinds.Seconds, "how long a client may pause in the middle of a request"] = 60.0
    upload_days: Annotated[kinds.Days, "after how many days a multipart upload that nobody completes is aborted"] = 7.0


class GatewaysSettings(Section, frozen=True):
    s3: S3GatewaySettings = S3GatewaySettings()


class ServerSettings(Section, frozen=True):
    connections: Annotated[kinds.Count, "how many connections a process of the server holds at once"] = 4096
    anonymous_connections: Annotated[
        kinds.Count,
        "how many of them clients may hold before they have authenticated; beyond that, the oldest are closed",
    ] = 1024
    anonymous_per_address: Annotated[kinds.Count, "how many of these may come from one address"] = 256
    requests: Annotated[kinds.Count, "how many requests a process of the server answers at once"] = 1024
    trusted_proxies: Annotated[
        kinds.Text | None,
        "addresses and networks of proxies whose X-Forwarded-For says where requests come from, with spaces between",
    ] = None
    authentication_s: Annotated[
        kinds.Seconds, "how long a client has to send a request, or a form up to its signature"
    ] = 15.0
    body_rate: Annotated[
        kinds.Size, "how much of a body must arrive per second, on average, after the first `gateways.s3.idle_s`"
    ] = 1_000


class TlsSettings(Section, frozen=True):
    cert: Annotated[kinds.LocalPath | None, "the server's certificate, in PEM, with its chain"] = None
    key: Annotated[kinds.LocalPath | None, "the private key of the certificate, in PEM"] = None


class UsageSettings(Section, frozen=True):
    enabled: Annotated[
        kinds.YesNo, "whether servers, commands, Python and Spark record in the lake who read or wrote what"
    ] = True
    flush_s: Annotated[kinds.Seconds, "how often these records are written to the lake"] = 60.0
    keep_days: Annotated[
        kinds.Days, "how long they are kept; longer, as long as a retention rule asks when a thing was last read"
    ] = 400.0


class ApiQuerySettings(Section, frozen=True):
    at_once: Annotated[kinds.Count, "how many queries the server runs at once"] = 4
    waiting: Annotated[kinds.Count, "how many more may wait for one of these to end"] = 16
    at_once_per_user: Annotated[kinds.Count, "how many running queries one user may have"] = 3
    waiting_per_user: Annotated[kinds.Count, "how many waiting queries one user may have"] = 8
    memory: Annotated[kinds.Size, "the most memory that one query on the server may use"] = 1 * GIB
    spill: Annotated[kinds.Size, "the most disk space that one query on the server may use beside memory"] = 10 * GIB
    timeout: Annotated[kinds.Length, "the longest that one query on the server may take"] = 3_600.0


class ApiSettings(Section, frozen=True):
    listen: Annotated[kinds.Address, "where the REST API and the web page listen"] = "127.0.0.1:8001"
    query: ApiQuerySettings = ApiQuerySettings()


class EncryptionSettings(Section, frozen=True):
    key_file: Annotated[
        kinds.LocalPath | None,
        "the file whose bytes encrypt the secrets of access keys; by default a key that is stored in the lake",
    ] = None
    secret_key: Annotated[kinds.Secret | None, "the same as text, instead of a file"] = None


class AuthSettings(Section, frozen=True):
    encrypt: EncryptionSettings = EncryptionSettings()


class OidcLoginSettings(Section, frozen=True):
    issuer: Annotated[
        kinds.HttpUrl | None, "the provider of OpenID Connect where people sign in; without it, nobody does"
    ] = None
    client_id: Annotated[kinds.Text | None, "what the provider calls this server"] = None
    client_secret: Annotated[
        kinds.Secret | None,
        "the secret that the provider has given out for it; better in the environment than in a file",
    ] = None
    scopes: Annotated[kinds.Text, "what the provider is asked for"] = "openid profile email"
    name_claim: Annotated[kinds.Text, "the claim that names the user"] = "preferred_username"
    groups_claim: Annotated[kinds.Text, "the claim that lists groups"] = "groups"
    groups: Annotated[
        kinds.GroupMap | None,
        "groups of the lake that follow the provider's, such as engineers -> developers, analysts; staff -> all",
    ] = None
    allowed_groups: Annotated[
        kinds.GroupList | None, "groups of the provider, with semicolons between; nobody else may sign in"
    ] = None
    callback_url: Annotated[
        kinds.HttpUrl | None,
        "where the provider sends browsers to; by default /api/v1/auth/oidc/callback at the host that they have called",
    ] = None
    ca_file: Annotated[
        kinds.LocalPath | None, "certificates in PEM that the provider's is checked against; by default the system's"
    ] = None
    title: Annotated[kinds.Text, "what the button of the page says"] = "Sign in with OpenID Connect"


class LdapLoginSettings(Section, frozen=True):
    url: Annotated[
        kinds.LdapUrl | None, "the directory whose names and passwords people can sign in with; without it, none"
    ] = None
    start_tls: Annotated[kinds.YesNo, "whether a connection to an ldap:// address is encrypted by StartTLS"] = True
    plain_allowed: Annotated[
        kinds.YesNo, "whether passwords may go to another machine in the clear, where `login.ldap.start_tls` is off"
    ] = False
    ca_file: Annotated[
        kinds.LocalPath | None,
        "the authorities that the directory's certificate is checked by, in PEM; by default those of the system",
    ] = None
    source: Annotated[
        kinds.Text,
        "how the lake notes whose identity it is; another directory needs another word, a new address of "
        "the same one does not",
    ] = "ldap"
    bind_dn: Annotated[
        kinds.Text | None, "the account that reads the directory; by default it is read without a name"
    ] = None
    bind_password: Annotated[kinds.Secret | None, "its password"] = None
    user_base: Annotated[kinds.Text | None, "where people are, such as ou=people,dc=example,dc=org"] = None
    user_filter: Annotated[kinds.Text, "the filter that finds one entry by the name that somebody signs in with"] = (
        "(uid={name})"
    )
    name_attribute: Annotated[kinds.Text, "the attribute that names the lake's user"] = "uid"
    id_attribute: Annotated[
        kinds.Text, "the attribute that never changes and is never given to another entry, such as objectGUID"
    ] = "entryUUID"
    group_base: Annotated[kinds.Text | None, "where groups are; without it, nobody is asked for groups"] = None
    group_filter: Annotated[
        kinds.Text, "the filter that finds the groups of an entry, by its {dn} or by the user's {name}"
    ] = "(member={dn})"
    group_attribute: Annotated[kinds.Text, "the attribute that names a group"] = "cn"
    group_depth: Annotated[
        kinds.Count, "how deep groups may lie in groups: 1 counts only the groups that people are in themselves"
    ] = 5
    groups: Annotated[
        kinds.GroupMap | None,
        "groups of the lake that follow the directory's, such as engineers -> developers, analysts; staff -> all",
    ] = None
    allowed_groups: Annotated[
        kinds.GroupList | None, "groups of the directory, with semicolons between; nobody else may sign in"
    ] = None
    timeout_s: Annotated[kinds.Seconds, "how long a login waits for the directory"] = 10.0


class LoginSettings(Section, frozen=True):
    oidc: OidcLoginSettings = OidcLoginSettings()
    ldap: LdapLoginSettings = LdapLoginSettings()


class HooksSettings(Section, frozen=True):
    allowed_hosts: Annotated[
        kinds.Text | None, "hosts at private addresses that webhooks may be sent to, with spaces between"
    ] = None
    python_folder: Annotated[
        kinds.LocalPath | None, "the folder of modules that hooks of kind python may run; without it, none runs"
    ] = None
    python_memory: Annotated[kinds.Size, "the most memory that such a module may use"] = 512 * (1 << 20)
    keep_days: Annotated[kinds.Days, "how long the records of hooks' runs are kept"] = 90.0


class SubscriptionsSettings(Section, frozen=True):
    enabled: Annotated[kinds.YesNo, "whether the server sends events to the subscriptions of its lake"] = True
    attempts: Annotated[kinds.Count, "how often events are sent before they are given up as a dead letter"] = 14
    retry_s: Annotated[
        kinds.Seconds, "how long the first pause between attempts is; each one after it is twice as long"
    ] = 1.0
    pause_s: Annotated[kinds.Seconds, "the longest pause between two attempts"] = 3_600.0
    timeout_s: Annotated[kinds.Seconds, "how long a receiver may take to answer"] = 10.0
    turn_s: Annotated[
        kinds.Seconds, "how long other servers of the lake wait before they take over from one that has stopped"
    ] = 15.0


class LineageSettings(Section, frozen=True):
    enabled: Annotated[
        kinds.YesNo, "whether commits say which job, notebook, Git commit and Spark application made them"
    ] = True


class ManageSettings(Section, frozen=True):
    policy: Annotated[
        kinds.LocalPath | None,
        "an upkeep policy for pools, which `lochan manage` follows, and so does the server if it is set",
    ] = None


class UpkeepSettings(Section, frozen=True):
    enabled: Annotated[kinds.YesNo, "whether the server looks after the lake by itself, as the settings below say"] = (
        True
    )
    trim: Annotated[kinds.When, "when journals are trimmed"] = "1h"
    uploads: Annotated[kinds.When, "when uploads older than `gateways.s3.upload_days` are aborted"] = "1h"
    jobs: Annotated[
        kinds.When, "when jobs whose process is gone are given up, so that their files can be collected"
    ] = "1h"
    staging: Annotated[kinds.When, "when staged changes are merged on branches that nobody writes to"] = "6h"
    usage: Annotated[kinds.When, "when the usage log is merged, and what is older than `usage.keep_days` deleted"] = (
        "24h"
    )
    compact: Annotated[
        kinds.When | None,
        "when pools are compacted; by default as often as `manage.policy` says, and never without a policy",
    ] = None
    gc: Annotated[kinds.When, "when the garbage of every repository is collected, such as 03:00"] = "off"
    deleted: Annotated[
        kinds.When, "when deleted repositories that can no longer be restored are erased, such as 04:00"
    ] = "off"
    expire: Annotated[kinds.When, "when what retention rules no longer keep expires; `upkeep.gc` includes this"] = "off"
    repack: Annotated[kinds.When, "when files that are mostly dead are rewritten"] = "off"
    dedupe: Annotated[kinds.When, "when equal blocks are found, and kept once"] = "off"
    scrub: Annotated[kinds.When, "when data is read and compared with its SHA-256"] = "off"
    scrub_rate: Annotated[kinds.Size, "how many bytes of data are read in a second"] = 50 * MB
    scrub_minutes: Annotated[kinds.Minutes, "how long each repository is read at a time"] = 10.0
    ingest: Annotated[kinds.When, "when branches are made the same as the places that they follow"] = "off"
    ingest_sources: Annotated[
        kinds.Text | None, "the branches and places, such as demo@main/logs/=s3://bucket/logs/, with spaces between"
    ] = None
    grace_hours: Annotated[kinds.Hours, "the grace of garbage collection"] = 24.0
    memory: Annotated[kinds.Size, "the most memory that a task may use for rows"] = 512 * (1 << 20)
    threads: Annotated[kinds.Count, "how many threads a task may use for rows"] = 1


class SparkSettings(Section, frozen=True):
    master: Annotated[kinds.Text, "the Spark master that jobs run on"] = "local[*]"
    remote: Annotated[kinds.SparkUrl | None, "a Spark Connect server, instead of a master"] = None
    packages: Annotated[
        kinds.Text | None,
        "packages that Spark fetches at its start, such as org.apache.hadoop:hadoop-aws:3.4.2 for a lake on S3",
    ] = None
    warm: Annotated[kinds.YesNo, "whether the server starts Spark at its own start, and not when it is needed"] = False
    memory: Annotated[kinds.Size, "how much memory the server's own Spark has"] = 1 * GIB
    threshold: Annotated[kinds.Size, "on a cluster, work that reads more than this goes to Spark"] = 256 * MB
    stream_compaction: Annotated[
        Literal["driver", "spark", "none"],
        "where a stream into a pool merges small data objects: in its own process, by tasks of Spark, or nowhere",
    ] = "driver"
    local_threshold: Annotated[
        kinds.Size | None,
        "on one machine, work that reads more than this goes to Spark; by default, what fits neither memory nor disk",
    ] = None
    task_memory: Annotated[
        kinds.Size | None,
        "how much memory one task of a load on Spark uses for its rows, by default 512MiB; the rest goes to its disk",
    ] = None


class CacheSettings(Section, frozen=True):
    path: Annotated[
        kinds.LocalPath | None,
        "the folder of cached files, by default lochan in the user's cache folder; safe to delete",
    ] = None
    size: Annotated[kinds.Size, "how large the cache may grow"] = 10 * GB


class RemoteSettings(Section, frozen=True):
    access_key_id: Annotated[kinds.Text | None, "the access key for a lake behind a server; a login notes one, too"] = (
        None
    )
    secret_access_key: Annotated[kinds.Secret | None, "its secret"] = None


class ConfigSettings(Section, frozen=True):
    lake: Annotated[kinds.Location | None, "the lake: a folder or a URL"] = None
    profile: Annotated[kinds.Text | None, "the server that a login has noted under this name"] = None
    remote: RemoteSettings = RemoteSettings()
    user: Annotated[
        kinds.Text | None, "the author of commits; the journal also names the system's user, who is the committer"
    ] = None
    pool: Annotated[
        kinds.Text | None, "the pool in use, such as logs@main; by default the one that `lochan use` chose"
    ] = None
    companion: Annotated[
        kinds.YesNo | None,
        "whether light commands start a companion, which makes the next ones quicker; by default those that are typed "
        "on a terminal do. As 0 or no in the environment, a companion is not even used",
    ] = None
    logging: LoggingSettings = LoggingSettings()
    journal: JournalSettings = JournalSettings()
    blockstore: BlockstoreSettings = BlockstoreSettings()
    gateways: GatewaysSettings = GatewaysSettings()
    server: ServerSettings = ServerSettings()
    tls: TlsSettings = TlsSettings()
    usage: UsageSettings = UsageSettings()
    api: ApiSettings = ApiSettings()
    auth: AuthSettings = AuthSettings()
    login: LoginSettings = LoginSettings()
    hooks: HooksSettings = HooksSettings()
    subscriptions: SubscriptionsSettings = SubscriptionsSettings()
    lineage: LineageSettings = LineageSettings()
    manage: ManageSettings = ManageSettings()
    upkeep: UpkeepSettings = UpkeepSettings()
    spark: SparkSettings = SparkSettings()
    cache: CacheSettings = CacheSettings()


# --- the same as a list ----------------------------------------------------------------------------------------------
class Setting(NamedTuple):
    key: str
    type: Any  # that msgspec decodes it to; a setting without a default may also be None
    kind: SettingKind
    default: Any
    about: str

    @property
    def also(self) -> tuple[str, ...]:
        return OTHER_NAMES.get(self.key, ())

    @property
    def default_text(self) -> str:
        """The default as it would be written in a file, or an empty text if there is none."""
        return "" if self.default is None else self.kind.write(self.default)


def _settings(section: type[Section], prefix: str = "") -> Iterator[Setting]:
    for field in msgspec.structs.fields(section):
        if get_origin(field.type) is Annotated:
            yield _setting(prefix + field.name, field)
        else:
            yield from _settings(field.type, f"{prefix}{field.name}.")


def _setting(key: str, field: msgspec.structs.FieldInfo) -> Setting:
    value, *metadata, about = get_args(field.type)
    if type(None) in get_args(value):
        value = next(each for each in get_args(value) if each is not type(None))
        metadata = list(get_args(value)[1:])
    elif metadata:
        value = Annotated[(value, *metadata)]
    known = [each for each in metadata if isinstance(each, SettingKind)]
    kind = known[0] if known else one_of(*get_args(value), **_SYNONYMS.get(key, {}))  # the words of a Literal
    return Setting(key, value, kind, field.default, about)


SETTINGS: tuple[Setting, ...] = tuple(_settings(ConfigSettings))
BY_NAME: Mapping[str, Setting] = {name: each for each in SETTINGS for name in (each.key, *each.also)}


def variable(name: str) -> str:
    """Returns the environment variable of a setting: that of `api.listen` is LOCHAN_API__LISTEN."""
    return "LOCHAN_" + name.upper().replace(".", "__")


BY_VARIABLE: Mapping[str, str] = {variable(name): name for name in BY_NAME}
SECTIONS = frozenset(
    ".".join(parts[:depth]) for parts in (name.split(".") for name in BY_NAME) for depth in range(1, len(parts))
)


# --- names that are not among them -----------------------------------------------------------------------------------
def no_such_setting(where: str, name: str) -> Invalid:
    return Invalid(
        f"{where}: there is no setting {name!r}{did_you_mean(name, {*BY_NAME, *SECTIONS})}",
        hint="`lochan config show` lists every setting",
    )


def no_such_variable(name: str) -> Invalid:
    return Invalid(
        f"{name} in the environment is not a setting{did_you_mean(name, {*BY_VARIABLE, *OTHER_VARIABLES})}",
        hint="unset it; `lochan config show` lists every setting, and two underscores stand for each dot",
    )


def did_you_mean(name: str, names: Collection[str]) -> str:
    near = near_names(name, names)
    return f"; did you mean {near[0]!r}?" if near else ""


def near_names(name: str, names: Collection[str]) -> list[str]:
    """Returns the nearest of `names`, or else one that ends in the same word, if the section was left out."""
    from difflib import get_close_matches  # only a mistake pays for it

    near = get_close_matches(name, sorted(names), n=1) or sorted(each for each in names if each.endswith(f".{name}"))
    return near[:1]
