"""One connection to DuckDB for one query or job: its limits, its folder for what does not fit into memory, its end.

Nothing is ever downloaded, and where the caller says which folders are to be read no other file can be opened, whatever
a query says. Closing it frees memory and disk.

    with Session(limits) as session:
        for batch in session.stream("select …"): …
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Protocol, TypeVar

import duckdb
import pyarrow as pa

from lochan.engines.duckdb.instances import Instance, InstanceOptions, Instances
from lochan.engines.duckdb.limits import STANDARD, Limits, cancelled, out_of_disk, out_of_memory, out_of_time
from lochan.errors import Invalid, LochanError, Refused
from lochan.query.dialects.decimals import refusal

BATCH_ROWS = 65_536
_AGAIN_S = 0.05


class DuckSession:
    """Raises LimitReached or Cancelled, from whatever runs when a limit is hit or `cancel` is called; DuckDB's own
    errors otherwise.

    `folders`: only files in these can be opened; None: any. `ordered`: rows come in the order of the files; without it
    a load or an aggregate needs less memory. `instances`: where one may be had that is opened already.
    """

    def __init__(
        self,
        limits: Limits = STANDARD,
        *,
        folders: Sequence[str] | None = None,
        temp: str | None = None,
        ordered: bool = True,
        instances: Instances | None = None,
    ) -> None:
        wish = InstanceOptions(limits, None if folders is None else tuple(folders), temp, ordered)
        self.limits = limits
        self._instances = instances
        self._instance = Instance(wish) if instances is None else instances.take(wish)
        self._spoilt = False  # something failed, or was left half-way
        self.folder = self._instance.folder  # what is put there is gone with the session
        self.connection = self._instance.root.cursor()
        self._why: LochanError | None = None  # it was interrupted
        self._busy = False
        self._closed = threading.Event()
        self._timer: threading.Timer | None = None
        self.stops: list[Callable[[], object]] = []  # what else is to end when the session is interrupted

    def __enter__(self) -> DuckSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """May be called twice."""
        if self._closed.is_set():
            return
        if self._timer is not None:
            self._timer.cancel()
        self._closed.set()
        self.connection.close()
        if self._instances is None or self._spoilt or self._why is not None:
            self._instance.close()
        else:
            self._instances.give_back(self._instance)

    def cancel(self) -> None:
        """From any thread, or a signal handler."""
        self._interrupt(cancelled())

    def execute(self, sql: str) -> list[Any]:
        """All rows, as Python values: for a few."""
        with self._watched():
            return self.connection.execute(sql).fetchall()

    def table(self, sql: str) -> pa.Table:
        with self._watched():
            return self.connection.sql(sql).to_arrow_table()

    def stream(self, sql: str, rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The rows as they come: never all in memory. What is wrong with the query is said at once; it runs when the
        first rows are asked for. One at a time: DuckDB runs no other query on this connection until all were."""
        with self._watched():
            relation = self.connection.sql(sql)
        return self._batches(relation, rows)

    def _batches(self, relation: duckdb.DuckDBPyRelation, rows: int) -> Iterator[pa.RecordBatch]:
        self._spoilt = True
        with self._watched():
            reader = relation.to_arrow_reader(rows)
        while True:
            with self._watched():
                try:
                    batch = reader.read_next_batch()
                except StopIteration:
                    break
            yield batch
        self._spoilt = False

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """The clock runs from the first of these to the end of the session."""
        if self._why is not None:
            raise self._why
        if self._timer is None and self.limits.seconds is not None:
            self._timer = threading.Timer(self.limits.seconds, self._insist, (out_of_time(self.limits),))
            self._timer.daemon = True
            self._timer.start()
        self._busy = True
        self._spoilt, spoilt = True, self._spoilt
        try:
            yield
            self._spoilt = spoilt
        except (duckdb.Error, pa.ArrowException, OSError) as error:  # OSError: how Arrow passes on what DuckDB says
            raise self._explained(error) from error
        except RuntimeError as error:  # how DuckDB passes on a Ctrl-C that it took for itself while it ran
            if str(error) != "Query interrupted":
                raise
            raise KeyboardInterrupt from error
        finally:
            self._busy = False

    def _interrupt(self, why: LochanError) -> None:
        self._why = self._why or why
        for stop in tuple(self.stops):
            stop()
        self.connection.interrupt()

    @property
    def why(self) -> LochanError | None:
        """It was interrupted."""
        return self._why

    def _insist(self, why: LochanError) -> None:
        """Again and again: DuckDB forgets what comes just before a statement begins."""
        self._interrupt(why)
        while not self._closed.wait(_AGAIN_S):
            if self._busy:
                with suppress(duckdb.Error):  # it is being closed
                    self.connection.interrupt()

    def _explained(self, error: Exception) -> Exception:
        said = str(error)
        if said.startswith("INTERRUPT Error") and self._why is not None:
            return self._why
        if "max_temp_directory_size" in said or "No space left" in said:
            return out_of_disk(self.limits, said.partition("\n")[0])
        if said.startswith("Out of Memory Error"):
            return out_of_memory(self.limits)
        if (told := refusal(said)) is not None:
            return Refused(told)
        if "More than one row returned by a subquery" in said:
            return Invalid("a query that stands for one value gave several rows", hint="add limit 1, or take max(…)")
        return error


# An engine's work on a thread, which ends when its caller is cancelled.


T = TypeVar("T")


class Stoppable(Protocol):
    """A session, or a decoder."""

    def cancel(self) -> None: ...


async def run_on_thread(work: Callable[[], T], *sessions: Stoppable) -> T:
    """Who is cancelled stops the sessions too, and waits for the thread: they are closed next. Without an event loop
    there is nobody to hold up, and the work is done at once."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():  # again and again: DuckDB forgets what comes just before a statement begins
            for session in sessions:
                session.cancel()
            with suppress(asyncio.CancelledError):  # once more: two limits of time may end at one moment
                await asyncio.wait([task], timeout=_AGAIN_S)
        task.exception()  # it was stopped, and what it says of that is nobody's concern
        raise
