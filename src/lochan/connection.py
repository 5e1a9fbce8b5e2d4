"""`lochan.connect()`: from a place to a lake whose verbs wait for their answers.

with lochan.connect("path/to/lake") as lake:
    lake.query("from logs | status >= 500 | count() by host").to_pandas()
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lochan.api.blocking import Lake
from lochan.api.lake import Lake as AsyncLake
from lochan.api.session import Session
from lochan.clock import SystemClock
from lochan.config.find import find_lake, system_user
from lochan.config.load import load
from lochan.config.store_options import store_options
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.lake import Lake as OpenLake
from lochan.lake import LakeOptions
from lochan.runtime import Runtime
from lochan.store.open import open_store, stack

if TYPE_CHECKING:
    from lochan.store.protocol import Store

_RETRY_S = 5.0


def connect(
    place: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
    *,
    user: str | None = None,
    journal_url: str | None = None,
) -> Lake:
    """The lake in a folder or at a URL such as `s3://bucket/prefix`, whose store is opened with these options (keys,
    endpoint, region) or, without any, with those that are configured. Without a place, the one that the command line
    finds. `user` is the author of commits; the journal and the committer name the system's user beside it.
    `journal_url` is that of the database, for a lake whose journal is in one. Raises NotFound where there is none."""
    from lochan import __version__

    config = load(file=_config_file(), env=os.environ, cwd=Path.cwd(), home=Path.home())
    if place is None:
        place = find_lake(config, cwd=Path.cwd(), env=os.environ, home=Path.home()).url
    url = os.fspath(place)
    given = store_options(config, url, os.environ) if options is None else options
    own = system_user()
    author = user if user and user != own else ""
    actor = Actor(own, f"lochan-python/{__version__}", os.uname().nodename, author)
    database = journal_url or config.optional_text("journal.postgres.url") or ""
    runtime = Runtime()
    try:
        world = LakeOptions(lambda other: _store(other, store_options(config, other, os.environ)), options=given)
        session = runtime.wait(_session(url, world, database, actor))
    except BaseException:
        runtime.stop()
        raise
    return Lake(AsyncLake(session), runtime)


async def _session(url: str, world: LakeOptions, database: str, actor: Actor) -> Session:
    lake = await OpenLake.open(_store(url, world.options), journal_url=database, world=world)
    return Session(lake, actor)


def _config_file() -> Path | None:
    file = os.environ.get("LOCHAN_CONFIG")
    return Path(file) if file else None


def _store(place: str, options: Mapping[str, str]) -> Store:
    store = open_store(place, options)
    if store.url.startswith("file://"):
        return store
    return stack(store, clock=SystemClock(), ids=Ids(), retry_s=_RETRY_S)
