"""Runs one statement on a thread of its own: its caller can be interrupted while it waits, a call into the JVM
cannot."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

import pyarrow as pa

from lochan.engines.duckdb.limits import Limits, cancelled_error, out_of_time
from lochan.engines.spark.errors import explain_error
from lochan.engines.spark.progress import context_of
from lochan.engines.spark.session import MEANING, end_if_stuck
from lochan.engines.spark.waves import Wave
from lochan.errors import LochanError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


T = TypeVar("T")


class Handoff(Generic[T]):
    """Passes pieces from one thread to another, one piece ahead: the producer waits until the consumer takes them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._piece: T | None = None
        self._ended = False
        self._why: Exception | None = None

    def put(self, piece: T) -> bool:
        """Passes a piece. Returns False if no more pieces are wanted."""
        with self._changed:
            self._changed.wait_for(lambda: self._piece is None or self._ended)
            if self._ended:
                return False
            self._piece = piece
            self._changed.notify_all()
            return True

    def take(self) -> T | None:
        """Returns the next piece, or None at the end. Raises the error that it was stopped by, at once."""
        with self._changed:
            self._changed.wait_for(lambda: self._piece is not None or self._ended)
            if self._why is not None:
                raise self._why
            piece, self._piece = self._piece, None
            self._changed.notify_all()
            return piece

    def end(self) -> None:
        """Ends the pieces, after the one that is still to be taken."""
        self._end_with(None)

    def stop(self, why: Exception) -> None:
        """Stops both sides with an error. If it is called again, the first error counts."""
        self._end_with(why)

    def _end_with(self, why: Exception | None) -> None:
        with self._changed:
            if self._why is None and why is not None and not (self._ended and self._piece is None):
                self._why, self._piece = why, None
            self._ended = True
            self._changed.notify_all()


_AGAIN_S = 0.5
STUCK_S = 30.0  # how long tasks of a cancelled query may continue


class SparkStatement:
    def __init__(self, tagged: Tagged, waves: Callable[[], Iterator[Wave]], limits: Limits) -> None:
        self._tagged = tagged
        self._waves = waves
        self._limits = limits
        self._rows: Handoff[Wave] = Handoff()
        self._begun = False
        self._ended = threading.Event()  # set when Spark has finished the work
        self._why: LochanError | None = None
        self._timer: threading.Timer | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yields the rows. The statement starts when the first batch is requested, and waits while no further one
        is."""
        self._check()
        self._begin()
        try:
            while (wave := self._rows.take()) is not None:
                for batch in wave:
                    self._check()
                    yield batch
        except LochanError:
            raise
        except Exception as error:
            raise explain_error(error, self._limits) from error
        finally:
            self.end()

    def interrupt(self, why: LochanError) -> None:
        """Interrupts the statement. Its caller gets the error at once, while Spark ends its tasks."""
        self._why = self._why or why
        self._rows.stop(self._why)
        if self._begun and not self._ended.is_set():
            _start(self._stop)

    def end(self) -> None:
        """Ends the statement. Calling it again does nothing."""
        if self._timer is not None:
            self._timer.cancel()
        self.interrupt(cancelled_error())

    def _begin(self) -> None:
        if self._limits.seconds is not None:
            self._timer = threading.Timer(self._limits.seconds, self.interrupt, (out_of_time(self._limits),))
            self._timer.daemon = True
            self._timer.start()
        self._begun = True
        _start(self._run)

    def _check(self) -> None:
        if self._why is not None:
            raise self._why

    def _run(self) -> None:
        try:
            self._tagged.begin()
            for wave in self._waves():
                if not self._rows.put(wave):
                    break
            self._rows.end()
        except Exception as error:  # it is passed to the waiting caller
            self._rows.stop(error)
        finally:
            self._ended.set()

    def _stop(self) -> None:
        """Stops the tasks, more than once, because the statement may just be about to start, or to continue with its
        next part."""
        with suppress(Exception):  # no caller waits any more
            self._tagged.stop()
            while not self._ended.wait(_AGAIN_S):
                self._tagged.stop()
            self._tagged.reap()


class Tagged:
    """The work that one thread starts, under a unique name. Behind Connect the session's tags are used; in our own JVM
    these are not inherited by the thread that collects rows, and the context's are used."""

    def __init__(self, spark: SparkSession, tag: str, about: str) -> None:
        self._spark = spark
        self._context = context_of(spark)
        self.tag = tag
        self._about = about  # Spark's name for its stages

    def begin(self) -> None:
        """Sets the tag, on the thread that starts the work."""
        if self._context is None:
            self._spark.addTag(self.tag)
            return
        self._context.addJobTag(self.tag)
        self._context.setInterruptOnCancel(True)
        for name, value in MEANING.items():  # tasks see the settings of the job, not those of the session
            self._context.setLocalProperty(name, value)
        self._context.setLocalProperty("callSite.short", self._about)

    def reap(self) -> None:
        """Ends tasks that do not stop, with their JVM, after a while. Call it when Spark has finished the work."""
        end_if_stuck(self._spark, STUCK_S)

    def stop(self) -> None:
        """Stops the work, from any thread."""
        if self._context is None:
            self._spark.interruptTag(self.tag)
        else:
            self._context.cancelJobsWithTag(self.tag)


def _start(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()
