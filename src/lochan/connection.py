"""A lake for plain Python: every call waits for its answer, and no event loop is in sight.

    import lochan

    with lochan.connect("path/to/lake") as lake:
        lake.query("from logs | status >= 500 | count() by host").to_pandas()

Whoever writes asynchronous code uses `lochan.lake.Lake` itself.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from lochan.clock import SystemClock
from lochan.config.system_user import system_user
from lochan.engines.asking import How
from lochan.engines.duckdb.limits import MEMORY_BYTES, Limits
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.journal.request_key import keyed
from lochan.lake import ALONE, Lake, World
from lochan.store.open import open_store
from lochan.store.stack import stack

if TYPE_CHECKING:
    from lochan.engines.result import Result
    from lochan.engines.row_diff.outcome import RowDiff
    from lochan.store.protocol import Store

T = TypeVar("T")

_RETRY_S = 5.0


def connect(
    place: str | os.PathLike[str], options: Mapping[str, str] | None = None, *, user: str | None = None
) -> Connection:
    """The lake in a folder or at a URL such as `s3://bucket/prefix`, whose store is opened with these options (keys,
    endpoint, region). `user` is the author of commits; the journal and the committer name the system's user beside it.
    Raises NotFound where there is none."""
    from lochan import __version__

    own = system_user()
    author = user if user and user != own else ""
    actor = Actor(own, f"lochan-python/{__version__}", os.uname().nodename, author)
    return Connection(_store(os.fspath(place), options or {}), actor, World(options=options or {}))


class Connection:
    """May be used from several threads."""

    def __init__(self, store: Store, actor: Actor, world: World = ALONE) -> None:
        self._actor = actor
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="lochan", daemon=True)
        self._thread.start()
        try:
            self._lake = self._wait(Lake.open(store, world=world))
        except BaseException:
            self._stop()
            raise

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def query(
        self,
        text: str,
        *,
        memory_bytes: int = MEMORY_BYTES,
        seconds: float | None = None,
        go_on: bool = False,
        key: str = "",
    ) -> Result:
        """In the pipe language or SQL. Its rows: `.to_pandas()`, `.to_arrow()`, `.rows()`, `.ndjson()`. `key` is the
        idempotency key of a query that ends in `load`. Raises QueryError, whose text shows the place."""
        actor = keyed(self._actor, key, "query", text)
        how = How(limits=Limits(memory_bytes, seconds), go_on=go_on, actor=actor)
        return self._wait(self._lake.query(text, how))

    def diff_rows(
        self,
        left: str,
        right: str,
        *,
        key: str | Sequence[str] | None = None,
        engine: str = "auto",
        memory_bytes: int = MEMORY_BYTES,
        sample: int = 20,
    ) -> RowDiff:
        """Rows that differ between two refs of a pool (`logs@main`, `logs@dev`), or of files of a repository
        (`demo@main/data/a.csv`): counts, a sample, and all of them by `.to_arrow()` or `.to_pandas()`. Close it.

        `key` are fields that tell rows apart, by default the pool's primary key; with none, whole rows are compared.
        Raises Invalid for rows that the key does not tell apart."""
        return self._wait(self._diff_rows(left, right, key, engine, memory_bytes, sample))

    def load(
        self, pool: str, rows: Iterable[Mapping[str, Any]], *, branch: str = "", message: str = "", key: str = ""
    ) -> str:
        """One commit, whose id it returns. Whoever does not learn whether it was made (an error `Unknown`, a killed
        process) asks again with the same `key`, of which `new_key()` makes one: nothing is loaded twice."""
        return self._wait(self._load(pool, rows, branch, message, key))

    def new_key(self) -> str:
        """An idempotency key, which begins with the time it was made."""
        return self._lake.ids.idempotency_key(self._lake.clock.wall())

    def close(self) -> None:
        """May be called twice."""
        if self._thread.is_alive():
            self._wait(self._lake.close())
            self._stop()

    async def _diff_rows(
        self, left: str, right: str, key: str | Sequence[str] | None, engine: str, memory_bytes: int, sample: int
    ) -> RowDiff:
        from lochan.engines.row_diff.sides import wish_of
        from lochan.jobs.diffing import How as RowHow

        repository, wish = wish_of(left, right, [key] if isinstance(key, str) else key)
        how = RowHow(engine, Limits(memory_bytes), sample=sample, actor=self._actor)
        return await self._lake.diff_rows(repository, wish, how)

    async def _load(self, pool: str, rows: Iterable[Mapping[str, Any]], branch: str, message: str, key: str) -> str:
        from lochan.versioning.moving import Said

        return (await self._lake.load(pool, rows, Said(message), branch=branch, actor=self._actor, key=key)).commit

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _store(place: str, options: Mapping[str, str]) -> Store:
    store = open_store(place, options)
    if store.url.startswith("file://"):
        return store
    return stack(store, clock=SystemClock(), ids=Ids(), retry_s=_RETRY_S)
