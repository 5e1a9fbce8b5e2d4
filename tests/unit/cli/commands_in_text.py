"""Finds the commands that a text tells its reader to run: `lochan …` in back-quotes, parsed by the real parser."""

import re
import shlex

import click

from lochan.cli.root import cli

_COMMAND = re.compile("`(lochan [^`]*)`")


def commands(text: str) -> list[str]:
    return _COMMAND.findall(text)


def parse(command: str) -> click.Context:
    """Parses without running anything. Raises click.UsageError if the command line would not accept it."""
    words = [word for word in shlex.split(command)[1:] if word != "--help"]  # which would print it and leave
    if len(words) < len(shlex.split(command)) - 1:
        return _verb(words)
    ctx = cli.make_context("lochan", words)
    while isinstance(ctx.command, click.Group):
        group, rest = ctx.command, [*ctx._protected_args, *ctx.args]
        if not rest:
            if not group.invoke_without_command:
                raise click.UsageError(f"{command}: the verb is missing")
            return ctx
        name, found, rest = group.resolve_command(ctx, rest)
        assert found is not None
        ctx = found.make_context(name, rest, parent=ctx)
    return ctx


def _verb(words: list[str]) -> click.Context:
    ctx = click.Context(cli)
    for word in words:
        assert isinstance(ctx.command, click.Group)
        found = ctx.command.get_command(ctx, word)
        if found is None:
            raise click.UsageError(f"there is no {' '.join(words)}")
        ctx = click.Context(found, parent=ctx)
    return ctx


def options_of(command: str) -> set[str]:
    """Every option that the command takes."""
    return {name for each in parse(command).command.params for name in (*each.opts, *each.secondary_opts)} | {"--help"}
