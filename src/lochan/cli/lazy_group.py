"""A click group that imports its verbs when they are called, and takes the global options in any place."""

import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.verb import Declare, verb

if TYPE_CHECKING:
    from lochan.config.load import Config

Verbs = Mapping[str, str] | Mapping[str, Mapping[str, str]]


class LazyGroup(click.Group):
    """A group whose verbs are imported when they are called. `verbs` maps each verb to the place of its command, as
    "module:attribute"; or maps titles for the help to such mappings. A module that holds all verbs of its group adds
    them with `@group.verb(…)` instead."""

    def __init__(self, *args: Any, verbs: Verbs | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        given = verbs or {}
        self._sections = {title: each for title, each in given.items() if not isinstance(each, str)}
        plain = {verb: each for verb, each in given.items() if isinstance(each, str)}
        self._places = {**plain, **{verb: place for each in self._sections.values() for verb, place in each.items()}}
        self.params.extend(global_options())

    def verb(self, name: str, *examples: str, changes: bool = False, form: bool = True) -> Declare:
        """Declares a verb of this group."""

        def add(function: Callable[..., object]) -> click.Command:
            command = verb(name, *examples, changes=changes, form=form)(function)
            self.add_command(command)
            return command

        return add

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self._places, *self.commands})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = self.commands.get(cmd_name) or self._import_verb(cmd_name)
        if command is None:
            return None
        if not isinstance(command, LazyGroup):
            _take_global_options(command)
        if ctx.resilient_parsing:  # the user has pressed the tab key
            from lochan.cli.suggestions import add_suggestions

            add_suggestions(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, verbs in self._sections.items() or [("Verbs", self.list_commands(ctx))]:
            with formatter.section(title):
                formatter.write_dl([(verb, summary(self.get_command(ctx, verb))) for verb in verbs])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        is_known = args[0] in self._places or args[0] in self.commands
        if not is_known and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"There is no verb {args[0]!r}.{_suggest(args[0], self.list_commands(ctx))}", ctx)
        return super().resolve_command(ctx, args)

    def prepare(self, ctx: click.Context) -> None:
        """Does the work of the first call of each verb whose module is imported, for a process that forks for each
        call."""
        self.get_help_option(ctx)
        imported = [name for name, place in self._places.items() if place.partition(":")[0] in sys.modules]
        for command in [self.get_command(ctx, name) for name in (*imported, *self.commands)]:
            if isinstance(command, LazyGroup):
                command.prepare(ctx)
            elif command is not None:
                command.get_help_option(ctx)

    def _import_verb(self, verb: str) -> click.Command | None:
        if verb not in self._places:
            return None
        module, _, name = self._places[verb].partition(":")
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)
        return command


def _suggest(verb: str, verbs: list[str]) -> str:
    from difflib import get_close_matches  # imported only after a mistake

    near = get_close_matches(verb, verbs, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def summary(command: click.Command | None) -> str:
    """Returns a summary in one line: the first sentence of its help."""
    text = " ".join((command.help if command and command.help else "").partition("\n\n")[0].split())
    return re.split(r"[.:;](?= |$)| \(", text, maxsplit=1)[0]


def _take_global_options(command: click.Command) -> None:
    """Adds the global options, hidden from the verb's help, unless the command has them already."""
    names = {name for parameter in command.params for name in parameter.opts}
    if "--no-companion" in names:
        return
    command.params.extend(option for option in global_options(hidden=True) if names.isdisjoint(option.opts))


# The global options, and their values as the user gave them, for `session.py` to read.


_META = "lochan.flags"


class Flags:
    """The global options of the command line. None or an empty value means that the option was not given."""

    def __init__(self) -> None:
        self.config: str | None = None
        self.lake: str | None = None
        self.profile: str | None = None
        self.settings: list[str] = []
        self.verbose = False
        self.configurations: dict[str | None, Config] = {}  # read once, by the lake that was given to the verb itself


def flags(ctx: click.Context) -> Flags:
    """Returns the flags of this invocation. Click shares `meta` between a verb and its groups."""
    found: Flags = ctx.meta.setdefault(_META, Flags())
    return found


def global_options(*, hidden: bool = False) -> list[click.Option]:
    return [
        _option(
            ["--lake"], _lake, hidden, metavar="URL", help="The lake: a folder or a URL such as s3://bucket/prefix."
        ),
        _option(["--profile"], _profile, hidden, metavar="NAME", help="A server that `lochan login` has noted."),
        _option(["--config"], _config, hidden, metavar="FILE", help="A YAML configuration file."),
        _option(
            ["--set", "-s"], _set, hidden, metavar="KEY=VALUE", multiple=True, help="One setting; may be repeated."
        ),
        _option(["--no-companion"], _ignore_option, hidden, is_flag=True, help="Do the work in this process."),
        _option(["--verbose", "-v"], _verbose, hidden, is_flag=True, help="Log at level DEBUG."),
    ]


def _option(names: list[str], callback: Any, hidden: bool, **rest: Any) -> click.Option:
    return click.Option(names, callback=callback, expose_value=False, hidden=hidden, **rest)


def _lake(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        flags(ctx).lake = value


def _profile(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        flags(ctx).profile = value


def _config(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        flags(ctx).config = value


def _set(ctx: click.Context, _: click.Parameter, value: tuple[str, ...]) -> None:
    flags(ctx).settings.extend(value)


def _ignore_option(*_: object) -> None:
    """Ignores an option that the front of the command has handled."""


def _verbose(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    flags(ctx).verbose |= value
