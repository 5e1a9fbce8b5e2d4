"""The golden scripts, each light command in the companion: the same output on the same streams, and the same codes."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from lochan.cli.companion.front import LIGHT, verb_of
from tests.golden import play as golden
from tests.golden.script import parse, render
from tests.golden.test_cli_scripts import SCRIPTS
from tests.integration.companion.running import RunningCompanion, companion

# The commands of the scripts are those of one user, who is not the one of the tests.
_USER = f"""
import os, pwd
pwd.getpwuid = lambda uid: pwd.struct_passwd(({golden.USER!r}, "x", uid, os.getgid(), "", "/", "/bin/sh"))
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCompanion]:
    with companion(tmp_path_factory.mktemp("companion"), _USER) as found:
        yield found


# Those that read, write, fail and ask for more of a lake; the others are played in the long form.
_QUICK = ("branch", "checkout", "commit", "conflict", "diff", "fs", "fs_errors", "load", "log", "query", "workspace")


@pytest.mark.parametrize(
    "file",
    [pytest.param(file, id=file.stem, marks=[] if file.stem in _QUICK else pytest.mark.full) for file in SCRIPTS],
)
def test_script(file: Path, tmp_path: Path, running: RunningCompanion) -> None:
    expected = file.read_text()
    asked = 0

    def run(words: Sequence[str], stdin: bytes) -> tuple[str, str, int]:
        nonlocal asked
        if verb_of(list(words)) not in LIGHT:
            return golden.lochan(words, stdin)
        asked += 1
        done = running.run(*words, stdin=stdin, env={"HOME": str(tmp_path)}, cwd=Path.cwd())
        return done.stdout.decode(), done.stderr.decode(), done.returncode

    before = running.served()
    played = render(golden.play(parse(expected), tmp_path, f"file://{tmp_path.resolve()}/.lochan", {}, run))
    assert played == expected
    assert running.served() == before + asked
