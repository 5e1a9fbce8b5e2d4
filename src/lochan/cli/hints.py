"""Hints as this user can paste them: their commands name the repository at hand, and the same lake as the command that
failed. And the name that was probably meant, where one was not found."""

import re

import click

from lochan.cli.options.global_options import flags
from lochan.errors import LochanError, NotFound

_META = "lochan.repository"
_COMMAND = re.compile("`lochan (?!init)([^`]*)`")  # `init` is told the place of the lake itself


def about_repository(repository: str) -> None:
    """From now on this command is about that repository or pool."""
    ctx = click.get_current_context(silent=True)
    if ctx is not None:
        ctx.meta[_META] = repository


def pasteable(error: LochanError, ctx: click.Context) -> str:
    repository = ctx.meta.get(_META)
    hint = error.hint if repository is None else error.hint_about(repository)
    given = "".join(f"{each} " for each in _global_options(ctx))
    return _COMMAND.sub(lambda found: f"`lochan {given}{found[1]}`", hint)


def message(error: LochanError) -> str:
    """With a name that is near to the one that was not found."""
    if not isinstance(error, NotFound) or not error.name or error.among is None:
        return error.message
    from lochan.config.settings import did_you_mean

    return f"{error.message}{did_you_mean(error.name, list(error.among()))}"


def _global_options(ctx: click.Context) -> list[str]:
    """Those that decide which lake it is."""
    from shlex import quote

    given = flags(ctx)
    return [
        f"{option} {quote(value)}" for option, value in (("--lake", given.lake), ("--config", given.config)) if value
    ]
