"""The server's Spark: one session for all of its queries, kept from the first one on, or from the start if it is to be
warm. The next query notices if the JVM has died, and starts another; the JVM ends with the server."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lochan.errors import LochanError

if TYPE_CHECKING:
    from lochan.engines.spark.place import SparkPlace

_SESSION = "lochan.engines.spark.session"  # imported once Spark is needed
_STOP_S, _END_S, _NAP_S = 8.0, 5.0, 0.05
_MARKS = (b"org.apache.spark", b"spark-submit", b"spark-class")
_log = logging.getLogger("lochan.server")


class ServerSpark:
    def __init__(self, place: SparkPlace, memory_bytes: int) -> None:
        self._place = place
        self._memory_bytes = memory_bytes
        self._starting: threading.Thread | None = None
        self._stopping = False
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        logging.getLogger().addFilter(_is_not_of_py4j)

    def warm_up(self) -> None:
        """Starts Spark in the background. Nothing waits for it."""
        self._starting = threading.Thread(target=self._start, name="lochan-spark", daemon=True)
        self._starting.start()

    def is_warm(self) -> bool:
        if _SESSION not in sys.modules:
            return False
        from lochan.engines.spark.session import is_there

        return is_there(self._place)

    async def stop(self) -> None:
        """Stops Spark. If it does not stop in time, it is killed, even while it starts."""
        self._stopping = True
        if _SESSION not in sys.modules:
            return
        from lochan.engines.spark.session import stop

        if self.is_warm():
            await _run_within(_STOP_S, stop)
        await _run_within(2 * _END_S, _end_jvms)

    def _start(self) -> None:
        from lochan.engines.duckdb.limits import Limits
        from lochan.engines.spark.session import session_at

        try:
            session = session_at(self._place, Limits(self._memory_bytes))
            session.sql("SELECT 1").toArrow()  # this loads most of what the first query would wait for
        except LochanError as error:
            if not self._stopping:
                _log.warning("Spark is not warm, and the first query that needs it will try again: %s", error)
        except Exception:
            if not self._stopping:
                _log.exception("Spark is not warm, and the first query that needs it will try again")
        else:
            _log.info("Spark is warm, on %s", self._place.where)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """Silences records that py4j logs with every call to a JVM that has died, partly by the root logger, because our
    errors report it."""
    return record.module != "java_gateway"


async def _run_within(seconds: float, work: Callable[[], None]) -> None:
    """Runs work on a thread, and waits no longer than that."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    waited = 0.0
    while thread.is_alive() and waited < seconds:
        await asyncio.sleep(_NAP_S)
        waited += _NAP_S


def _end_jvms() -> None:
    """Ends the JVMs that this process has started."""
    found = list(jvms())
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        for _ in range(round(_END_S / _NAP_S)):
            found = [pid for pid in found if _is_running(pid)]
            if not found:
                return
            time.sleep(_NAP_S)


def jvms() -> Iterator[int]:
    """Yields the JVMs among the children of this process, by their command lines. pyspark itself has their ids only
    once they are up."""
    for file in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            for pid in file.read_text().split():
                if any(mark in Path(f"/proc/{pid}/cmdline").read_bytes() for mark in _MARKS):
                    yield int(pid)


def _is_running(pid: int) -> bool:
    """Returns whether a process runs. One that has ended stays a zombie until its parent waits for it."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
