"""Completion with the tab key: what a real bash shows, and what other shells get."""

import os
import pty
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.unit.cli.invoke import lochan

PATIENCE_S = 90.0
_READY = b"<ready>"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("completed") / "lake"
    for words in ("repo create demo-files", "create logs --key ts", "auth users create ada"):
        if not place.exists():
            assert lochan("init", str(place)).exit_code == 0
        assert lochan("--lake", str(place), *words.split()).exit_code == 0
    for path in ("data/my file.csv", "data/fruit.csv"):
        assert lochan("--lake", str(place), "fs", "upload", "-", f"demo-files/{path}", stdin="x").exit_code == 0
    for words in ("commit demo-files -m x", "branch create demo-files@develop", "tag create demo-files@v1.0"):
        assert lochan("--lake", str(place), *words.split()).exit_code == 0
    return place


@pytest.fixture(scope="module")
def bash(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Bash]":
    """One for all of them: a folder on its path has `lochan`, as this interpreter runs it."""
    home = tmp_path_factory.mktemp("bash")
    program = home / "lochan"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from lochan.cli.main import main; main()' \"$@\"\n")
    program.chmod(0o755)
    with _bash(home, lake) as started:
        yield started


class Bash:
    def __init__(self, terminal: int) -> None:
        self._terminal = terminal

    def completed(self, line: str) -> str:
        """The line after the tab key: bash goes to its beginning, makes it an argument, and prints that. It reads those
        keys only when the completion is there."""
        os.write(self._terminal, line.encode() + b"\t")
        os.write(self._terminal, b"\x01printf '<%s>' '\x05'; printf '%s' '<read''y>'\n")
        output = self._read_until(_READY)
        return output.rpartition(b"\n<")[2].partition(b">")[0].decode()

    def run(self, line: str) -> None:
        os.write(self._terminal, f"{line}; printf '%s' '<read''y>'\n".encode())
        self._read_until(_READY)

    def _read_until(self, end: bytes) -> bytes:
        read, stop = b"", time.monotonic() + PATIENCE_S
        while end not in read:
            assert time.monotonic() < stop, read
            read += os.read(self._terminal, 4096)
        return read


@contextmanager
def _bash(home: Path, lake: Path) -> Iterator[Bash]:
    ours, theirs = pty.openpty()
    kept = {
        key: value
        for key, value in os.environ.items()
        if key == "LOCHAN_COMPANION" or not key.startswith(("LOCHAN_", "BASH"))
    }
    process = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=home,
        env={
            **kept,
            "HOME": str(home),
            "PATH": f"{home}:{os.environ['PATH']}",
            "TERM": "dumb",
            "LOCHAN_LAKE": str(lake),
        },
        start_new_session=True,
    )
    os.close(theirs)
    try:
        started = Bash(ours)
        started.run("bind 'set bell-style none'; bind 'set enable-bracketed-paste off'; stty cols 500")
        started.run('eval "$(lochan completion bash)"')
        yield started
    finally:
        process.kill()
        process.wait()
        os.close(ours)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "typed, line",
    [
        pytest.param("lochan cherry", "lochan cherry-pick ", id="a verb"),
        pytest.param("lochan log --one", "lochan log --oneline ", id="an option"),
        pytest.param("lochan log de", "lochan log demo-files", id="a repository, behind which more may come"),
        pytest.param("lochan repo show de", "lochan repo show demo-files ", id="a repository alone"),
        pytest.param("lochan compact l", "lochan compact logs", id="a pool"),
        pytest.param("lochan compact d", "lochan compact d", id="what is no pool"),
        pytest.param("lochan log demo-files@de", "lochan log demo-files@develop ", id="a branch"),
        pytest.param("lochan log demo-files@v", "lochan log demo-files@v1.0 ", id="a tag"),
        pytest.param("lochan revert demo-files dev", "lochan revert demo-files develop ", id="a ref of what was named"),
        pytest.param("lochan fs cat demo-files@main/da", "lochan fs cat demo-files@main/data/", id="a folder"),
        pytest.param("lochan fs cat demo-files/data/f", "lochan fs cat demo-files/data/fruit.csv ", id="a path"),
        pytest.param(
            "lochan fs cat demo-files/data/m", "lochan fs cat demo-files/data/my\\ file.csv ", id="a path to be quoted"
        ),
        pytest.param("lochan auth users show a", "lochan auth users show ada ", id="a user"),
        pytest.param("lochan auth attach ada Ad", "lochan auth attach ada Admin ", id="a policy"),
        pytest.param("lochan ls --set logging.le", "lochan ls --set logging.level=", id="a setting"),
        pytest.param("lochan --lake /nowhere log de", "lochan --lake /nowhere log de", id="where there is no lake"),
        pytest.param("lochan log none@ma", "lochan log none@ma", id="where there is no repository"),
    ],
)
def test_bash_completes(bash: Bash, typed: str, line: str) -> None:
    assert bash.completed(typed) == line


@pytest.mark.thorough
def test_bash_completes_in_the_lake_that_is_named(bash: Bash, lake: Path) -> None:
    bash.run("export LOCHAN_LAKE=/nowhere")
    assert bash.completed(f"lochan --lake {lake} log demo-files@de") == f"lochan --lake {lake} log demo-files@develop "
    assert bash.completed(f"lochan log --lake {lake} demo-files@de") == f"lochan log --lake {lake} demo-files@develop "
    bash.run(f"export LOCHAN_LAKE={lake}")


@pytest.mark.thorough
def test_bash_completes_what_is_in_the_repository_named_or_in_use(bash: Bash) -> None:
    bash.run("lochan branch create logs@nightly >/dev/null")
    assert bash.completed("lochan compact logs --up-to ni") == "lochan compact logs --up-to nightly "
    assert bash.completed("lochan log --prefix data/fr") == "lochan log --prefix data/fr"
    bash.run("lochan use demo-files >/dev/null")
    assert bash.completed("lochan log --prefix data/fr") == "lochan log --prefix data/fruit.csv "


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_are_answered(shell: str, lake: Path) -> None:
    env = {"_LOCHAN_COMPLETE": f"{shell}_complete", "LOCHAN_LAKE": str(lake)}
    env |= {"COMP_WORDS": "lochan log demo-files@de", "COMP_CWORD": "2" if shell == "zsh" else "demo-files@de"}
    answered = lochan(env=env)
    assert answered.exit_code == 0
    assert "demo-files@develop" in answered.stdout
    assert answered.stderr == ""


@pytest.mark.thorough
def test_a_store_that_does_not_answer_gives_the_keyboard_back() -> None:
    """The store accepts the connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = f"http://127.0.0.1:{server.getsockname()[1]}"
        settings = {"ENDPOINT": endpoint, "CREDENTIALS__ACCESS_KEY_ID": "a", "CREDENTIALS__ACCESS_SECRET_KEY": "b"}
        env = {f"LOCHAN_BLOCKSTORE__S3__{name}": value for name, value in settings.items()}
        line = "lochan --lake s3://bucket log d"
        env |= {"_LOCHAN_COMPLETE": "bash_complete", "COMP_LINE": line, "COMP_POINT": str(len(line))}
        ran = subprocess.run(
            [sys.executable, "-c", "from lochan.cli.main import main; main()"],
            env={**os.environ, **env},
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(shell: str) -> None:
    """Errors do not show on the line, and words can be continued."""
    script = lochan("completion", shell).stdout
    assert "_LOCHAN_COMPLETE" in script
    assert "2>/dev/null" in script
    assert "part" in script
