"""The command as a whole: its verbs, its help, its global options, and its errors."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from lochan import __version__, errors
from lochan.cli import exit_codes
from lochan.cli.error_boundary import error_boundary
from lochan.cli.root import VERBS, cli
from tests.unit.cli.commands_in_text import parse
from tests.unit.cli.invoke import docs, lochan, verbs

GROUPS = [
    name
    for name in cli.list_commands(click.Context(cli))
    if isinstance(cli.get_command(click.Context(cli), name), click.Group)
]


def test_version() -> None:
    assert lochan("--version").output == f"lochan {__version__}\n"


@pytest.mark.parametrize(
    "words",
    [(), *((group,) for group in GROUPS), *(words for words, _ in verbs())],
    ids=" ".join,
)
def test_every_verb_has_help(words: tuple[str, ...]) -> None:
    for flag in ("--help", "-h"):
        result = lochan(*words, flag)
        assert result.exit_code == 0
        assert result.output.startswith(f"Usage: {' '.join(('lochan', *words))}")


@pytest.mark.parametrize("words, verb", [pytest.param(words, verb, id=" ".join(words)) for words, verb in verbs()])
def test_every_verb_shows_an_example(words: tuple[str, ...], verb: click.Command) -> None:
    """The parser accepts it."""
    message = lochan(*words, "--help").output
    lines = re.findall(r"^ +(lochan .*)|\$\((lochan [^)]*)\)", message, re.MULTILINE)
    examples = [re.sub(r" [<>] [^'\s]+$", "", whole or inner) for whole, inner in lines]
    assert examples, message
    for example in examples:
        assert parse(example).command is verb


def test_every_verb_is_summed_up_in_a_line() -> None:
    for group in ((), *((name,) for name in GROUPS)):
        message = lochan(*group, "--help").output
        _, _, listed = message.partition("-h, --help")
        listed = listed.partition("\n\n")[2]
        assert "..." not in listed
        for line in listed.splitlines():
            assert not line.startswith("     "), (group, line)  # it goes on with what was begun above


def test_the_help_has_every_verb_once_and_by_what_it_is_for() -> None:
    message = lochan("--help").output
    titles = re.findall(r"^(\w[\w ]*):$", message, re.MULTILINE)
    assert titles[1:] == list(VERBS)
    for verb in cli.list_commands(click.Context(cli)):
        assert len(re.findall(rf"^  {verb}\s", message, re.MULTILINE)) == 1, verb


def test_every_verb_prints_json() -> None:
    other = {("completion",), ("fs", "cat"), ("serve",), ("mcp",)}  # a script, bytes, and what never ends
    without = {words for words, verb in verbs() if not any("--format" in option.opts for option in verb.params)}
    assert without == other


def test_help_is_a_verb_too() -> None:
    assert lochan("help").output == lochan("--help").output
    assert lochan("help", "fs", "ls").output == lochan("fs", "ls", "--help").output


def test_a_verb_that_is_not_there() -> None:
    result = lochan("conifg", "show")
    assert result.exit_code == exit_codes.USAGE
    assert "There is no verb 'conifg'. Did you mean 'config'?" in result.stderr


def test_global_options_stand_before_or_after_the_verb(tmp_path: Path) -> None:
    (tmp_path / "l.yaml").write_text("user: ada\n")
    before = lochan("--config", f"{tmp_path}/l.yaml", "--lake", "/x", "-s", "cache.size=1GB", "-v", "config", "show")
    after = lochan("config", "show", "--config", f"{tmp_path}/l.yaml", "--lake", "/x", "-s", "cache.size=1GB", "-v")
    between = lochan("config", "--config", f"{tmp_path}/l.yaml", "-v", "--lake", "/x", "show", "-s", "cache.size=1GB")
    assert before.exit_code == 0
    assert before.output == after.output == between.output
    assert "--lake" in before.output


def test_settings_from_several_places_add_up() -> None:
    result = lochan("-s", "user=ada", "config", "show", "-s", "api.listen=h:1")
    assert "ada" in result.output
    assert "h:1" in result.output


def test_every_kind_of_error_has_an_exit_code() -> None:
    kinds, todo = set(), [errors.LochanError]
    while todo:
        kind = todo.pop()
        kinds.add(kind.kind)
        todo += kind.__subclasses__()
    assert kinds == set(exit_codes.BY_KIND)


def run_raising(error: BaseException) -> click.testing.Result:
    @click.command()
    @click.pass_context
    def failing(ctx: click.Context) -> None:
        with error_boundary(ctx):
            raise error

    return click.testing.CliRunner().invoke(failing, catch_exceptions=False)


@pytest.mark.parametrize(
    "error, code, message",
    [
        pytest.param(errors.NotFound("no x", hint="make x"), 3, "lochan: no x\n  make x\n", id="with a hint"),
        pytest.param(errors.Refused("no"), 5, "lochan: no\n", id="without a hint"),
        pytest.param(errors.Invalid("bad \x1b[31mname"), 6, "lochan: bad \\x1b[31mname\n", id="escapes are shown"),
        pytest.param(
            ExceptionGroup("tasks", [ExceptionGroup("more", [errors.Corrupt("bytes")])]),
            8,
            "lochan: bytes\n",
            id="tasks",
        ),
        pytest.param(
            ExceptionGroup("tasks", [FileExistsError(errno.EEXIST, "File exists", "/x")]),
            1,
            "lochan: /x: File exists\n",
            id="tasks that use files",
        ),
        pytest.param(KeyboardInterrupt(), 130, "", id="interrupted"),
        pytest.param(click.Abort(), 130, "", id="interrupted while asking"),
        pytest.param(
            PermissionError(errno.EACCES, "Permission denied", "/x"),
            5,
            "lochan: /x: Permission denied\n",
            id="permission",
        ),
        pytest.param(OSError(errno.ENOSPC, "No space left on device"), 9, "lochan: No space left", id="disk full"),
        pytest.param(OSError(errno.EIO, "Input/output error", "/x"), 1, "lochan: /x: Input/output error\n", id="other"),
    ],
)
def test_an_error_becomes_a_line_and_a_code(error: BaseException, code: int, message: str) -> None:
    result = run_raising(error)
    assert result.exit_code == code
    assert result.stderr.startswith(message)
    assert result.stdout == ""


@pytest.mark.parametrize("error", [KeyError("bug"), ExceptionGroup("tasks", [ValueError("bug")])])
def test_a_bug_shows_itself(error: Exception) -> None:
    with pytest.raises(type(error)):
        run_raising(error)


def test_a_reader_that_leaves_causes_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", "from lochan.cli.main import main; main()", "config", "show"]
    ran = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert ran.returncode == exit_codes.BROKEN_PIPE
    assert ran.stderr == b""


def test_the_page_has_every_verb_option_and_code() -> None:
    page = docs("cli.md")
    for words, verb in verbs():
        assert f"## `lochan {' '.join(words)}" in page, words
        section = page.partition(f"## `lochan {' '.join(words)}")[2].partition("\n## ")[0]
        for option in (each for each in verb.params if isinstance(each, click.Option) and not each.hidden):
            assert f"`{option.opts[-1]}" in section, (words, option.opts)
    codes = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    for code in codes:
        assert f"\n| {code} |" in page, code
    for kind in exit_codes.BY_KIND:
        assert f"`{kind}`" in page, kind
