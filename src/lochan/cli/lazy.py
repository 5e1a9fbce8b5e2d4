"""A click group whose verbs are imported when they are called, and which takes the global options in any place."""

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from lochan.cli.flags import global_options


class LazyGroup(click.Group):
    """`verbs` maps each verb to the module that holds it as `command`; or, under titles for the help, several such."""

    def __init__(self, *args: Any, verbs: Mapping[str, str] | Mapping[str, Mapping[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sections = {title: each for title, each in verbs.items() if not isinstance(each, str)} or {
            "Verbs": {verb: each for verb, each in sorted(verbs.items()) if isinstance(each, str)}
        }
        self._verbs = {verb: module for each in self._sections.values() for verb, module in each.items()}
        self.params.extend(global_options())

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._verbs:
            return None
        command = import_module(self._verbs[cmd_name]).command
        assert isinstance(command, click.Command)
        if not isinstance(command, LazyGroup):
            _take_global_options(command)
        if ctx.resilient_parsing:  # somebody pressed the tab key
            from lochan.cli.completions import teach

            teach(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, verbs in self._sections.items():
            with formatter.section(title):
                formatter.write_dl([(verb, summary(self.get_command(ctx, verb))) for verb in verbs])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self._verbs and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"There is no verb {args[0]!r}.{self._nearest(args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def _nearest(self, verb: str) -> str:
        from difflib import get_close_matches  # only a mistake pays for it

        near = get_close_matches(verb, self._verbs, n=1)
        return f" Did you mean {near[0]!r}?" if near else ""


def summary(command: click.Command | None) -> str:
    """What it does, in one line: the beginning of its help, up to where that goes into detail."""
    text = " ".join((command.help if command and command.help else "").partition("\n\n")[0].split())
    return re.split(r"[.:;](?= |$)| \(", text, maxsplit=1)[0]


def _take_global_options(command: click.Command) -> None:
    """The same options again, left out of the verb's help; a command that was taken once has them."""
    taken = {name for parameter in command.params for name in parameter.opts}
    command.params.extend(option for option in global_options(hidden=True) if taken.isdisjoint(option.opts))
