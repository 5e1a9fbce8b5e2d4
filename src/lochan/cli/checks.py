"""What `lochan doctor` looks at: versions, disks, the store, the lake and Spark."""

import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from lochan import __version__
from lochan.cli import exit_codes
from lochan.cli.error_boundary import explained
from lochan.cli.output.records import size
from lochan.cli.session import open_engine_lake
from lochan.clock import Clock, SystemClock
from lochan.config.find import LakeLocation
from lochan.config.values import Config
from lochan.connection import no_lake, open_store, reach
from lochan.engines.spark.session import stderr_kept, why
from lochan.errors import AlreadyExists, LochanError, NotFound
from lochan.ids import Ids
from lochan.store.probe import CREATORS, ProbeReport, probe

OK, WARN, FAIL = "ok", "warn", "fail"


class Check(NamedTuple):
    name: str
    status: str
    found: str
    advice: str = ""
    exit_code: int = exit_codes.ERROR  # of a failed one


def failed(name: str, error: LochanError | OSError) -> Check:
    ours = error if isinstance(error, LochanError) else explained(error)
    return Check(name, FAIL, ours.message, ours.hint, exit_codes.BY_KIND[ours.kind])


JAVA_NEEDED = 17
_JAVA_SECONDS_MAX = 20


class _Library(NamedTuple):
    name: str
    purpose: str  # empty: nothing works without it
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


def check_versions(env: Mapping[str, str], *, needed: frozenset[str] = frozenset()) -> Iterator[Check]:
    """`needed`: what this run or this configuration cannot do without, of java, pyspark and the optional libraries."""
    yield Check("lochan", OK, __version__)
    yield Check("python", OK, platform.python_version())
    for library in _LIBRARIES:
        yield _library(library, needed=not library.purpose or library.name in needed)
    yield _spark(needed="pyspark" in needed)
    yield check_java(env, needed="java" in needed)


def _library(library: _Library, *, needed: bool) -> Check:
    found = _installed(library.name)
    if found is not None:
        return Check(library.name, OK, found)
    missing = "not installed" if not library.purpose else f"not installed; needed for {library.purpose}"
    return Check(library.name, FAIL if needed else WARN, missing, f"pip install '{library.install}'")


def _spark(*, needed: bool) -> Check:
    found = _installed("pyspark")
    bad = FAIL if needed else WARN
    if found is None:
        return Check("spark", bad, "pyspark is not installed; needed for large work", "pip install 'lochan[spark]'")
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:2])
    if not _SPARK_FROM <= numbers < _SPARK_BELOW:
        return Check("spark", bad, f"pyspark {found} is not a version Lochan knows", "pip install 'lochan[spark]'")
    return Check("spark", OK, f"pyspark {found}")


def check_java(env: Mapping[str, str], *, needed: bool) -> Check:
    """Spark starts the Java of JAVA_HOME, else the first on the path; so do we."""
    bad = FAIL if needed else WARN
    install = (
        f"install Java {JAVA_NEEDED} (Debian: openjdk-{JAVA_NEEDED}-jre-headless), or set JAVA_HOME; Spark needs it"
    )
    program = str(Path(env["JAVA_HOME"]) / "bin" / "java") if env.get("JAVA_HOME") else "java"
    try:
        ran = subprocess.run([program, "-version"], capture_output=True, timeout=_JAVA_SECONDS_MAX, check=True, env=env)
    except FileNotFoundError:
        return Check("java", bad, f"{program} is not there", install)
    except (OSError, subprocess.SubprocessError) as error:
        return Check("java", bad, f"{program} -version failed: {error}", install)
    match = re.search(r'version "(?:1\.)?(\d+)(?:[^\d"][^"]*)?"', (ran.stderr + ran.stdout).decode(errors="replace"))
    if match is None:
        return Check("java", bad, f"{program} -version said nothing that looks like a version", install)
    if int(match[1]) < JAVA_NEEDED:
        return Check("java", bad, f"{match[0]} at {program} is older than {JAVA_NEEDED}", install)
    return Check("java", OK, match[0])


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


_WARN_BELOW = 1_000_000_000
_FAIL_BELOW = 50_000_000


def check_disk(name: str, folder: Path) -> Check:
    """The folder may not be there yet; then its nearest ancestor speaks for it."""
    try:
        there = nearest_existing(folder)
        free = shutil.disk_usage(there).free
    except OSError as error:
        return failed(name, error)
    found = f"{size(free)} free at {folder}"
    if free < _FAIL_BELOW:
        return Check(name, FAIL, found, "make room: writes there are about to fail")
    if free < _WARN_BELOW:
        return Check(name, WARN, found, "make room soon")
    return Check(name, OK, found)


def nearest_existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if each.exists())


_SKEW_WARN_S = 60.0
_SKEW_FAIL_S = 15 * 60.0  # S3 refuses a request that was signed this far from its own time


async def check_lake(config: Config, found: LakeLocation) -> list[Check]:
    return [*await _check_store(config, found), await _check_lake_itself(config, found)]


async def _check_store(config: Config, found: LakeLocation) -> list[Check]:
    try:
        with _test_place(found) as place:
            store = open_store(config, place)
            with suppress(AlreadyExists):  # a lake, for the next check to look at
                await reach(store)
            report = await probe(store, Ids(), SystemClock())
    except (LochanError, OSError) as error:
        return [failed("store", error)]
    return [_race_check(report), _clock_check(report)]


@contextmanager
def _test_place(found: LakeLocation) -> Iterator[LakeLocation]:
    """A folder that is not there yet is tested beside where it will be, and is still not there afterwards."""
    if found.folder is None or found.folder.exists():
        yield found
        return
    with tempfile.TemporaryDirectory(prefix=".lochan-doctor-", dir=nearest_existing(found.folder)) as beside:
        yield LakeLocation(beside, found.how)


def _race_check(report: ProbeReport) -> Check:
    races = f"{report.rounds} races of {CREATORS} creators had one winner each"
    return Check("store", OK, f"{report.url}: {races}; a create takes {report.latency_s * 1000:.1f} ms")


def _clock_check(report: ProbeReport) -> Check:
    skew = abs(report.skew_s)
    found = f"the store's clock is {skew:.0f} s {'ahead of' if report.skew_s > 0 else 'behind'} this machine's"
    if skew >= _SKEW_FAIL_S:
        return Check("clock", FAIL, found, "set this machine's clock (timedatectl set-ntp true)")
    if skew >= _SKEW_WARN_S:
        return Check("clock", WARN, found, "set this machine's clock (timedatectl set-ntp true)")
    return Check("clock", OK, "this machine's clock and the store's agree" if skew < 1 else found)


async def _check_lake_itself(config: Config, found: LakeLocation) -> Check:
    try:
        async with open_engine_lake(config) as lake:
            number = (await (await lake.journal()).fresh()).number
    except NotFound as error:
        none = no_lake(found)
        return Check("lake", WARN, none.message, none.hint) if str(error) == str(none) else failed("lake", error)
    except LochanError as error:
        return failed("lake", error)
    kept = "on the store" if lake.file.journal == "store" else f"in {lake.file.journal}"
    return Check("lake", OK, f"{lake.url}: format {lake.file.format}, journals {kept}, lake journal at record {number}")


def check_spark_job(clock: Clock) -> Check:
    """Starts a JVM: ten seconds or so. What it prints is kept back, and told only where it fails."""
    started = clock.boot()
    with stderr_kept() as said:
        try:
            answer = _spark_sum()
        except Exception as error:  # whatever a JVM may come up with; the check reports it
            return Check("spark job", FAIL, why(error, said), "check Java and pyspark above")
    if answer != 499_500:
        return Check("spark job", FAIL, f"the sum of 0 to 999 came out as {answer}", "reinstall pyspark")
    return Check("spark job", OK, f"ran on local[1] in {clock.boot() - started:.1f} s, the JVM's start included")


def _spark_sum() -> int:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("lochan doctor")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.bindAddress": "127.0.0.1",  # a host name that resolves nowhere is no matter for one machine
        "spark.driver.host": "127.0.0.1",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        row = spark.range(1000).selectExpr("sum(id) AS total").first()
        return int(row["total"]) if row is not None else 0
    finally:
        spark.stop()
