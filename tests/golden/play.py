"""Plays a golden script with the real command line, in this process, in its own folder."""

from __future__ import annotations

import os
import pwd
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from types import MappingProxyType
from unittest import mock

from click.testing import CliRunner

from lochan import __version__
from lochan.cli.root import cli
from tests.golden.placeholders import Placeholders
from tests.golden.script import Script, Step, output_lines

USER = "ann"  # the user of the scripts, independent of the user of the tests


Run = Callable[[Sequence[str], bytes], tuple[str, str, int]]
Made = Callable[[], Mapping[str, str]]


def play(
    script: Script,
    folder: Path,
    lake: str,
    env: Mapping[str, str],
    run: Run | None = None,
    made: Made | None = None,
) -> Script:
    """The same script with what its commands print now. `lake` is the URL of the lake that `lochan init` makes. `run`
    runs the commands in another way than in this process. When the lake is there, `made` is called, and gives what else
    the environment has from then on."""
    folder = folder.resolve()
    words = Placeholders(
        {
            lake: "<lake>",
            lake.removeprefix("file://"): "<lake>",
            str(folder): "<folder>",
            f'"source": "{os.uname().nodename}"': '"source": "<host>"',
            f"lochan {__version__}": "lochan <version>",
            f"lochan-cli/{__version__}": "lochan-cli/<version>",
        }
    )
    parts: list[str | Step] = []
    with alone(folder, env):
        for part in script.parts:
            parts.append(part if isinstance(part, str) else _run(part, words, run or lochan))
            if made is not None and isinstance(part, Step) and part.command == "lochan init":
                os.environ |= made()
    return Script(parts)


def _run(step: Step, words: Placeholders, run: Run) -> Step:
    try:
        stdout, stderr, code = _output(shlex.split(words.fill(step.command)), step.given, run)
        printed = output_lines(words.hide(stdout), words.hide(stderr), code)
    except ValueError as error:
        raise ValueError(f"line {step.line}: {error}") from error
    return Step(step.command, step.line, step.given, printed)


def _output(command: list[str], given: list[str], run: Run) -> tuple[str, str, int]:
    """The output of a command, on stdout and stderr, and its exit code."""
    match command:
        case ["write", file]:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text("".join(f"{line}\n" for line in given))
            return "", "", 0
        case ["cat", file]:
            return Path(file).read_text(), "", 0
        case ["ls", place]:
            files = [each for each in Path(place).rglob("*") if each.is_file()]
            return "".join(f"{file.relative_to(place)}\n" for file in sorted(files)), "", 0
        case ["cd", place]:
            os.chdir(place)
            return "", "", 0
        case ["lochan", *words, "<", file]:
            return run(words, Path(file).read_bytes())
        case ["lochan", *words]:
            return run(words, b"")
    raise ValueError(f"a script knows lochan, write, cat, ls and cd, not {shlex.join(command)}")


def lochan(words: Sequence[str], stdin: bytes = b"") -> tuple[str, str, int]:
    """stdout, stderr and exit code."""
    result = CliRunner().invoke(cli, words, input=stdin, prog_name="lochan", catch_exceptions=False)
    return result.stdout, result.stderr, result.exit_code


@contextmanager
def alone(folder: Path, env: Mapping[str, str] = MappingProxyType({})) -> Iterator[None]:
    """Isolates a script from the machine: its configuration and its user."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("LOCHAN_", "AWS_", "XDG_"))}
    ours |= {"HOME": str(folder), "COLUMNS": "100", "TZ": "UTC", **env}
    someone = pwd.struct_passwd((USER, "x", os.getuid(), os.getgid(), "", str(folder), "/bin/sh"))
    with (
        mock.patch.dict(os.environ, ours, clear=True),
        mock.patch.object(pwd, "getpwuid", lambda uid: someone),
        chdir(folder),
    ):
        yield
