"""The verb `doctor`: checks whether this machine and this store can serve a lake. It examines versions, disks, the
store, the lake and Spark.

A `DoctorTarget` names what to examine. The code that opens lakes makes it: this module does not read the
environment."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lochan.config.kinds import size_text
from lochan.errors import LochanError, NotFound, from_os_error

if TYPE_CHECKING:
    from lochan.clock import Clock
    from lochan.lake import Lake
    from lochan.store.probe import ProbeReport
    from lochan.store.protocol import Store

OK, WARN, FAIL = "ok", "warn", "fail"


class DoctorCheck(msgspec.Struct, frozen=True):
    """One finding of the doctor."""

    check: str
    status: str  # ok, warn, fail
    found: str
    advice: str = ""
    kind: str = ""  # the kind of the error, if it failed


class DoctorTarget(NamedTuple):
    version: str  # the version of Lochan
    env: Mapping[str, str]  # names the Java that Spark starts
    needed: frozenset[str]  # what the configuration requires of java, pyspark and the optional libraries
    cache: Path
    folder: Path | None  # the lake's folder, if it is on a disk of this machine
    open_store: Callable[[], AbstractAsyncContextManager[Store]]
    open_lake: Callable[[], AbstractAsyncContextManager[Lake]]
    no_lake: NotFound  # what opening the lake raises if there is none


async def examine(target: DoctorTarget, *, spark: bool) -> list[DoctorCheck]:
    """Returns the checks in order. A check that fails does not stop the rest. With `spark`, Spark is started too and
    runs a small job."""
    from lochan.clock import SystemClock

    needed = target.needed | ({"java", "pyspark"} if spark else set())
    checks = [DoctorCheck("lochan", OK, target.version), *check_versions(target.env, needed=frozenset(needed))]
    checks.append(check_disk("cache disk", target.cache))
    if target.folder is not None:
        checks.append(check_disk("lake disk", target.folder))
    checks += [*await _check_store(target), await _check_lake(target)]
    return [*checks, check_spark_job(SystemClock())] if spark else checks


def _failed_check(name: str, error: LochanError | OSError) -> DoctorCheck:
    ours = error if isinstance(error, LochanError) else from_os_error(error)
    return DoctorCheck(name, FAIL, ours.message, ours.hint, ours.kind)


def _trouble(name: str, found: str, advice: str, *, needed: bool) -> DoctorCheck:
    return DoctorCheck(name, FAIL, found, advice, "error") if needed else DoctorCheck(name, WARN, found, advice)


# --- versions --------------------------------------------------------------------------------------------------------
JAVA_NEEDED = 17
_JAVA_SECONDS_MAX = 20


class _Library(NamedTuple):
    name: str
    purpose: str  # empty if nothing works without it
    install: str


_LIBRARIES = (
    _Library("click", "", "lochan"),
    _Library("msgspec", "", "lochan"),
    _Library("obstore", "", "lochan"),
    _Library("pyyaml", "", "lochan"),
    _Library("rich", "", "lochan"),
    _Library("pyarrow", "Spark jobs", "lochan[spark]"),
    _Library("pandas", "Spark jobs", "lochan[spark]"),
    _Library("duckdb", "queries without Spark", "duckdb"),
    _Library("granian", "the server", "lochan[server]"),
    _Library("psycopg", "journals in PostgreSQL", "lochan[postgres]"),
)
_SPARK_FROM, _SPARK_BELOW = (4, 1), (4, 4)


def check_versions(env: Mapping[str, str], *, needed: frozenset[str] = frozenset()) -> Iterator[DoctorCheck]:
    """Checks versions. `needed` are those of java, pyspark and the optional libraries that this run or this
    configuration requires."""
    yield DoctorCheck("python", OK, platform.python_version())
    for library in _LIBRARIES:
        yield _check_library(library, needed=not library.purpose or library.name in needed)
    yield _check_spark(needed="pyspark" in needed)
    yield check_java(env, needed="java" in needed)


def _check_library(library: _Library, *, needed: bool) -> DoctorCheck:
    found = _installed_version(library.name)
    if found is not None:
        return DoctorCheck(library.name, OK, found)
    missing = "not installed" if not library.purpose else f"not installed; needed for {library.purpose}"
    return _trouble(library.name, missing, f"pip install '{library.install}'", needed=needed)


def _check_spark(*, needed: bool) -> DoctorCheck:
    found, install = _installed_version("pyspark"), "pip install 'lochan[spark]'"
    if found is None:
        return _trouble("spark", "pyspark is not installed; needed for large work", install, needed=needed)
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:2])
    if not _SPARK_FROM <= numbers < _SPARK_BELOW:
        return _trouble("spark", f"Lochan does not know pyspark {found}", install, needed=needed)
    return DoctorCheck("spark", OK, f"pyspark {found}")


def check_java(env: Mapping[str, str], *, needed: bool) -> DoctorCheck:
    """Checks the Java that Spark starts: the one of JAVA_HOME, or else the first on the path."""
    program = str(Path(env["JAVA_HOME"]) / "bin" / "java") if env.get("JAVA_HOME") else "java"
    good, found = _java_version(program, env)
    if good:
        return DoctorCheck("java", OK, found)
    install = f"install Java {JAVA_NEEDED} (Debian: openjdk-{JAVA_NEEDED}-jre-headless), or set JAVA_HOME"
    return _trouble("java", found, f"{install}; Spark needs it", needed=needed)


def _java_version(program: str, env: Mapping[str, str]) -> tuple[bool, str]:
    """Returns whether it is new enough, and its version, or what is wrong with it."""
    try:
        ran = subprocess.run([program, "-version"], capture_output=True, timeout=_JAVA_SECONDS_MAX, check=True, env=env)
    except FileNotFoundError:
        return False, f"there is no {program}"
    except (OSError, subprocess.SubprocessError) as error:
        return False, f"{program} -version failed: {error}"
    match = re.search(r'version "(?:1\.)?(\d+)(?:[^\d"][^"]*)?"', (ran.stderr + ran.stdout).decode(errors="replace"))
    if match is None:
        return False, f"{program} -version printed nothing that looks like a version"
    if int(match[1]) < JAVA_NEEDED:
        return False, f"{match[0]} at {program} is older than {JAVA_NEEDED}"
    return True, match[0]


def _installed_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


# --- disks -----------------------------------------------------------------------------------------------------------
_WARN_BELOW = 1_000_000_000
_FAIL_BELOW = 50_000_000


def check_disk(name: str, folder: Path) -> DoctorCheck:
    """Checks the free space of a disk. A folder that does not exist yet is judged by its nearest ancestor."""
    try:
        free = shutil.disk_usage(nearest_existing(folder)).free
    except OSError as error:
        return _failed_check(name, error)
    found = f"{size_text(free)} free at {folder}"
    if free < _FAIL_BELOW:
        return _trouble(name, found, "make room: writes there are about to fail", needed=True)
    return DoctorCheck(name, WARN, found, "make room soon") if free < _WARN_BELOW else DoctorCheck(name, OK, found)


def nearest_existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if each.exists())


# --- the store and the lake ------------------------------------------------------------------------------------------
_SKEW_WARN_S = 60.0
_SKEW_FAIL_S = 15 * 60.0  # S3 refuses a request that was signed this far from its own time


async def _check_store(target: DoctorTarget) -> list[DoctorCheck]:
    from lochan.clock import SystemClock
    from lochan.ids import Ids
    from lochan.store.probe import probe

    try:
        async with target.open_store() as store:
            report = await probe(store, Ids(), SystemClock())
    except (LochanError, OSError) as error:
        return [_failed_check("store", error)]
    return [_race_check(report), _clock_check(report)]


def _race_check(report: ProbeReport) -> DoctorCheck:
    from lochan.store.probe import CREATORS

    races = f"{report.rounds} races of {CREATORS} creators had one winner each"
    return DoctorCheck("store", OK, f"{report.url}: {races}; a create takes {report.latency_s * 1000:.1f} ms")


def _clock_check(report: ProbeReport) -> DoctorCheck:
    skew = abs(report.skew_s)
    found = f"the store's clock is {skew:.0f} s {'ahead of' if report.skew_s > 0 else 'behind'} this machine's"
    if skew >= _SKEW_WARN_S:
        advice = "set this machine's clock (timedatectl set-ntp true)"
        return _trouble("clock", found, advice, needed=skew >= _SKEW_FAIL_S)
    return DoctorCheck("clock", OK, "this machine's clock and the store's agree" if skew < 1 else found)


async def _check_lake(target: DoctorTarget) -> DoctorCheck:
    try:
        async with target.open_lake() as lake:
            number = (await (await lake.journal()).fresh()).number
    except LochanError as error:
        if isinstance(error, NotFound) and str(error) == str(target.no_lake):
            return DoctorCheck("lake", WARN, error.message, error.hint)
        return _failed_check("lake", error)
    kept = "on the store" if lake.file.journal == "store" else f"in {lake.file.journal}"
    found = f"{lake.url}: format {lake.file.format}, journals {kept}, lake journal at record {number}"
    return DoctorCheck("lake", OK, found)


# --- Spark -----------------------------------------------------------------------------------------------------------
def check_spark_job(clock: Clock) -> DoctorCheck:
    """Starts a JVM, which takes about ten seconds, and runs a small job. The JVM's output is shown only if it fails."""
    from lochan.engines.spark.session import stderr_kept, why

    started = clock.boot()
    with stderr_kept() as printed:
        try:
            answer = _spark_sum()
        except Exception as error:  # a JVM can fail in any way; the check reports it
            return _trouble("spark job", why(error, printed), "check Java and pyspark above", needed=True)
    if answer != 499_500:
        return _trouble("spark job", f"the sum of 0 to 999 came out as {answer}", "reinstall pyspark", needed=True)
    return DoctorCheck("spark job", OK, f"ran on local[1] in {clock.boot() - started:.1f} s, the JVM's start included")


def _spark_sum() -> int:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("lochan doctor")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.bindAddress": "127.0.0.1",  # a host name that resolves nowhere does not matter on one machine
        "spark.driver.host": "127.0.0.1",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        row = spark.range(1000).selectExpr("sum(id) AS total").first()
        return int(row["total"]) if row is not None else 0
    finally:
        spark.stop()
