"""The global options, and what the user gave of them, for `session.py` to read."""

from typing import Any

import click

_META = "lochan.flags"


class Flags:
    """What was given on the command line; None or empty where nothing was."""

    def __init__(self) -> None:
        self.config: str | None = None
        self.lake: str | None = None
        self.settings: list[str] = []
        self.verbose = False


def flags(ctx: click.Context) -> Flags:
    """The flags of this invocation; click shares `meta` between a verb and its groups."""
    found: Flags = ctx.meta.setdefault(_META, Flags())
    return found


def global_options(*, hidden: bool = False) -> list[click.Option]:
    return [
        _option(
            ["--lake"], _lake, hidden, metavar="URL", help="The lake: a folder or a URL such as s3://bucket/prefix."
        ),
        _option(["--config"], _config, hidden, metavar="FILE", help="A YAML configuration file."),
        _option(
            ["--set", "-s"], _set, hidden, metavar="KEY=VALUE", multiple=True, help="One setting; may be repeated."
        ),
        _option(["--verbose", "-v"], _verbose, hidden, is_flag=True, help="Log at level DEBUG."),
    ]


def _option(names: list[str], callback: Any, hidden: bool, **rest: Any) -> click.Option:
    return click.Option(names, callback=callback, expose_value=False, hidden=hidden, **rest)


def _lake(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        flags(ctx).lake = value


def _config(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        flags(ctx).config = value


def _set(ctx: click.Context, _: click.Parameter, value: tuple[str, ...]) -> None:
    flags(ctx).settings.extend(value)


def _verbose(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    flags(ctx).verbose |= value
