"""A connection to DuckDB for one query or job, with its limits and its folder for spilled data.

DuckDB downloads nothing. If the caller names the folders to be read, a query can open no other file. Closing the
session frees memory and disk.

    with DuckSession(limits) as session:
        for batch in session.stream("select …"): …
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TypeVar

import duckdb
import pyarrow as pa

from lochan.engines.duckdb.instances import Instance, InstanceOptions, Instances
from lochan.engines.duckdb.limits import STANDARD, Limits, cancelled_error, out_of_disk, out_of_memory, out_of_time
from lochan.errors import Invalid, LochanError, Refused
from lochan.query.dialects.decimals import refusal

BATCH_ROWS = 65_536
_AGAIN_S = 0.05


class DuckSession:
    """A connection with its limits. Methods raise LimitReached when they reach a limit, Cancelled after `cancel`, and
    DuckDB's own errors otherwise.

    `folders`: only files in these can be opened; None allows any. `ordered`: rows keep the order of the files; without
    it, loads and aggregates need less memory. `instances`: a pool of opened instances. `alone`: no threads are started.
    REQUIRES, if `alone`: `limits` sets no number of threads."""

    def __init__(
        self,
        limits: Limits = STANDARD,
        *,
        folders: Sequence[str] | None = None,
        temp: str | None = None,
        ordered: bool = True,
        instances: Instances | None = None,
        alone: bool = False,
    ) -> None:
        options = InstanceOptions(limits, None if folders is None else tuple(folders), temp, ordered, alone)
        self.limits = limits
        self._instances = instances
        self._instance = Instance(options) if instances is None else instances.take(options)
        self._spoilt = False  # whether something failed or was not finished
        self.folder = self._instance.folder  # it is removed with the session
        self.connection = self._instance.root.cursor()
        self._why: LochanError | None = None  # the reason of an interruption
        self._busy = False
        self._closed = threading.Event()
        self._timer: threading.Timer | None = None
        self.stops: list[Callable[[], object]] = []  # called when the session is interrupted

    def __enter__(self) -> DuckSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection, and its instance or gives it back. Calling it again does nothing."""
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
        """Cancels the work. May be called from any thread or signal handler."""
        self._interrupt(cancelled_error())

    def execute(self, sql: str) -> list[Any]:
        """Returns all rows, as Python values. It is for a few rows."""
        with self._watch():
            return self.connection.execute(sql).fetchall()

    def table(self, sql: str) -> pa.Table:
        with self._watch():
            return self.connection.sql(sql).to_arrow_table()

    def register(self, name: str, rows: pa.Table | pa.RecordBatch | pa.RecordBatchReader) -> None:
        """Makes the rows a table of that name. DuckDB runs a statement for it, which may be interrupted."""
        with self._watch():
            self.connection.register(name, rows)

    @contextmanager
    def registered(self, name: str, rows: pa.Table | pa.RecordBatch | pa.RecordBatchReader) -> Iterator[None]:
        """Registers the rows like `register`, for the time of the body."""
        self.register(name, rows)
        try:
            yield
        except BaseException:
            with suppress(duckdb.Error):  # the first error matters more
                self.connection.unregister(name)
            raise
        with self._watch():
            self.connection.unregister(name)

    def stream(self, sql: str, rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Streams the rows, never all in memory. Raises errors of the query at once, but runs it when the first rows
        are read. DuckDB runs no other query on this connection until the stream ends."""
        with self._watch():
            relation = self.connection.sql(sql)
        return self._batches(relation, rows)

    def _batches(self, relation: duckdb.DuckDBPyRelation, rows: int) -> Iterator[pa.RecordBatch]:
        self._spoilt = True
        with self._watch():
            reader = relation.to_arrow_reader(rows)
        while True:
            with self._watch():
                try:
                    batch = reader.read_next_batch()
                except StopIteration:
                    break
            yield batch
        self._spoilt = False

    @contextmanager
    def _watch(self) -> Iterator[None]:
        """Translates errors and watches the time. The time limit runs from the first call to the end of the session."""
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
        except (duckdb.Error, pa.ArrowException, OSError) as error:  # Arrow reports DuckDB's errors as OSError
            raise self._explained(error) from error
        except RuntimeError as error:  # DuckDB reports a Ctrl-C that it handled itself in this way
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
        """The reason why the session was interrupted, if it was."""
        return self._why

    def _insist(self, why: LochanError) -> None:
        """Interrupts repeatedly, because DuckDB ignores an interrupt just before a statement begins."""
        self._interrupt(why)
        while not self._closed.wait(_AGAIN_S):
            if self._busy:
                with suppress(duckdb.Error):  # it is being closed
                    self.connection.interrupt()

    def _explained(self, error: Exception) -> Exception:
        text = str(error)
        if text.startswith("INTERRUPT Error") and self._why is not None:
            return self._why
        if "max_temp_directory_size" in text or "No space left" in text:
            return out_of_disk(self.limits, text.partition("\n")[0])
        if text.startswith("Out of Memory Error"):
            return out_of_memory(self.limits)
        if (refused := refusal(text)) is not None:
            return Refused(refused)
        if "More than one row returned by a subquery" in text:
            return Invalid("a subquery for a single value returned several rows", hint="add limit 1, or use max(…)")
        return error


T = TypeVar("T")


class Stoppable(Protocol):
    """A session, or a decoder."""

    def cancel(self) -> None: ...


async def run_on_thread(work: Callable[[], T], *sessions: Stoppable) -> T:
    """Runs the work on a thread. If the caller is cancelled, cancels the sessions and waits for the thread, because
    they are closed next. Without an event loop, runs it right here."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():  # repeatedly, because DuckDB ignores an interrupt just before a statement begins
            for session in sessions:
                session.cancel()
            with suppress(asyncio.CancelledError):  # again, because two time limits may end at the same time
                await asyncio.wait([task], timeout=_AGAIN_S)
        task.exception()  # it was stopped on purpose, so its error does not matter
        raise
