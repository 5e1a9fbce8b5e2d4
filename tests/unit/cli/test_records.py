"""Output for the user, which no name can break."""

import json
import sys

import click
import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from lochan.cli.output import records
from lochan.cli.output.terminal_table import fit_widths

NASTY = "a\x1b[31m\n\x9b\u202eb\udcffc[bold]"


def printed(*args: object, **kwargs: object) -> str:
    @click.command()
    def show() -> None:
        records.show_records(*args, **kwargs)  # type: ignore[arg-type]

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
    assert not records._COMMANDING.search(text.replace("\n", ""))


def test_a_terminal_gets_a_rich_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    records.show_records([{"name": NASTY}], "table", columns=("name",))
    assert "\\x1b[31m\\x0a\\x9b\\u202eb\\udcffc[bold]" in capsys.readouterr().out


def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets a terminal of 60 columns."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "60")


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 8, 20, 70])
@pytest.mark.parametrize(
    "letters",
    [
        pytest.param("abcdefghij" * 4, id="a long word"),
        pytest.param("short", id="a short word"),
        pytest.param("ever so many words that wrap", id="words"),
        pytest.param("\u5bbd" * 30, id="wide letters"),
    ],
)
def test_no_line_is_wider_than_the_terminal(
    columns: int, letters: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is left out: every cell is there, in pieces."""
    narrow(monkeypatch)
    rows = [{f"column_{at}": f"{row}.{at}{letters}" for at in range(columns)} for row in range(2)]
    records.show_records(rows, "table", columns=list(rows[0]))
    out = capsys.readouterr().out
    assert max(map(cell_len, out.splitlines())) <= 60
    for letter in set(letters) - {" "}:
        assert out.count(letter) >= 2 * columns * letters.count(letter), letter


def test_a_record_is_no_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    narrow(monkeypatch)
    records.show_record({"name": "a", "message": "many words " * 20}, "table")
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 60
    assert out.count("words") == 20
    assert all(line.startswith(("name", "message", "         ")) for line in out.splitlines())


def test_a_title_is_not_markup(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    narrow(monkeypatch)
    records.echo_table(["[/bold]", "[red]x"], [["1", "2"]])
    assert capsys.readouterr().out.split() == ["[/bold]", "[red]x", "1", "2"]


@pytest.mark.parametrize(
    "natural, prose, widths",
    [
        pytest.param([4, 5], [], [4, 5], id="all fits"),
        pytest.param([4, 100], [], [4, 54], id="the widest gives way"),
        pytest.param([40, 100], [], [29, 29], id="both do"),
        pytest.param([12, 27, 4, 50], [3], [12, 27, 4, 11], id="words give way before ids and times"),
        pytest.param([12, 27, 12, 50], [3], [12, 22, 12, 8], id="but not to nothing"),
        pytest.param([9] * 6, [], [8, 8, 8, 8, 9, 9], id="by as little as is needed"),
        pytest.param([9] * 7, [], None, id="too many"),
    ],
)
def test_columns_are_fitted(natural: list[int], prose: list[int], widths: list[int] | None) -> None:
    assert fit_widths(natural, [at in prose for at in range(len(natural))], 60) == widths


def test_a_record_is_shown_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    records.show_record({"name": "a", "metadata": {"k": "v", "w": {"x": 2}}, "none": None, "flag": True}, "table")
    assert capsys.readouterr().out == "name      a\nmetadata  k=v w={x=2}\nnone\nflag      yes\n"


def test_a_line_of_a_stream(capsys: pytest.CaptureFixture[str]) -> None:
    records.show_line({"name": NASTY})
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
    assert records.instant(microseconds) == text


@pytest.mark.parametrize(
    "size, text", [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (10**12, "1.0 TB"), (10**18, "1000.0 PB")]
)
def test_a_size(size: int, text: str) -> None:
    assert records.size(size) == text


def test_on_a_terminal_what_differs_has_a_colour(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    records.echo_table(["KIND", "PATH"], [["added", "added"], ["removed", "x"]])
    out = capsys.readouterr().out
    assert out.count("\x1b[32madded") == 1
    assert out.count("added") == 2
    assert "\x1b[31mremoved\x1b[0m" in out
