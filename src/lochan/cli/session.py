"""From what the user gave to an open lake: the configuration, the place of the lake, its store, and who is asking.

The command line's view of the process is here and nowhere below: environment, working folder, home, user, host.
"""

import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, TypeVar, cast

import click

from lochan import __version__
from lochan.cli.options.global_options import Flags, flags
from lochan.cli.options.request_key import keyed_actor
from lochan.config.find import FOLDER, MARK, Found, cache_folder, configured_lake, find_lake, state_folder
from lochan.config.load import Flag, load
from lochan.config.system_user import system_user
from lochan.config.values import Config, without_password
from lochan.errors import AlreadyExists, Invalid, NotFound, Transient

if TYPE_CHECKING:
    from lochan.formats.record import Actor
    from lochan.lake import Lake, World
    from lochan.store.protocol import Store
    from lochan.versioning.bodies.address import Style

T = TypeVar("T")

RETRY_S = 5.0  # a person waits for the answer, and can try again; a server is more patient


def configuration(lake: str | None = None) -> Config:
    """All that was configured; `lake` is one that the verb itself was given."""
    given = flags(click.get_current_context())
    file = given.config or os.environ.get("LOCHAN_CONFIG") or None
    path = None if file is None else Path(file)
    try:
        return load(file=path, env=os.environ, flags=_flags(given, lake), cwd=_folder(), home=_home())
    except NotFound as error:
        raise (
            error if given.config else NotFound(error.message, hint="LOCHAN_CONFIG in the environment names it")
        ) from None


def lake_place(config: Config) -> Found:
    return find_lake(config, cwd=_folder(), env=os.environ, home=_home())


def new_lake_place(config: Config) -> Found:
    """Where `init` makes a lake: where it was told to, or in the working folder."""
    return configured_lake(config) or Found(str(_folder() / FOLDER), "the working folder")


def cache_place(config: Config) -> Path:
    return cache_folder(config, env=os.environ, home=_home())


def state_place() -> Path:
    return state_folder(env=os.environ, home=_home())


def run(config: Config, work: Coroutine[object, object, T]) -> T:
    """The one event loop of a command."""
    import asyncio

    from lochan.cli.logging import set_up

    set_up(config)
    return asyncio.run(work)


def read(config: Config, work: Callable[[], Coroutine[object, object, T]]) -> T:
    """`run`, for work that changes nothing. On a local disk such work never waits, and so needs no event loop: to
    import one takes as long as all the rest of the command. A database is asked over a network."""
    if lake_place(config).folder is None or config["journal.postgres.url"] is not None:
        return run(config, work())
    coroutine = work()
    try:
        coroutine.send(None)
    except StopIteration as done:
        return cast(T, done.value)
    coroutine.close()  # it has to wait for something after all; having changed nothing, it may begin again
    return run(config, work())


def actor(config: Config) -> "Actor":
    from lochan.formats.record import Actor

    user = system_user()
    said = config.optional_text("user") or ""
    who = Actor(user, f"lochan-cli/{__version__}", os.uname().nodename, said if said != user else "")
    ctx = click.get_current_context(silent=True)
    return who if ctx is None else keyed_actor(ctx, who)


def open_store(config: Config, found: Found, *, create: bool = False) -> "Store":
    """Raises what cannot be known from the URL and the options alone; a remote store is not asked anything yet."""
    from lochan.config.store_options import store_options
    from lochan.store.open import open_store as open_by_url

    return open_by_url(found.url, store_options(config, found.url, os.environ), create=create)


@asynccontextmanager
async def open_lake(config: Config, *, counted: bool = False) -> AsyncIterator["Lake"]:
    """`counted`: for a job, whose record tells how much this process has put to the store."""
    lake = await opened_lake(config, counted=counted)
    try:
        yield lake
    finally:
        await lake.close()


async def opened_lake(config: Config, *, lasting: bool = False, counted: bool = False) -> "Lake":
    """To be closed by the caller: a server has it open as long as it runs, which is `lasting`."""
    from lochan.lake import Lake

    found = lake_place(config)
    store = _patient(_open_existing(config, found), found)
    if counted:
        from lochan.store.counting import CountingStore, Counts

        store = CountingStore(store, Counts())
    try:
        return await Lake.open(
            store,
            journal_url=config.optional_text("journal.postgres.url") or "",
            hold_ms=config.number("journal.hold_ms"),
            alarm=_log(config),
            world=_world(config, lasting),
        )
    except NotFound:
        raise no_lake(found) from None
    except Transient as error:
        raise _unreachable(error) from error


async def probe_place(config: Config) -> None:
    """A store in which two creators win loses writes. Raises Refused, before anybody is served from one."""
    from lochan.clock import SystemClock
    from lochan.ids import Ids
    from lochan.store.probe import probe

    await probe(_open_existing(config, lake_place(config)), Ids(), SystemClock())


def _world(config: Config, lasting: bool) -> "World":
    """Other stores are opened with the lake's own credentials; who sits here may name whatever those can read."""
    from lochan.config.encryption import encryption_secret
    from lochan.config.store_options import store_options
    from lochan.lake import Cache, World
    from lochan.versioning.bodies.settings import BodySettings

    def open_other(url: str) -> "Store":
        found = Found(url, "the address of an object")
        local = url.startswith("file://")
        return open_store(config, found) if local else _patient(open_store(config, found), found)

    style: Style = "path" if config.text("blockstore.address_style") == "path" else "id"
    bodies = BodySettings(style, config.flag("blockstore.tag_paths"))
    # One command gains little by a copy on the disk of what is on the disk; a server maps it again and again.
    kept = lasting or lake_place(config).folder is None
    cache = Cache(str(cache_place(config)), config.count("cache.size")) if kept else None
    options = store_options(config, lake_place(config).url, os.environ)
    verified = str(cache_place(config) / "verified")
    return World(open_other, None, bodies, encryption_secret(config), cache, options, verified)


async def create_lake(config: Config, found: Found) -> "Lake":
    """A store is put to the proof before its first lake. Raises Refused where it fails."""
    from lochan.clock import SystemClock
    from lochan.ids import Ids
    from lochan.lake import Lake
    from lochan.store.probe import probe

    if config["journal.type"] == "postgres" and config["journal.postgres.url"] is None:
        where = config.source("journal.type").text
        raise Invalid(f"{where}: journal.type is postgres, but no database is named", hint="set journal.postgres.url")
    store = open_store(config, found, create=True)
    try:
        await reach(store)
        await probe(store, Ids(), SystemClock())
        return await Lake.create(
            _patient(store, found),
            journal=config.text("journal.type"),
            journal_url=config.optional_text("journal.postgres.url") or "",
        )
    except AlreadyExists:
        url = without_password(found.url)
        raise AlreadyExists(f"there is a lake at {url} already", hint="nothing was changed; use it as it is") from None


async def reach(store: "Store") -> None:
    """One question, asked once, so that a wrong address or key is told at once. Raises AlreadyExists for a lake."""
    try:
        await store.get(MARK)  # not head, whose refusal would come without the reason
    except NotFound:
        return
    except Transient as error:
        raise _unreachable(error) from error
    raise AlreadyExists(f"there is a lake at {store.url} already")


def no_lake(found: Found) -> NotFound:
    url = without_password(found.url)
    make = "make one here with `lochan init`" if found.by_default else f"make one with `lochan init {quote(url)}`"
    return NotFound(f"no lake at {url} (from {found.how})", hint=f"{make}, or name another with --lake")


def _open_existing(config: Config, found: Found) -> "Store":
    try:
        return open_store(config, found)
    except NotFound:
        if found.folder is None:
            raise  # a credentials file or profile that is not there
        raise no_lake(found) from None


def _patient(store: "Store", found: Found) -> "Store":
    """What may be repeated is, on a network; a local disk that fails once fails again."""
    if found.folder is not None:
        return store
    from lochan.clock import SystemClock
    from lochan.ids import Ids
    from lochan.store.stack import stack

    return stack(store, clock=SystemClock(), ids=Ids(), retry_s=RETRY_S)


def _unreachable(error: Transient) -> Transient:
    return Transient(error.message, hint=error.hint or "is the store up? check its endpoint and the network")


def _log(config: Config) -> Callable[[str], None]:
    """Where the lake's alarms go; logging is imported for the first of them."""

    def log(message: str) -> None:
        import logging

        from lochan.cli.logging import set_up

        logger = logging.getLogger("lochan")
        if not logger.handlers:
            set_up(config)
        logger.warning(message)

    return log


def _flags(given: Flags, lake: str | None) -> list[Flag]:
    found = [_setting(text) for text in given.settings]
    if given.verbose:
        found.append(Flag("--verbose", "logging.level", "DEBUG"))
    for flag, text in (("--lake", given.lake), ("PATH-OR-URL", lake)):
        if text == "":  # a variable in a script that was not set: to go on with some other lake would be wrong
            raise Invalid(f"{flag}: the name of the lake is empty", hint="give a folder or a URL")
        if text is not None:
            found.append(Flag(flag, "lake", text))
    return found


def _setting(text: str) -> Flag:
    name, separator, value = text.partition("=")
    if not separator:
        raise Invalid(f"--set {text!r}: a setting is given as KEY=VALUE", hint="such as --set logging.level=DEBUG")
    return Flag(f"--set {name}", name, value)


def _folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise NotFound("the working folder is no longer there", hint="change to one that is") from None


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # neither HOME nor an entry in the system's list of users, as in a bare container
        return Path("/")
