"""A command imports only what it uses, because imports are most of the time that a short one takes."""

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


def modules_at_the_end(*words: str) -> set[str]:
    """The modules of a command that exits before Python is shut down."""
    script = (
        "import os, sys\nleave = os._exit\n"
        "os._exit = lambda code: (print(*sorted(sys.modules), file=sys.stderr, flush=True), leave(code))\n"
        "import atexit; atexit.register(os._exit, 0)\n"
        "from lochan.cli.main import main\nmain()"
    )
    ran = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)
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
    found = modules_at_the_end(*lake, "query", "from logs | k > 0")
    assert "duckdb" in found
    assert not found & {"asyncio", "pandas", "numpy.ma", "pyspark", "lochan.engines.duckdb.load.load"}


@pytest.mark.parametrize(
    "command",
    ["status demo", "fs ls demo", "diff demo@main demo@dev", "show demo", "commit demo -m x", "load logs FILE"],
)
def test_no_verb_takes_pandas_in_by_the_way(command: str, tmp_path: Path) -> None:
    """Arrow does where it is shown a list: a second of a command that takes a third of one."""
    lake, file = ("--lake", f"{tmp_path}/lake"), tmp_path / "rows.ndjson"
    file.write_text('{"k": 1}\n')
    for words in ("init", "repo create demo", "create logs --key k", "branch create demo@dev"):
        assert lochan(*lake, *words.split()).exit_code == 0
    assert lochan(*lake, "fs", "upload", "-", "demo/a", stdin="a").exit_code == 0
    found = modules_at_the_end(*lake, *command.replace("FILE", str(file)).split())
    assert "pyarrow" in found
    assert "pandas" not in found


@pytest.mark.parametrize("command", ["branch create demo@new", "commit demo -m x", "merge demo@dev demo@main"])
def test_a_change_that_no_hook_judges_needs_nothing_of_hooks(command: str, tmp_path: Path) -> None:
    lake = ("--lake", f"{tmp_path}/lake")
    for words in ("init", "repo create demo"):
        assert lochan(*lake, *words.split()).exit_code == 0
    assert lochan(*lake, "branch", "create", "demo@dev").exit_code == 0
    for branch in ("main", "dev"):
        assert lochan(*lake, "fs", "upload", "-", f"demo@{branch}/{branch}", stdin="a").exit_code == 0
    assert lochan(*lake, "commit", "demo@dev", "-m", "y").exit_code == 0
    if "merge" in command:
        assert lochan(*lake, "commit", "demo@main", "-m", "x").exit_code == 0
    found = modules_at_the_end(*lake, *command.split())
    assert "lochan.hooks.gate" in found
    assert not found & {"yaml", "duckdb", "sqlglot", "lochan.engines.duckdb.session", "lochan.hooks.webhook"}


def test_a_command_that_used_obstore_leaves_before_python_is_taken_down() -> None:
    """Its threads abort the process otherwise, now and then; so nothing of Python's own ending may be seen."""
    settings = ("endpoint=http://127.0.0.1:1", "credentials.access_key_id=a", "credentials.access_secret_key=b")
    words = ["--lake", "s3://bucket", *(word for each in settings for word in ("-s", f"blockstore.s3.{each}")), "ls"]
    script = f"import lochan.connection; lochan.connection.RETRY_S = 0.0\n{SCRIPT}"
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
