"""Golden scripts themselves: how they are read and written, what placeholders stand for, and that no verb lacks one."""

from pathlib import Path

import click
import pytest

from lochan.cli.root import cli
from tests.golden.placeholders import Placeholders
from tests.golden.play import play
from tests.golden.script import Step, output_lines, parse, render

SCRIPTS = sorted((Path(__file__).parent / "cli").glob("*.txt"))
TEXT = """\
What it shows.

More of it.

  $ write a.txt
  > one
  >
  $ lochan fs cat demo/a.txt
  one

  two
  ! lochan: no more
  !
  [3]
  $ lochan init

Prose again.
"""
COMMIT, OTHER = "0123456789abcdef" * 4, "fedcba9876543210" * 4

# Verbs without a script, and why.
NOT_PLAYED = {
    "companion start": "leaves a process behind; tests/integration/companion tries these",
    "companion status": "prints processes of this machine",
    "companion stop": "ends processes of this machine",
    "completion": "prints click's own script for a shell",
    "doctor": "prints the versions and disks of the machine",
    "fs address": "prints a signed token; tests/integration/test_cli_objects.py tries it",
    "ingest stream": "needs Spark",
    "login": "needs a server; tests/integration/test_cli_login.py tries it",
    "logout": "needs a server; tests/integration/test_cli_login.py tries it",
    "serve": "goes on until it is stopped",
    "mcp": "is spoken to by programs; tests/integration/rest/test_mcp.py does",
}


def test_a_script_is_read_and_written_back() -> None:
    script = parse(TEXT)
    assert [step.command for step in script.steps] == ["write a.txt", "lochan fs cat demo/a.txt", "lochan init"]
    assert script.steps[0] == Step("write a.txt", 5, ["one", ""], [])
    assert script.steps[1].printed == ["one", "", "two", "! lochan: no more", "!", "[3]"]
    assert render(script) == TEXT


def test_blank_lines_come_into_order() -> None:
    assert render(parse("Prose.\n  $ lochan init\n\n\n  $ lochan ls\nMore.\n\n\n")) == (
        "Prose.\n\n  $ lochan init\n  $ lochan ls\n\nMore.\n"
    )


def test_output_without_a_command_is_refused() -> None:
    with pytest.raises(ValueError, match="line 3: the output of no command"):
        parse("Prose.\n\n  made a lake\n")


def test_output_is_shown_with_its_stream_and_its_exit_code() -> None:
    assert output_lines("a\n\nb\n\n", "c\n\nd\n", 4) == ["a", "", "b", "", "! c", "!", "! d", "[4]"]
    assert output_lines("a", "", 0) == ["a<no newline>"]
    with pytest.raises(ValueError, match="looks like one of the script's own"):
        output_lines("$ lochan ls\n", "", 0)


def test_an_id_has_one_placeholder_whole_or_shortened() -> None:
    words = Placeholders({"/tmp/here": "<folder>"})
    assert words.hide(f"committed {COMMIT[:12]}: first") == "committed <commit:1…>: first"
    assert words.hide(f'"{OTHER}" then "{COMMIT}" in /tmp/here') == '"<commit:2>" then "<commit:1>" in <folder>'
    assert words.fill("lochan log demo@<commit:1> <folder>/a") == f"lochan log demo@{COMMIT} /tmp/here/a"
    with pytest.raises(ValueError, match="no commit 3 has been printed"):
        words.fill("lochan log demo@<commit:3>")


@pytest.mark.parametrize(
    "text, hidden",
    [
        ("at 2026-11-16T15:05:07.772522Z by", "at <time> by"),
        ("2026-11-16T15:05:07.772522Z  ann", "<time>                       ann"),
        ("2026-11-16T15:05:07.000000Z", "2026-11-16T15:05:07.000000Z"),
        ("main+12-5ef34bd0/a", "main+<workspace:1>/a"),
        ("key LKIA6FQGIWBAAHDK25PJ", "key <access-key:1>"),
        ("lDoOLCf0mEPSt2h1eyThqbRLtEBC6qZfhxDVe3UE", "<secret:1>"),
        ("3MC52gxNSGq9QHN6WacYMcZxp57/data", "<id:1>/data"),
        (f'"tree": "{COMMIT}"', '"tree": "<tree:1>"'),
        (f'"sha256": "{COMMIT}"', f'"sha256": "{COMMIT}"'),
        ("764efa883dda1e11db47671c4a3bbd9e", "764efa883dda1e11db47671c4a3bbd9e"),
        ("committed 123456789012: all digits", "committed <commit:1…>: all digits"),
        ("ABCDEFGHIJabcdefghijABCDEFGHIJabcdefghij", "<secret:1>"),
        ("1 object, 560 B, commit", "1 object, <size>, commit"),
        ("0.331 s", "<seconds> s"),
    ],
)
def test_what_varies_is_hidden_and_the_rest_is_not(text: str, hidden: str) -> None:
    assert Placeholders({}).hide(text) == hidden


def test_a_script_fails_where_the_output_is_another(tmp_path: Path) -> None:
    text = "Prose.\n\n  $ lochan init\n  made a lake at <lake>\n  $ lochan ls nothing\n"
    played = render(play(parse(text), tmp_path, f"file://{tmp_path.resolve()}/.lochan", {}))
    assert played != text
    assert played.startswith(text)
    assert played.endswith("  [3]\n")


def test_only_a_few_commands_besides_lochan_are_known(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="line 3: a script knows lochan, write, cat, ls and cd, not rm -r /"):
        play(parse("Prose.\n\n  $ rm -r /\n"), tmp_path, "file:///nowhere", {})


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: file.stem)
def test_a_script_begins_with_what_it_shows(file: Path) -> None:
    first = parse(file.read_text()).parts[0]
    assert isinstance(first, str)
    assert first.endswith(".")


def test_every_verb_has_a_script() -> None:
    commands = [step.command.split() for file in SCRIPTS for step in parse(file.read_text()).steps]
    played = {tuple(words[1:at]) for words in commands for at in range(2, 5)}
    missing = {" ".join(verb) for verb in _verbs(cli, click.Context(cli), ()) if verb not in played}
    assert missing == set(NOT_PLAYED)


def _verbs(command: click.Command, context: click.Context, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    if not isinstance(command, click.Group):
        return [path]
    found = []
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        found += _verbs(below, click.Context(below, parent=context), (*path, name))
    return found
