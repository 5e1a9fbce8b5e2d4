"""One statement on its way, on a thread of its own: who waits for it can be interrupted, a call into the JVM cannot."""

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
    """From one thread to another, one piece ahead: who makes them waits while nobody takes them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._piece: T | None = None
        self._ended = False
        self._why: Exception | None = None

    def put(self, piece: T) -> bool:
        """False: nobody wants it any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._piece is None or self._ended)
            if self._ended:
                return False
            self._piece = piece
            self._changed.notify_all()
            return True

    def take(self) -> T | None:
        """None at the end. Raises what it was stopped by, at once."""
        with self._changed:
            self._changed.wait_for(lambda: self._piece is not None or self._ended)
            if self._why is not None:
                raise self._why
            piece, self._piece = self._piece, None
            self._changed.notify_all()
            return piece

    def end(self) -> None:
        """There are no more, after the one that is still to be taken."""
        self._over(None)

    def stop(self, why: Exception) -> None:
        """Whoever waits is told; the first word counts."""
        self._over(why)

    def _over(self, why: Exception | None) -> None:
        with self._changed:
            if self._why is None and why is not None and not (self._ended and self._piece is None):
                self._why, self._piece = why, None
            self._ended = True
            self._changed.notify_all()


_AGAIN_S = 0.5
STUCK_S = 30.0  # how long tasks of a cancelled query may go on


class SparkStatement:
    def __init__(self, tagged: Tagged, waves: Callable[[], Iterator[Wave]], limits: Limits) -> None:
        self._tagged = tagged
        self._waves = waves
        self._limits = limits
        self._rows: Handoff[Wave] = Handoff()
        self._begun = False
        self._ended = threading.Event()  # Spark is through with it
        self._why: LochanError | None = None
        self._timer: threading.Timer | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """It runs when the first is asked for, and waits while nobody asks for the next."""
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
        """Whoever waits is told at once; Spark ends its tasks meanwhile."""
        self._why = self._why or why
        self._rows.stop(self._why)
        if self._begun and not self._ended.is_set():
            _start(self._stop)

    def end(self) -> None:
        """May be called twice."""
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
        except Exception as error:  # for who waits
            self._rows.stop(error)
        finally:
            self._ended.set()

    def _stop(self) -> None:
        """More than once: it may just be about to start, or to go on with its next part."""
        with suppress(Exception):  # nobody waits any more
            self._tagged.stop()
            while not self._ended.wait(_AGAIN_S):
                self._tagged.stop()
            self._tagged.reap()


class Tagged:
    """What one thread starts, by a name that nobody else has. Behind Connect the session's own tags do; in a JVM of
    ours they are not handed on to the thread that collects rows, and the context's are."""

    def __init__(self, spark: SparkSession, tag: str, about: str) -> None:
        self._spark = spark
        self._context = context_of(spark)
        self.tag = tag
        self._about = about  # what Spark calls its stages

    def begin(self) -> None:
        """On the thread that starts it."""
        if self._context is None:
            self._spark.addTag(self.tag)
            return
        self._context.addJobTag(self.tag)
        self._context.setInterruptOnCancel(True)
        for name, value in MEANING.items():  # tasks see the settings of the job, not those of the session
            self._context.setLocalProperty(name, value)
        self._context.setLocalProperty("callSite.short", self._about)

    def reap(self) -> None:
        """Once Spark is through with it: tasks that do not end are ended with their JVM, after a while."""
        end_if_stuck(self._spark, STUCK_S)

    def stop(self) -> None:
        """From any thread."""
        if self._context is None:
            self._spark.interruptTag(self.tag)
        else:
            self._context.cancelJobsWithTag(self.tag)


def _start(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()
