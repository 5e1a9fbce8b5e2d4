"""The README's tour works as printed, and the server serves the lake that it made."""

import subprocess
import sys
from pathlib import Path

from docs.tour import ROOT, commands
from tests.servers.lochan import free_ports

ANSWERS = {
    "lochan fs cat demo-repo@main~3/data/fruit.csv": "1,apple",
    "lochan query 'from logs | status >= 500 | cut ts, host, user.id'": (
        '{"ts":"2026-11-01T10:01:00Z","host":"web-2","user":{"id":7}}\n'
    ),
    "lochan query 'from logs@main~1 | count()'": '{"count":3}\n',
    """lochan delete logs --where 'status == "n/a"'""": "deleted 1 row",
}


def test_the_tour_is_played_and_its_lake_served_as_told(tmp_path: Path) -> None:
    """`make run`: every command works, the printed keys work at the printed address, and it stops when asked to."""
    assert len(commands()) >= 6
    s3, api = (f"127.0.0.1:{port}" for port in free_ports(2))
    command = [sys.executable, "-m", "docs.tour", "--folder", str(tmp_path / "sample")]
    with subprocess.Popen(
        [*command, "--s3-listen", s3, "--api-listen", api], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        printed = ""
        for line in run.stdout:
            printed += line
            if line.startswith("3. "):
                break
        program = printed.partition("<<END\n")[2].partition("END\n")[0]
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert "main/data/new.csv" in done.stdout
        run.terminate()
        run.stdout.read()
    assert run.returncode == 0
    assert (tmp_path / "sample" / ".lochan" / "lake.json").is_file()
    for said, answer in ANSWERS.items():
        assert answer in printed.partition(f"\n$ {said}\n")[2].partition("\n$ ")[0], said
