"""What the user sees, and what a name can do to it: nothing."""

import json
import sys

import click
import pytest
from click.testing import CliRunner

from lochan.cli import shown

NASTY = "a\x1b[31m\n\x9b\u202eb\udcffc[bold]"


def printed(*args: object, **kwargs: object) -> str:
    @click.command()
    def show() -> None:
        shown.show_records(*args, **kwargs)  # type: ignore[arg-type]

    return CliRunner().invoke(show, catch_exceptions=False).stdout


def test_a_table_in_a_pipe_is_aligned() -> None:
    records = [{"name": "a", "size": 10, "more": 1}, {"name": "long", "size": None, "more": 2}]
    assert printed(records, "table", columns=("name", "size")) == "NAME  SIZE\na     10\nlong\n"


def test_a_table_without_rows_still_has_its_titles() -> None:
    assert printed([], "table", columns=("name", "size")) == "NAME  SIZE\n"


def test_json_is_one_document_with_every_field() -> None:
    records = [{"name": "é", "notes": {"k": 1}}]
    assert json.loads(printed(records, "json", columns=("name",))) == records


def test_names_command_nothing() -> None:
    text = printed([{"name": NASTY}], "table", columns=("name",))
    assert text == "NAME\na\\x1b[31m\\x0a\\x9b\\u202eb\\udcffc[bold]\n"
    text = printed([{"name": NASTY}], "json", columns=("name",))
    assert json.loads(text) == [{"name": NASTY}]
    assert not shown._COMMANDING.search(text.replace("\n", ""))


def test_a_terminal_gets_a_rich_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    shown.show_records([{"name": NASTY}], "table", columns=("name",))
    assert "\\x1b[31m\\x0a\\x9b\\u202eb\\udcffc[bold]" in capsys.readouterr().out


def test_a_record_is_shown_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    shown.show_record({"name": "a", "metadata": {"k": "v", "w": {"x": 2}}, "none": None, "flag": True}, "table")
    assert capsys.readouterr().out == "name      a\nmetadata  k=v w={x=2}\nnone\nflag      yes\n"


def test_a_line_of_a_stream(capsys: pytest.CaptureFixture[str]) -> None:
    shown.show_line({"name": NASTY})
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert json.loads(out) == {"name": NASTY}


@pytest.mark.parametrize(
    "microseconds, text",
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (1_700_000_000_000_001, "2023-11-14T22:13:20.000001Z"),
        (10**19, f"{10**19}us"),
    ],
)
def test_an_instant(microseconds: int, text: str) -> None:
    assert shown.instant(microseconds) == text


@pytest.mark.parametrize(
    "size, text", [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (10**12, "1.0 TB"), (10**18, "1000.0 PB")]
)
def test_a_size(size: int, text: str) -> None:
    assert shown.size(size) == text


def test_on_a_terminal_what_differs_has_a_colour(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown.echo_table(["KIND", "PATH"], [["added", "added"], ["removed", "x"]])
    out = capsys.readouterr().out
    assert out.count("\x1b[32madded") == 1
    assert out.count("added") == 2
    assert "\x1b[31mremoved\x1b[0m" in out
