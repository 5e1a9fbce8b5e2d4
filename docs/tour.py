"""`make run`: plays the README's tour on a fresh sample lake and prints what it did.

The commands are read from the README itself, so what is printed there is what runs here and in the tests.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "sample-lake"
_BLOCK = re.compile(r"<!-- tour -->\n```sh\n(.*?)```", re.DOTALL)


def commands(readme: Path = ROOT / "README.md") -> list[str]:
    """The lines of every block of the README that is marked as part of the tour."""
    lines = "\n".join(_BLOCK.findall(readme.read_text())).splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def play(folder: Path, *, show: bool) -> Iterator[tuple[str, subprocess.CompletedProcess[str]]]:
    """Run each command in `folder`, as a person would in a shell there."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCHAN_")}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    for command in commands():
        if show:
            print(f"\n$ {command}", flush=True)
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
        )
        if show:
            print((done.stdout + done.stderr).rstrip(), flush=True)
        yield command, done


def main() -> int:
    shutil.rmtree(SAMPLE, ignore_errors=True)
    SAMPLE.mkdir()
    print(f"The tour of README.md, played in {SAMPLE.relative_to(ROOT)}/")
    for command, done in play(SAMPLE, show=True):
        if done.returncode:
            print(f"\n{command!r} failed with exit code {done.returncode}")
            return 1
    lochan = shlex.quote(str(Path(sys.executable).parent.relative_to(ROOT) / "lochan"))
    print(f"""
The sample lake is in {SAMPLE.relative_to(ROOT)}/.lochan. Three things to try:
  {lochan} --lake sample-lake/.lochan events --follow
  {lochan} --lake sample-lake/.lochan repo create my-repo
  {lochan} --lake sample-lake/.lochan doctor""")
    return 0


if __name__ == "__main__":
    sys.exit(main())
