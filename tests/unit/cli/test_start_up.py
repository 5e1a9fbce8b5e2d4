"""A command imports what it uses and nothing else: that is most of the time that a short one takes."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.invoke import lochan

SCRIPT = """
import atexit, sys
atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))
from lochan.cli.main import main
main()
"""
HEAVY = {"rich", "yaml", "pyspark", "pyarrow", "obstore", "asyncio", "logging", "concurrent.futures"}


def modules(*words: str) -> set[str]:
    ran = subprocess.run([sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, check=True)
    return set(ran.stderr.splitlines()[-1].split())


def test_the_version_costs_click_alone() -> None:
    found = modules("--version")
    assert not found & (HEAVY | {"msgspec", "json", "lochan.config.settings", "lochan.cli.session"})


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_local_lake_is_listed_without_an_event_loop(form: str, tmp_path: Path) -> None:
    lochan("init", str(tmp_path))
    lochan("--lake", str(tmp_path), "repo", "create", "demo-repo")
    assert not modules("--lake", str(tmp_path), "ls", "-f", form) & HEAVY


def test_a_small_query_needs_no_event_loop(tmp_path: Path) -> None:
    """Nor what Arrow and numpy look for where they are shown a list or an array."""
    lake = ("--lake", str(tmp_path))
    for words in (("init", str(tmp_path)), (*lake, "create", "logs", "--key", "k")):
        assert lochan(*words).exit_code == 0
    assert lochan(*lake, "load", "logs", "-", stdin='{"k": 1}\n').exit_code == 0
    script = (
        "import os, sys\nleave = os._exit\n"
        "os._exit = lambda code: (print(*sorted(sys.modules), file=sys.stderr, flush=True), leave(code))\n"
        "from lochan.cli.main import main\nmain()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, *lake, "query", "from logs | k > 0"], capture_output=True, text=True, check=True
    )
    found = set(ran.stderr.splitlines()[-1].split())
    assert "duckdb" in found
    assert not found & {"asyncio", "pandas", "numpy.ma", "pyspark", "lochan.engines.loading"}


def test_a_command_that_used_obstore_leaves_before_python_is_taken_down() -> None:
    """Its threads abort the process otherwise, now and then; so nothing of Python's own ending may be seen."""
    settings = ("endpoint=http://127.0.0.1:1", "credentials.access_key_id=a", "credentials.access_secret_key=b")
    words = ["--lake", "s3://bucket", *(word for each in settings for word in ("-s", f"blockstore.s3.{each}")), "ls"]
    script = f"import lochan.cli.session; lochan.cli.session.RETRY_S = 0.0\n{SCRIPT}"
    ran = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 9
    assert ran.stderr.splitlines()[-1].endswith("check its endpoint and the network")


def test_a_server_does_without_what_it_does_not_use() -> None:
    """Arrow imports pandas, 36 MB, as soon as it is shown a list: of no module may that be the beginning."""
    script = (
        "import importlib, pkgutil, sys, lochan.server as server\n"
        "for each in pkgutil.walk_packages(server.__path__, 'lochan.server.'): importlib.import_module(each.name)\n"
        "print(*sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not set(ran.stdout.split()) & {"pandas", "polars", "duckdb", "sqlglot", "pyspark"}
