"""Opens a lake from a configuration: the one way for the command line, for `lochan.connect()`, for users of Spark and
for the server.

    with lochan.connect("path/to/lake") as lake:
        lake.query("from logs | status >= 500 | count() by host").to_pandas()

The surroundings of the process (environment, working folder, home, user, host) are read here and passed on; no module
below reads them. Imports are made where they are needed, so that a command that lists repositories pays for no event
loop.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeVar

from lochan.config.find import (
    FOLDER,
    MARK,
    LakeLocation,
    cache_folder,
    config_folder,
    configured_lake,
    find_lake,
    is_server,
    lake_in,
    state_folder,
)
from lochan.config.load import Config, Flag, load, without_password
from lochan.config.profiles import at, find_profile, read_profiles
from lochan.errors import AlreadyExists, Invalid, NotFound, Refused, Transient
from lochan.remote.address import RemoteAddress

if TYPE_CHECKING:
    from lochan.api.blocking import Lake
    from lochan.api.doctor import DoctorTarget
    from lochan.api.lake import Lake as AsyncLake
    from lochan.engines.spark.place import SparkPlace
    from lochan.formats.record import Actor as Actor
    from lochan.hooks.run_hook import HookOptions
    from lochan.lake import Lake as EngineLake
    from lochan.lake import LakeOptions
    from lochan.runtime import Runtime
    from lochan.store.open import StoreLocation
    from lochan.store.protocol import Store
    from lochan.store.routed import StorageName
    from lochan.usage.notes import ReadNotes
    from lochan.warm import WarmLakes

    OpenLake = EngineLake

warm: WarmLakes | None = None  # set by a process that opens the same lakes again and again, such as the companion

RETRY_S = 5.0  # somebody waits for the answer, and can try again; a server is more patient

T = TypeVar("T")


def connect(
    place: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
    *,
    user: str | None = None,
    journal_url: str | None = None,
    access_key: str = "",
    secret_key: str = "",
    profile: str | None = None,
) -> Lake:
    """Opens a lake: one in a folder, in the `.lochan` of a folder, or at a URL such as `s3://bucket/prefix`. Its store
    is opened with these options (keys, endpoint, region) or, without any, with those that are configured. Without a
    place, it opens the lake that the command line finds. `user` is the author of commits; the journal and the
    committer name the system's user. `journal_url` is that of the database, for a lake whose journal is in one. Raises
    NotFound if there is no lake.

    `https://host` and `http://host:port` mean the lake of that server, in the name of the user of the access key.
    `profile` names a profile of `lochan login`, with its address and its keys. Raises Transient where the server
    cannot be reached, and Denied for a wrong key."""
    keys = access_key, secret_key
    return python_lake(place, options, *keys, profile=profile, user=user, journal_url=journal_url).connect()


def python_lake(
    place: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
    access_key: str = "",
    secret_key: str = "",
    *,
    profile: str | None = None,
    user: str | None = None,
    journal_url: str | None = None,
) -> LakeAddress | RemoteAddress:
    """Returns the address that `connect` opens, without opening it."""
    flags = [
        *([Flag("access_key", "remote.access_key_id", access_key)] if access_key else []),
        *([Flag("secret_key", "remote.secret_access_key", secret_key)] if secret_key else []),
        *([Flag("profile", "profile", profile)] if profile else []),
    ]
    config = configuration(flags)
    found = lake_place(config) if place is None else lake_in(LakeLocation(os.fspath(place), "the place that was given"))
    if is_server(found.url):
        return remote_address(config, found, user or "")
    return LakeAddress(config, found, options, journal_url or "", "lochan-python", user or "")


@dataclass(frozen=True)
class LakeAddress:
    """Identifies a lake, the user who acts on it, and the options that open it. Secrets are not printed."""

    config: Config = field(repr=False)
    location: LakeLocation
    options: Mapping[str, str] | None = field(repr=False)  # options of its store; None for those that are configured
    journal_url: str = field(repr=False)  # of a database that holds its journal; empty for the one that is configured
    client: str
    author: str = ""

    @property
    def actor(self) -> Actor:
        return actor_of(self.client, self.author)

    def connect(self, *, counted: bool = False) -> Lake:
        """Opens the lake. The caller closes it. `counted` is for a job: see `open_lake`."""
        from lochan.api.blocking import Lake
        from lochan.runtime import Runtime

        runtime = Runtime(self)
        try:
            verbs = runtime.wait(self.open_verbs(counted=counted))
        except BaseException:
            runtime.stop()
            raise
        _close_notes_at_exit(verbs, runtime)
        return Lake(verbs, runtime)

    async def open_verbs(self, *, counted: bool = False) -> AsyncLake:
        """Opens the lake for a caller with an event loop."""
        lake = await self._open(counted=counted)
        return lake_verbs(self.config, lake, self.actor, self._doctor_target)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the address for another process, perhaps in another folder: with the options that open the store, and
        without other secrets."""
        found = self.location
        if found.folder is not None:
            found = found._replace(url=str(found.folder.absolute()))
        options = _options(self.config, found.url) if self.options is None else self.options
        journal_url = self.journal_url or self.config.settings.journal.postgres.url or ""
        config = self.config.without_secrets()
        return LakeAddress, (config, found, dict(options), journal_url, self.client, self.author)

    def run(self, work: Callable[[OpenLake], Awaitable[T]]) -> T:
        """Opens the lake for one piece of work of a job, on a thread with a loop of its own."""
        from lochan.runtime import run_in_thread

        async def whole() -> T:
            lake = await self._open(counted=True)
            try:
                return await work(lake)
            finally:
                await lake.close()

        return run_in_thread(whole)

    def _doctor_target(self) -> DoctorTarget:
        return _doctor_target(self.config, self.location, self.options, self.journal_url)

    async def _open(self, *, counted: bool) -> OpenLake:
        return await open_lake(
            self.config, self.location, options=self.options, journal_url=self.journal_url, counted=counted
        )


def _close_notes_at_exit(lake: AsyncLake, runtime: Runtime) -> None:
    """Writes the notes of reads at the exit of a script that does not close its lake. Functions that are registered
    with `threading` are called before threads can no longer be started, the last first; `atexit` would be too late."""
    import atexit
    import concurrent.futures.thread  # noqa: F401 - it registers its own end, which must come after this one
    import threading
    import weakref

    session, loop = weakref.ref(lake._session), weakref.ref(runtime)

    def close() -> None:
        found, running = session(), loop()
        if found is not None and running is not None and running.is_running:
            running.wait(found.close_notes())

    getattr(threading, "_register_atexit", atexit.register)(close)


def spark_lake(place: str | os.PathLike[str] | None = None, options: Mapping[str, str] | None = None) -> LakeAddress:
    """Returns the address of the lake at that place, or of the one that the command line finds, for a user of Spark. It
    can be pickled, because a data source is planned, written and committed in three processes. `options` go before
    those that are configured."""
    from lochan.config.credentials import with_options

    config = configuration([Flag("lake", "lake", os.fspath(place))] if place is not None else ())
    found = lake_place(config)
    if found.folder is not None:  # another process may be in another folder
        found = found._replace(url=str(found.folder.absolute()))
    journal_url = config.settings.journal.postgres.url or ""
    chosen = with_options(_options(config, found.url), options or {})
    author = config.settings.user or ""
    return LakeAddress(config.without_secrets(), found, chosen, journal_url, "lochan-spark", author)


def lake_verbs(
    config: Config,
    lake: OpenLake,
    actor: Actor,
    doctor: Callable[[], DoctorTarget] | None = None,
    *,
    one_request: bool = False,
) -> AsyncLake:
    """Returns an open lake with its verbs, for that actor. Closing it closes the lake. `doctor` and `one_request` mean
    the same as in `Session`."""
    from lochan.api.lake import Lake as AsyncLake
    from lochan.api.session import Session

    target = doctor or (lambda: _doctor_target(config, lake_place(config)))
    _record_origin(config)

    def notes() -> ReadNotes:
        return read_notes(config, lake, actor, lasting=not one_request)

    return AsyncLake(
        Session(lake, actor, lambda master: spark_place(config, master), target, one_request=one_request, notes=notes)
    )


def _doctor_target(
    config: Config, found: LakeLocation, options: Mapping[str, str] | None = None, journal_url: str | None = None
) -> DoctorTarget:
    from lochan.lake_check import doctor_target

    return doctor_target(config, found, options, journal_url)


def read_notes(config: Config, lake: OpenLake, actor: Actor, *, lasting: bool) -> ReadNotes:
    """Returns the notes that a process which is no server writes to the usage log of the lake."""
    from lochan.usage.notes import NoteSettings, ReadNotes

    usage, kind = config.settings.usage, actor.client.partition("/")[0].removeprefix("lochan-")
    settings = NoteSettings(kind, actor.user, usage.enabled, usage.flush_s, lasting, actor.source)
    return ReadNotes(lake.store, lake.clock, lake.ids, settings)


# --- what is configured, and where things are ------------------------------------------------------------------------
def configuration(flags: Iterable[Flag] = (), file: str | None = None) -> Config:
    """Loads the configuration: defaults, a file (that one, or LOCHAN_CONFIG), the environment and flags. Raises
    NotFound, Invalid."""
    named = file or os.environ.get("LOCHAN_CONFIG") or None
    path = None if named is None else Path(named)
    try:
        return load(file=path, env=os.environ, flags=flags, cwd=_working_folder(), home=_home())
    except NotFound as error:
        if file or path is None:
            raise
        raise NotFound(error.message, hint="LOCHAN_CONFIG in the environment names it") from None


def lake_place(config: Config) -> LakeLocation:
    """Returns the place of the lake. Raises NotFound for an unknown profile."""
    name = config.settings.profile
    if name is None or (config.is_set("lake") and config.source("lake").layer >= config.source("profile").layer):
        return find_lake(config, cwd=_working_folder(), env=os.environ, home=_home())
    return LakeLocation(find_profile(read_profiles(profiles_file()), name).url, f"the profile {name}")


def profiles_file() -> Path:
    return config_folder(env=os.environ, home=_home()) / "profiles.json"


def _record_origin(config: Config) -> None:
    """Sets what commits of this process record about the program that makes them."""
    from lochan.versioning.lineage import set_origin

    def find() -> Mapping[str, str]:
        from lochan.config.origin import find_origin

        return find_origin(os.environ, sys.modules, sys.prefix)

    set_origin(find if config.settings.lineage.enabled else None)


def remote_address(config: Config, found: LakeLocation, author: str = "", key: str = "") -> RemoteAddress:
    """Returns the address of a lake behind a server, with the keys that are configured, or else those of its profile.
    `key` is the idempotency key of the change that is made there."""
    from lochan import __version__

    _record_origin(config)
    settings = config.settings.remote
    if settings.access_key_id is not None and settings.secret_access_key is not None:
        keys = settings.access_key_id, settings.secret_access_key
    else:
        profiles, name = read_profiles(profiles_file()), config.settings.profile
        profile = at(profiles, found.url) if name is None else find_profile(profiles, name)
        if profile is not None and profile.url.rstrip("/") != found.url.rstrip("/"):
            raise Refused(
                f"the profile {name!r} is for {profile.url}, and the lake is {found.url}",
                hint="its secret is not sent elsewhere: name one of the two",
            )
        keys = ("", "") if profile is None else (profile.access_key_id, profile.secret_access_key)
    return RemoteAddress(found.url, __version__, *keys, author, key)


def new_lake_place(config: Config) -> LakeLocation:
    """Returns the place of a new lake: the configured one, or else the working folder."""
    return configured_lake(config) or LakeLocation(str(_working_folder() / FOLDER), "the working folder")


def cache_place(config: Config) -> Path:
    return cache_folder(config, env=os.environ, home=_home())


def state_place() -> Path:
    return state_folder(env=os.environ, home=_home())


def spark_place(config: Config, master: str | None = None) -> SparkPlace:
    """Returns where Spark runs. A master that is named wins over a Connect server, and the configuration wins over
    SPARK_REMOTE."""
    from lochan.engines.spark.place import TASK_MEMORY, SparkPlace

    spark = config.settings.spark
    remote = "" if master else spark.remote or ""
    if not (master or remote or config.is_set("spark.master")):
        remote = os.environ.get("SPARK_REMOTE", "")
    options = {"spark.jars.packages": spark.packages} if spark.packages else {}
    if spark.task_memory is not None:
        options[TASK_MEMORY] = str(spark.task_memory)
    return SparkPlace(master or spark.master, remote, spark.threshold, options, spark.local_threshold)


def actor_of(client: str, author: str = "") -> Actor:
    """Returns the actor: the system's user from this host, by that client. `author` is a name that is claimed in
    addition."""
    from lochan import __version__
    from lochan.config.find import system_user
    from lochan.formats.record import Actor

    user = system_user()
    return Actor(user, f"{client}/{__version__}", os.uname().nodename, author if author != user else "")


def keyed_actor(actor: Actor, key: str, *request: object, is_new: bool = False) -> Actor:
    """Returns the actor under an idempotency key. `is_new` means that the key was made just now, so that nobody can
    have used it."""
    from lochan.journal.keys import with_key

    return with_key(actor, key, *request, is_new=is_new)


def new_key() -> str:
    """Returns an idempotency key, which begins with the time it was made."""
    from lochan.clock import SystemClock
    from lochan.ids import Ids

    return Ids().idempotency_key(SystemClock().wall())


# --- an open lake ----------------------------------------------------------------------------------------------------
async def open_lake(
    config: Config,
    found: LakeLocation | None = None,
    *,
    options: Mapping[str, str] | None = None,
    journal_url: str | None = None,
    lasting: bool = False,
    counted: bool = False,
    alarm: Callable[[str], None] = lambda _: None,
) -> OpenLake:
    """Opens a lake. The caller closes it. `options` are the store's, instead of those that are configured. `lasting` is
    for a server, which keeps it open as long as it runs; `counted` is for a job, whose record contains how much this
    process has put to the store. Raises NotFound if there is no lake, Transient if the store does not answer."""
    from lochan.lake import Lake

    at = found or lake_place(config)
    if is_server(at.url):
        raise Invalid(
            f"{at.url} is a server: this is done where the lake is, and not through it",
            hint="run it on a machine that reaches the lake's folder or bucket, with --lake",
        )
    store = patient(open_existing(config, at, options), at)
    if counted:
        from lochan.store.counts import CountingStore, RequestCounts

        store = CountingStore(store, RequestCounts())
    try:
        return await Lake.open(
            store,
            journal_url=journal_url or config.settings.journal.postgres.url or "",
            hold_ms=config.settings.journal.hold_ms,
            alarm=alarm,
            world=_lake_options(config, at, options, lasting),
        )
    except NotFound:
        raise no_lake(at) from None
    except Transient as error:
        raise _unreachable_error(error) from error


async def create_lake(config: Config, found: LakeLocation) -> OpenLake:
    """Creates a lake. The store is tested before its first lake. Raises Refused if it fails the test, AlreadyExists."""
    from lochan.clock import SystemClock
    from lochan.ids import Ids
    from lochan.lake import Lake
    from lochan.store.probe import probe

    if config.settings.journal.type == "postgres" and config.settings.journal.postgres.url is None:
        where = config.source("journal.type").text
        raise Invalid(f"{where}: journal.type is postgres, but no database is named", hint="set journal.postgres.url")
    store = open_store(config, found, create=True)
    try:
        await reach(store)
        await probe(store, Ids(), SystemClock())
        return await Lake.create(
            patient(store, found),
            journal=config.settings.journal.type,
            journal_url=config.settings.journal.postgres.url or "",
        )
    except AlreadyExists:
        url = without_password(found.url)
        raise AlreadyExists(f"there is a lake at {url} already", hint="nothing was changed; use it as it is") from None


async def probe_store(config: Config) -> None:
    """Tests the store of the lake before anybody is served from it, because a store in which two creators win loses
    writes. Raises Refused."""
    from lochan.clock import SystemClock
    from lochan.ids import Ids
    from lochan.store.probe import probe

    await probe(open_existing(config, lake_place(config), None), Ids(), SystemClock())


def open_store(
    config: Config, found: LakeLocation, options: Mapping[str, str] | None = None, *, create: bool = False
) -> Store:
    """Opens a store. Raises what can be known from the URL and the options alone; a remote store is not asked anything
    yet."""
    from lochan.store.open import open_store as open_by_url

    return open_by_url(found.url, _options(config, found.url) if options is None else options, create=create)


async def reach(store: Store) -> None:
    """Makes one request without retries, to report a wrong address or key at once. Raises AlreadyExists for a lake."""
    try:
        await store.get(MARK)  # not head, whose refusal would come without a reason
    except NotFound:
        return
    except Transient as error:
        raise _unreachable_error(error) from error
    raise AlreadyExists(f"there is a lake at {store.url} already")


def no_lake(found: LakeLocation) -> NotFound:
    url = without_password(found.url)
    make = "make one here with `lochan init`" if found.by_default else f"make one with `lochan init {quote(url)}`"
    return NotFound(f"no lake at {url} (from {found.source})", hint=f"{make}, or name another with --lake")


def open_existing(config: Config, found: LakeLocation, options: Mapping[str, str] | None) -> Store:
    try:
        return open_store(config, found, options)
    except NotFound:
        if found.folder is None:
            raise  # the credentials file or the profile does not exist
        raise no_lake(found) from None


def _lake_options(config: Config, found: LakeLocation, options: Mapping[str, str] | None, lasting: bool) -> LakeOptions:
    """Returns what surrounds the lake. Other stores are opened with the lake's own credentials; a user of this machine
    may name whatever those can read."""
    from lochan.config.credentials import encryption_secret
    from lochan.lake import CacheFolder, LakeOptions
    from lochan.versioning.bodies.address import BodySettings

    def open_other(url: str) -> Store:
        other = LakeLocation(url, "the address of an object")
        if url.startswith("file://"):
            return open_store(config, other)
        return patient(open_store(config, other, options if same_kind(url) else None), other)

    def same_kind(url: str) -> bool:
        return url.partition("://")[0] == found.url.partition("://")[0]

    def locate(url: str) -> StoreLocation:
        from lochan.store.open import StoreLocation

        if url.startswith("file://"):
            return StoreLocation(url)
        return StoreLocation(url, options if options is not None and same_kind(url) else _options(config, url))

    # A command gains little from a copy on the disk of files that are on the disk already; a server maps them again and
    # again.
    kept = lasting or found.folder is None
    return LakeOptions(
        open_other,
        bodies=BodySettings(config.settings.blockstore.address_style, config.settings.blockstore.tag_paths),
        secret=encryption_secret(config),
        cache=CacheFolder(str(cache_place(config)), config.settings.cache.size) if kept else None,
        options=_options(config, found.url) if options is None else options,
        verified=str(cache_place(config) / "verified"),
        locate=locate,
        storage=lambda name: _storage_place(config, name),
        hooks=_hook_options(config),
        warm=warm if found.folder is not None else None,
    )


def _hook_options(config: Config) -> HookOptions | None:
    """Returns the options of hooks, or None if nothing is configured; then what hooks need is not imported."""
    names = ("allowed_hosts", "python_folder", "python_memory", "keep_days")
    if not any(config.is_set(f"hooks.{name}") for name in names):
        return None
    from lochan.hooks.python_hook import PythonLimits
    from lochan.hooks.run_hook import HookOptions

    hooks = config.settings.hooks
    python = PythonLimits(str(hooks.python_folder or ""), hooks.python_memory)
    return HookOptions(tuple((hooks.allowed_hosts or "").split()), python, hooks.keep_days)


def _storage_place(config: Config, name: StorageName) -> StoreLocation:
    """Returns the place of a repository's storage, with credentials that the lake's journal only names. The profile may
    also set its region and endpoint. Raises NotFound, Invalid."""
    from lochan.config.credentials import storage_options
    from lochan.store.open import StoreLocation

    if name.url.startswith("file://"):
        return StoreLocation(name.url)
    options = storage_options(config, name.url, name.credentials, os.environ)
    if name.credentials:
        from lochan.store.profile import profile_place

        options |= profile_place(options["credentials_file"], name.credentials)
    return StoreLocation(name.url, options)


def _options(config: Config, url: str) -> Mapping[str, str]:
    from lochan.config.credentials import store_options

    return store_options(config, url, os.environ)


def patient(store: Store, found: LakeLocation) -> Store:
    """Wraps a store on a network so that its requests are retried; a local disk that fails once fails again."""
    if found.folder is not None or store.url.startswith("file://"):
        return store
    from lochan.clock import SystemClock
    from lochan.ids import Ids
    from lochan.store.open import stack

    return stack(store, clock=SystemClock(), ids=Ids(), retry_s=RETRY_S)


def _unreachable_error(error: Transient) -> Transient:
    return Transient(error.message, hint=error.hint or "is the store up? check its endpoint and the network")


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise NotFound("the working folder is no longer there", hint="change to one that is") from None


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # neither HOME nor an entry in the system's list of users, as in a bare container
        return Path("/")
