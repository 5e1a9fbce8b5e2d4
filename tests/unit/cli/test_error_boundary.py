"""Errors become one line and an exit code."""

import click
import pytest
from click.testing import CliRunner

from lochan.cli import exit_codes
from lochan.cli.error_boundary import error_boundary
from lochan.query.syntax.parse import parse


def test_a_wrong_query_is_shown_with_its_place() -> None:
    @click.command()
    @click.pass_context
    def verb(ctx: click.Context) -> None:
        with error_boundary(ctx):
            parse("from logs |\n\x1b srot ts")

    done = CliRunner().invoke(verb)
    assert done.exit_code == exit_codes.INVALID
    assert done.stderr.splitlines()[0].startswith("lochan: unexpected '\\x1b'")
    assert done.stderr.splitlines()[1:] == ["    srot ts", "  ^"]


@pytest.mark.parametrize("text", ["from logs | srot ts", "from a | head 5 | srot ts"])
def test_carets_stand_under_the_place(text: str) -> None:
    @click.command()
    @click.pass_context
    def verb(ctx: click.Context) -> None:
        with error_boundary(ctx):
            parse(text)

    _, line, carets, hint = CliRunner().invoke(verb).stderr.splitlines()
    assert line[carets.index("^") : len(carets)] == "srot"
    assert hint == "  to look for the word: search srot"
