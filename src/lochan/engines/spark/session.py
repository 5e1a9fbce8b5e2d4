"""One Spark session for all queries of this process: starting it takes seconds, and using it again takes no time."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lochan.engines.duckdb.limits import Limits
from lochan.engines.spark.place import SparkPlace, check_answers, why_not
from lochan.errors import Refused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUBSTITUTE = "spark.sql.variable.substitute"  # expands `${env:…}` in statements from the server's environment
# The meaning of rows must not depend on a user's settings of Spark.
MEANING = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.orderByOrdinal": "false",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.parser.escapedStringLiterals": "false",
    SUBSTITUTE: "false",
}
# Spark's parser caches the paths it took through its grammar for good: a few hundred of our longer statements fill a
# heap of 1 GiB with them. With these settings it drops them once they take more than this share, in percent, of the
# driver's memory.
_PARSER_MEMORY = {"spark.sql.parser.manageParserCaches": "true", "spark.sql.parser.parserDfaCacheFlushRatio": "5"}
# A cancelled task that does not end is watched, and on a cluster its executor is ended with it: a loop over rows that
# are made of few others, or a regular expression, checks nothing while it runs.
_REAPED = {
    "spark.task.reaper.enabled": "true",
    "spark.task.reaper.pollingInterval": "5s",
    "spark.task.reaper.killTimeout": "60s",
}
_QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
_HERE = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
_JARS = "spark.jars"
_JAR = Path(__file__).parents[2] / "spark" / "jars" / "lochan-catalog.jar"
_PATIENCE_S = 20.0
_SHOWN_MAX = 300  # characters of a JVM's output that are shown
_NAP_S = 0.5
_log = logging.getLogger("lochan.spark")
_DEATH_S = 3.0
_MEMORY_LEAST = 512 << 20  # a JVM with less memory does not even start Spark

_one = threading.Lock()
_launched_here = False  # whether the JVM of this process is ours, and not that of an existing session
_sessions: dict[SparkKey, SparkSession] = {}
SparkKey = tuple[str, str]


def session_at(place: SparkPlace, limits: Limits) -> SparkSession:
    """Returns the session. Raises Refused if Spark cannot be started. The memory limit is the JVM's: the first caller
    sets it."""
    refused = why_not(place)
    if refused is not None:
        raise refused
    with _one:
        key = place.master, place.remote
        found = _sessions.get(key)
        if found is not None and _is_stopped(found):
            _await_death()
            found = None
        if found is None:
            found = _sessions[key] = _start(place, limits)
        return found


def check_is_literal(spark: SparkSession, sql: str) -> None:
    """Raises Refused if Spark would expand parts of a statement. In texts our notation prevents that; a name has no
    such notation, and users' files decide the names of fields."""
    if "${" in sql and spark.conf.get(SUBSTITUTE) != "false":
        raise Refused(
            "a field's name has `${` in it, and this Spark would put its own settings in its place",
            hint=f"set {SUBSTITUTE} to false, or run the query with --engine duckdb",
        )


def end_if_stuck(spark: SparkSession, patience_s: float) -> bool:
    """Waits until cancelled tasks have ended. If some do not, the JVM is ended, if it is ours and they run in it,
    because they would occupy its processors for good. The next query starts another. Returns whether the JVM was
    ended."""
    context: Any = spark.sparkContext if hasattr(spark, "_jsparkSession") else None
    if context is None or not _launched_here or not context.master.startswith("local"):
        return False
    waited = 0.0
    while _left_behind(context) > 0:
        if waited >= patience_s:
            process = _jvm()
            if process is not None:
                _log.warning("tasks of a cancelled query do not end: Spark is ended, and the next query starts it anew")
                process.kill()
            return process is not None
        time.sleep(_NAP_S)
        waited += _NAP_S
    return False


def _left_behind(context: Any) -> int:
    """Counts tasks that run, but belong to no set of tasks that Spark still waits for."""
    scheduler = context._jsc.sc().taskScheduler()
    queue = scheduler.rootPool().getSortedTaskSetQueue()
    return running_tasks(context) - int(sum(queue.apply(at).runningTasks() for at in range(queue.length())))


def running_tasks(context: Any) -> int:
    """Counts the tasks of a JVM that runs them itself, including tasks that were told to end."""
    running = context._jsc.sc().taskScheduler().runningTasksByExecutors()
    return int(running.apply("driver")) if running.contains("driver") else 0


def is_there(place: SparkPlace) -> bool:
    """Returns whether a session was started there, and its JVM runs. It does not wait: a session that is just being
    started does not count."""
    return (place.master, place.remote) in _sessions and not _has_died()


def stop() -> None:
    """Stops all sessions, with their resources. The next query starts anew."""
    with _one:
        while _sessions:
            _, session = _sessions.popitem()
            stopping = threading.Thread(target=_stop, args=(session,), daemon=True)
            stopping.start()
            stopping.join(_PATIENCE_S)
        os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)  # pyspark's mark of a process without a JVM


def _stop(session: SparkSession) -> None:
    """Stops a session. One behind Connect waits for its running work."""
    with suppress(Exception):
        session.stop()


def _start(place: SparkPlace, limits: Limits) -> SparkSession:
    from pyspark.sql import SparkSession

    session: SparkSession
    check_answers(place)
    _forget_dead()
    if place.remote:
        session = _connect(place)
    else:
        there = SparkSession.getActiveSession()  # the user's own session: ours is made beside it
        beside = there if isinstance(there, SparkSession) else _launch(place, limits)
        session = beside.newSession()
    for name, value in (MEANING | _PARSER_MEMORY).items():
        session.conf.set(name, value)
    return session


def _connect(place: SparkPlace) -> SparkSession:
    from pyspark.sql import SparkSession

    try:
        session: SparkSession = SparkSession.builder.remote(place.remote).create()
        return session
    except ImportError as error:
        hint = "pip install 'lochan[connect]'"
        raise Refused(f"Spark Connect needs more packages: {error}", hint=hint) from error
    except Exception as error:  # any error of the connection
        first = str(error).strip().partition("\n")[0]
        raise Refused(f"the Spark Connect server at {place.remote} is of no use: {first}") from error


def _launch(place: SparkPlace, limits: Limits) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the only setting in which Spark looks for it
    memory = max(limits.memory_bytes, _MEMORY_LEAST) >> 20
    builder = SparkSession.builder.appName("lochan").master(place.master)
    options = {
        **_QUIET,
        **_REAPED,
        **(_HERE if place.is_here else {}),
        "spark.driver.memory": f"{memory}m",
        "spark.driver.maxResultSize": f"{memory // 2}m",
        "spark.pyspark.python": sys.executable,
        **_with_jar(place.options),
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    global _launched_here
    with stderr_kept() as output:
        try:
            made = builder.getOrCreate()
            _launched_here = True
            return made
        except Exception as error:  # any error of the JVM
            if "UnsupportedClassVersionError" in jvm_output(output):
                hint = "install Java 17, or set JAVA_HOME to one"
                raise Refused("Spark did not start: this Java is too old for it", hint=hint) from error
            hint = "`lochan doctor --spark` tells more"
            raise Refused(f"Spark did not start on {place.master}: {why(error, output)}", hint=hint) from error


def _with_jar(options: Mapping[str, str]) -> dict[str, str]:
    """Adds the jar with the JVM parts of the catalog and the data source, if it was built."""
    if not _JAR.exists():
        return dict(options)
    given = [each for each in options.get(_JARS, "").split(",") if each]
    return {**options, _JARS: ",".join(dict.fromkeys([*given, str(_JAR)]))}


def _forget_dead() -> None:
    """Clears pyspark's references to a JVM that has died, and closes the pipe to it, which pyspark does not do."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if _has_died():
        process = _jvm()
        if process is not None and process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = None
        SparkSession._activeSession = None


def _has_died() -> bool:
    """Returns whether the JVM of this process has died."""
    process = _jvm()
    return process is not None and process.poll() is not None


def _await_death() -> None:
    """Waits a moment for a JVM that no longer answers, because it may just be about to end. If it goes on, only its
    session was stopped."""
    process = _jvm()
    if process is not None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_DEATH_S)


def _jvm() -> subprocess.Popen[bytes] | None:
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    return getattr(gateway, "proc", None)


def _is_stopped(session: SparkSession) -> bool:
    if hasattr(session, "_jsparkSession") and _has_died():
        return True
    try:
        session.conf.get("spark.sql.ansi.enabled")
    except Exception:
        return True
    return False


# --- what a JVM prints -----------------------------------------------------------------------------------------------
@contextmanager
def stderr_kept() -> Iterator[IO[bytes]]:
    """Keeps back what a JVM prints to our stderr, which it inherits, so that it is shown only if something fails. The
    descriptor itself must point elsewhere meanwhile."""
    sys.stderr.flush()
    before = os.dup(2)
    with tempfile.TemporaryFile() as output:
        os.dup2(output.fileno(), 2)
        try:
            yield output
        finally:
            os.dup2(before, 2)
            os.close(before)


def why(error: Exception, output: IO[bytes]) -> str:
    """Returns the error's first line, and the most informative line of the output."""
    lines = [line.strip() for line in jvm_output(output).splitlines() if line.strip()]
    telling = next((line for line in lines if "rror" in line or "xception" in line), lines[-1] if lines else "")
    first = str(error).strip().partition("\n")[0]
    return f"{first}{f' ({telling})' if telling else ''}"[:_SHOWN_MAX]


def jvm_output(output: IO[bytes]) -> str:
    """Returns all that the JVM printed."""
    output.seek(0)
    return output.read().decode(errors="replace")
