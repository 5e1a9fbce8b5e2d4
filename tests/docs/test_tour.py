"""The README's tour works as printed."""

import subprocess
import sys
from pathlib import Path

from docs.tour import ROOT, commands, play
from tests.servers.lochan import free_ports


def test_the_tour_of_the_readme(tmp_path: Path) -> None:
    assert len(commands()) >= 6
    for command, done in play(tmp_path, show=False):
        assert done.returncode == 0, f"{command}: {done.stderr}"
    assert (tmp_path / ".lochan" / "lake.json").is_file()


def test_the_sample_is_served_as_told(tmp_path: Path) -> None:
    """What `make run` starts: the printed keys work at the printed address, and it stops when told to."""
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
