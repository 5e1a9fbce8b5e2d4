"""A click group whose verbs are imported when they are called, and which takes the global options in any place."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from lochan.cli.flags import global_options


class LazyGroup(click.Group):
    """`verbs` maps each verb to the module that holds it as `command`."""

    def __init__(self, *args: Any, verbs: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._verbs = verbs
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


def _take_global_options(command: click.Command) -> None:
    """The same options again, left out of the verb's help; a command that was taken once has them."""
    taken = {name for parameter in command.params for name in parameter.opts}
    command.params.extend(option for option in global_options(hidden=True) if taken.isdisjoint(option.opts))
