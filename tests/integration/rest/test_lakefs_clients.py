"""Programs written for lakeFS, with its published packages, work against a served lake as they are."""

import subprocess
from pathlib import Path

from tests.servers.client_env import program
from tests.servers.lochan import LochanServer

SCRIPT = Path(__file__).with_name("run_lakefs.py")


def test_python_packages(server: LochanServer, tmp_path: Path) -> None:
    arguments = [f"http://{server.api}", server.access_key, server.secret_key, str(tmp_path)]
    done = subprocess.run([program("lakefs"), SCRIPT, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3_000:]
    assert done.stdout == "done\n"
