"""The one error boundary of the command line: a mistake or a failure becomes a line or two on stderr and an exit code.

A bug still shows its traceback, so that it can be fixed. Commands in hints can be pasted: they name the present
repository and the same lake as the command that failed. If a name was not found, the message suggests a similar one.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from lochan.cli import exit_codes
from lochan.cli.lazy_group import flags
from lochan.cli.request_key import OPTION, key_of
from lochan.errors import LochanError, NotFound, Unknown, from_os_error

_META = "lochan.repository"
_COMMAND = re.compile("`lochan (?!init)([^`]*)`")  # `init` names the place of the lake itself


@contextmanager
def error_boundary(ctx: click.Context) -> Iterator[None]:
    try:
        yield
        sys.stdout.flush()
    except LochanError as error:
        ctx.exit(_report(error, ctx))
    except ExceptionGroup as group:
        # For tasks that ran side by side, the first of our errors stands for all of them.
        ours = group.subgroup((LochanError, OSError))
        if ours is None:
            raise
        ctx.exit(_report(_first_error(ours), ctx))
    except (KeyboardInterrupt, click.Abort):  # Abort is Ctrl-C or the end of the input at a prompt
        _print_how_to_repeat(ctx)
        ctx.exit(exit_codes.INTERRUPTED)
    except BrokenPipeError:
        forget_stdout()
        ctx.exit(exit_codes.BROKEN_PIPE)
    except OSError as error:
        ctx.exit(_report(from_os_error(error), ctx))


def print_message(message: str, hint: str = "", place: str = "") -> None:
    """Prints `lochan: message` on stderr, with place and hint on separate lines, and no control characters."""
    from lochan.cli.output.records import printable

    click.echo(f"lochan: {printable(message)}", err=True)
    for line in [*place.splitlines(), hint]:
        if line:
            click.echo(f"  {printable(line)}", err=True)


def print_error(error: LochanError, ctx: click.Context) -> None:
    print_message(_message(error), _hint_to_paste(error, ctx), error.place)


def _report(error: LochanError, ctx: click.Context) -> int:
    print_error(error, ctx)
    if isinstance(error, Unknown):
        _print_how_to_repeat(ctx)
    return code_of(error)


def code_of(error: LochanError) -> int:
    if error.place and isinstance(error.__cause__, NotFound):  # a query whose source does not exist
        return exit_codes.NOT_FOUND
    return exit_codes.BY_KIND.get(error.kind, exit_codes.ERROR)


def _print_how_to_repeat(ctx: click.Context) -> None:
    """Prints how to repeat the command, if it is unknown whether the change was made."""
    key = key_of(ctx)
    if key is not None and key.used:
        click.echo(
            f"  the change may have been made; to be sure, repeat the command with {OPTION} {key.used}", err=True
        )


def _first_error(group: ExceptionGroup[Exception]) -> LochanError:
    head = group.exceptions[0]
    if isinstance(head, ExceptionGroup):
        return _first_error(head)
    if isinstance(head, OSError):
        return from_os_error(head)
    assert isinstance(head, LochanError)
    return head


def forget_stdout() -> None:
    """Replaces stdout after the reader of our output has left. What Python still buffers must not fail again when it
    exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# --- hints -----------------------------------------------------------------------------------------------------------
def about_repository(repository: str) -> None:
    """Notes the repository or pool that this command is about."""
    ctx = click.get_current_context(silent=True)
    if ctx is not None:
        ctx.meta[_META] = repository


def _hint_to_paste(error: LochanError, ctx: click.Context) -> str:
    repository = ctx.meta.get(_META)
    hint = error.hint if repository is None else error.hint_about(repository)
    given = "".join(f"{each} " for each in _global_options(ctx))
    return _COMMAND.sub(lambda found: f"`lochan {given}{found[1]}`", hint)


def _message(error: LochanError) -> str:
    """Returns the message, with a name that is similar to the one that was not found."""
    if not isinstance(error, NotFound) or not error.name or error.among is None:
        return error.message
    from lochan.config.settings import did_you_mean

    return f"{error.message}{did_you_mean(error.name, list(error.among()))}"


def _global_options(ctx: click.Context) -> list[str]:
    """Returns the given options that decide which lake is used."""
    from shlex import quote

    given = flags(ctx)
    return [
        f"{option} {quote(value)}" for option, value in (("--lake", given.lake), ("--config", given.config)) if value
    ]
