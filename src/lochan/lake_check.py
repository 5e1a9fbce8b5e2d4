"""Work on a lake that may not open: the doctor's checks, fsck, and a restore from a backup. The verbs of an open lake
are in `lochan.api`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING

from lochan.config.find import LakeLocation
from lochan.config.load import Config
from lochan.connection import (
    actor_of,
    cache_place,
    lake_place,
    no_lake,
    open_existing,
    open_lake,
    open_store,
    patient,
    reach,
)
from lochan.errors import AlreadyExists, LochanError

if TYPE_CHECKING:
    from lochan.api.doctor import DoctorCheck, DoctorTarget
    from lochan.api.recovery import BackupResult, FsckResult
    from lochan.lake import Lake as OpenLake
    from lochan.store.protocol import Store


async def doctor(config: Config, *, spark: bool = False) -> list[DoctorCheck]:
    """Runs `Lake.doctor`, also for a lake that does not exist yet or cannot be opened."""
    from lochan.api.doctor import examine

    return await examine(doctor_target(config, lake_place(config)), spark=spark)


async def fsck(
    config: Config,
    repositories: Sequence[str] = (),
    *,
    data: bool,
    repair: bool,
    progress: Callable[[int], None] | None = None,
) -> FsckResult:
    """Runs `Lake.fsck`, also for a lake that cannot be opened. Raises NotFound if there is nothing at its place."""
    from lochan.api.recovery import fsck as check
    from lochan.clock import SystemClock

    at = lake_place(config)
    store = patient(open_existing(config, at, None), at)
    if await anext(aiter(store.list("")), None) is None:
        raise no_lake(at)
    try:
        lake = await open_lake(config, at)
    except LochanError:  # the places outside the lake that it names cannot be known
        return await check(store, SystemClock(), repositories, data=data, repair=repair, progress=progress)
    try:
        files = await lake.storages.current_files()
        return await check(files, SystemClock(), repositories, data=data, repair=repair, progress=progress)
    finally:
        await lake.close()


async def restore(config: Config, source: str, destination: str, *, check: bool) -> tuple[BackupResult, int]:
    """Makes a lake from a backup. Returns the result, and how many damaged files a check has found in it. Raises
    NotFound, Refused."""
    from lochan.api.recovery import fsck as check_lake
    from lochan.api.recovery import let_go, open_destination
    from lochan.api.recovery import restore as restored
    from lochan.clock import SystemClock

    def open_place(url: str) -> Store:
        place = LakeLocation(url, "the command line")
        return patient(open_store(config, place), place)

    backup = open_place(source)
    target = open_destination(open_place, destination)
    made = await restored(backup, target)
    await let_go(target, actor_of("lochan-cli", config.settings.user or ""))
    if not check:
        return made, 0
    found = await check_lake(target, SystemClock())
    return made, found.damaged


def doctor_target(
    config: Config,
    found: LakeLocation,
    options: Mapping[str, str] | None = None,
    journal_url: str | None = None,
) -> DoctorTarget:
    """Returns what the doctor examines. `options` and `journal_url` mean the same as in `open_lake`."""
    from lochan import __version__
    from lochan.api.doctor import DoctorTarget

    needed = frozenset({"psycopg"} if config.settings.journal.type == "postgres" else ())
    return DoctorTarget(
        __version__,
        os.environ,
        needed,
        cache_place(config),
        found.folder,
        lambda: _open_test_store(config, found, options),
        lambda: _open_test_lake(config, found, options, journal_url),
        no_lake(found),
    )


@asynccontextmanager
async def _open_test_store(
    config: Config, found: LakeLocation, options: Mapping[str, str] | None
) -> AsyncIterator[Store]:
    """Opens the store itself, without retries. A lake's folder that does not exist yet is tested beside its place, and
    does not exist afterwards either."""
    from tempfile import TemporaryDirectory

    from lochan.api.doctor import nearest_existing

    with ExitStack() as stack:
        place = found
        if found.folder is not None and not found.folder.exists():
            beside = TemporaryDirectory(prefix=".lochan-doctor-", dir=nearest_existing(found.folder))
            place = LakeLocation(stack.enter_context(beside), found.source)
        store = open_store(config, place, options)
        with suppress(AlreadyExists):  # a lake, which the next check examines
            await reach(store)
        yield store


@asynccontextmanager
async def _open_test_lake(
    config: Config, found: LakeLocation, options: Mapping[str, str] | None, journal_url: str | None
) -> AsyncIterator[OpenLake]:
    lake = await open_lake(config, found, options=options, journal_url=journal_url)
    try:
        yield lake
    finally:
        await lake.close()
