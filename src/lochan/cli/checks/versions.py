"""Which versions are here: Lochan, Python, its libraries, Java and Spark. Nothing is imported to find out."""

import platform
import re
import subprocess
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from lochan import __version__
from lochan.cli.checks.check import FAIL, OK, WARN, Check

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
