"""Opens the lake of a command: its configuration, the event loop, and the lake's verbs, under the command's key."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar, cast

import click

from lochan.cli.arrow_memory import system_memory
from lochan.cli.lazy_group import Flags, flags
from lochan.cli.request_key import command_actor, command_key
from lochan.config.find import is_server
from lochan.config.load import Config, Flag
from lochan.connection import actor_of, lake_place, lake_verbs, remote_address
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.lake import Lake
    from lochan.config.find import LakeLocation
    from lochan.connection import Actor, OpenLake

T = TypeVar("T")


def configuration(lake: str | None = None) -> Config:
    """Returns the whole configuration. `lake` is the lake that was given to the verb itself."""
    from lochan import connection

    given = flags(click.get_current_context())
    if lake not in given.configurations:
        given.configurations[lake] = connection.configuration(_flags(given, lake), given.config)
    return given.configurations[lake]


def is_warm() -> bool:
    """Returns whether this process has what earlier commands have read. Then work on many files needs no event loop,
    whose threads would read and check them side by side."""
    from lochan import connection

    return connection.warm is not None


def is_remote() -> bool:
    """Returns whether the lake of the command is behind a server."""
    return is_server(lake_place(configuration()).url)


def on_lake(
    work: Callable[["Lake"], Awaitable[T]], *, lake: str | None = None, reads: bool = False, counted: bool = False
) -> T:
    """Does the work of a command on its lake, or on the one that was given to the verb. `reads` means that the work
    changes nothing: see `read`."""
    config = configuration(lake)
    place = lake_place(config)
    if is_server(place.url):
        return _on_server(config, place, work)

    async def work_on_lake() -> T:
        async with open_lake(config, counted=counted) as opened_lake:
            return await work(opened_lake)

    with system_memory():
        return read(config, work_on_lake) if reads else run(config, work_on_lake())


@asynccontextmanager
async def open_lake(config: Config, *, counted: bool = False) -> AsyncIterator["Lake"]:
    """Opens a lake with its verbs. `counted` is for a job, whose record contains how much this process has put to the
    store."""
    lake = lake_verbs(config, await opened_lake(config, counted=counted), actor(config), one_request=True)
    try:
        yield lake
    finally:
        await lake.close()


async def lasting_lake(config: Config) -> "Lake":
    """Opens a lake for several requests, one after the other. The caller closes it."""
    place = lake_place(config)
    if is_server(place.url):
        return await remote_address(config, place, config.settings.user or "").open_verbs()
    return lake_verbs(config, await opened_lake(config), actor(config))


def _on_server(config: Config, place: "LakeLocation", work: Callable[["Lake"], Awaitable[T]]) -> T:
    """Does the work on a lake behind a server. The loop runs on a thread of its own until the command ends: rows of a
    result may still be on their way when the work is done."""
    from lochan.cli.logging import set_up
    from lochan.runtime import Runtime

    set_up(config)
    ctx = click.get_current_context()
    runtime = Runtime()
    ctx.call_on_close(runtime.stop)

    async def work_on_server() -> T:
        with ctx.scope(cleanup=False):  # click has a context for each thread
            lake = await remote_address(config, place, config.settings.user or "", command_key(ctx)).open_verbs()
            ctx.call_on_close(lambda: runtime.wait(lake.close()))
            return await work(lake)

    return runtime.wait(work_on_server())


def run(config: Config, work: Coroutine[object, object, T]) -> T:
    """Runs the work on the one event loop of a command."""
    import asyncio

    from lochan.cli.logging import set_up

    set_up(config)
    return asyncio.run(work)


def read(config: Config, work: Callable[[], Coroutine[object, object, T]]) -> T:
    """Runs work that changes nothing. On a local disk such work never waits, and so needs no event loop, whose import
    takes as long as all the rest of the command. A journal in a database is read over a network."""
    if lake_place(config).folder is None or config.settings.journal.postgres.url is not None:
        return run(config, work())
    coroutine = work()
    try:
        coroutine.send(None)
    except StopIteration as done:
        return cast(T, done.value)
    coroutine.close()  # it has to wait for something after all; it has changed nothing, and so may begin again
    return run(config, work())


def actor(config: Config) -> "Actor":
    who = actor_of("lochan-cli", config.settings.user or "")
    ctx = click.get_current_context(silent=True)
    return who if ctx is None else command_actor(ctx, who)


async def opened_lake(config: Config, *, lasting: bool = False, counted: bool = False) -> "OpenLake":
    """Opens the lake. The caller closes it. `lasting` means that it stays open for long, as in a server."""
    from lochan.connection import open_lake

    return await open_lake(config, lasting=lasting, counted=counted, alarm=_log(config))


@asynccontextmanager
async def open_engine_lake(config: Config, *, counted: bool = False) -> AsyncIterator["OpenLake"]:
    """Opens the lake itself, without its verbs."""
    lake = await opened_lake(config, counted=counted)
    try:
        yield lake
    finally:
        await lake.close()


def _log(config: Config) -> Callable[[str], None]:
    """Returns a function that logs the lake's alarms. Logging is imported for the first of them."""

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
    if given.profile is not None:
        found.append(Flag("--profile", "profile", given.profile))
    for flag, text in (("--lake", given.lake), ("PATH-OR-URL", lake)):
        if text == "":  # a variable in a script was not set, and another lake would be the wrong one
            raise Invalid(f"{flag}: the name of the lake is empty", hint="give a folder or a URL")
        if text is not None:
            found.append(Flag(flag, "lake", text))
    return found


def _setting(text: str) -> Flag:
    name, separator, value = text.partition("=")
    if not separator:
        raise Invalid(f"--set {text!r}: a setting is given as KEY=VALUE", hint="such as --set logging.level=DEBUG")
    return Flag(f"--set {name}", name, value)
