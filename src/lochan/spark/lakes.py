"""Which lake is meant, and work on it from plain Python. Environment, folder and user are read here alone."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from lochan import __version__
from lochan.clock import SystemClock
from lochan.config.find import cache_folder, find_lake, system_user
from lochan.config.load import Flag, load
from lochan.config.store_options import store_options
from lochan.errors import NotFound, Retry
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.journal.keys import keyed
from lochan.lake import Lake, LakeOptions
from lochan.runtime import run_in_thread
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.open import StoreLocation
from lochan.store.protocol import Store

T = TypeVar("T")

_TRIES = 3


@dataclass(frozen=True, slots=True)
class LakePlace:
    """May be pickled: a data source is planned, written and committed in three processes."""

    store: StoreLocation
    journal_url: str = field(default="", repr=False)
    actor: Actor = field(default_factory=lambda: _actor(None))
    verified: str = ""  # the folder of what this machine has checked

    def keyed(self, key: str, *request: object) -> LakePlace:
        """For a request with that idempotency key, if there is one. Raises Invalid for what is no key."""
        return replace(self, actor=keyed(self.actor, key, *request))

    async def open(self, counts: RequestCounts | None = None) -> Lake:
        """`counts`: of what is asked of its store."""
        clock, ids = SystemClock(), Ids()

        def other(url: str) -> Store:
            """Of files that were imported or linked, and lie elsewhere."""
            return StoreLocation(url, {} if url.startswith("file://") else self.store.options).open(
                clock=clock, ids=ids
            )

        world = LakeOptions(open_store=other, options=self.store.options, verified=self.verified)
        try:
            store = self.store.open(clock=clock, ids=ids)
        except NotFound as error:
            raise NotFound(f"there is no lake at {self.store.url}", hint="name it with `lake`") from error
        if counts is not None:
            store = CountingStore(store, counts)
        return await Lake.open(store, journal_url=self.journal_url, clock=clock, ids=ids, world=world)


def found_lake(lake: str | os.PathLike[str] | None = None, options: Mapping[str, str] | None = None) -> LakePlace:
    """`options` are those of its store (keys, endpoint, region); what they leave out is configured, or in the
    environment."""
    env, folder, home = os.environ, Path.cwd(), Path("~").expanduser()
    file = env.get("LOCHAN_CONFIG")
    flags = [Flag("lake", "lake", os.fspath(lake))] if lake is not None else []
    config = load(file=Path(file) if file else None, env=env, flags=flags, cwd=folder, home=home)
    found = find_lake(config, cwd=folder, env=env, home=home)
    url = found.url if found.folder is None else str(found.folder.absolute())
    place = StoreLocation(url, {**store_options(config, url, env), **(options or {})})
    journal = config.settings.journal.postgres.url or ""
    verified = str(cache_folder(config, env=env, home=home) / "verified")
    return LakePlace(place, journal, _actor(config.settings.user), verified)


def on_lake(place: LakePlace, work: Callable[[Lake], Awaitable[T]], counts: RequestCounts | None = None) -> T:
    """On a thread with a loop of its own: the caller may be in a notebook, which has one already."""

    async def whole() -> T:
        lake = await place.open(counts)
        try:
            return await work(lake)
        finally:
            await lake.close()

    return run_in_thread(whole)


def patient(work: Callable[[], T]) -> T:
    """For a store that does not answer for a while. REQUIRES: done again, the work finds what it did."""
    for _ in range(_TRIES - 1):
        with suppress(Retry):
            return work()
    return work()


def _actor(said: str | None) -> Actor:
    """`said` is whom the user says to speak for."""
    user = system_user()
    author = said if said and said != user else ""
    return Actor(user, f"lochan-spark/{__version__}", os.uname().nodename, author)
