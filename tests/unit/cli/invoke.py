"""Runs the command in this process, as a script would."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from click.testing import CliRunner, Result

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.root import cli


def lochan(*args: str, env: Mapping[str, str] | None = None, stdin: str | None = None) -> Result:
    """Exceptions that did not become an exit code are raised."""
    return CliRunner().invoke(cli, args, env=env, input=stdin, prog_name="lochan", catch_exceptions=False)


def verbs(group: LazyGroup = cli, prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every verb with the words that call it, groups left out."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, LazyGroup):
            yield from verbs(command, (*prefix, name))
        else:
            yield (*prefix, name), command


def docs(name: str) -> str:
    return (Path(__file__).parents[3] / "docs" / "operations" / name).read_text(encoding="utf-8")
