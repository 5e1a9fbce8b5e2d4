"""Asking before something goes that does not come back."""

import sys

import click

from lochan.cli.output.records import printable
from lochan.errors import Refused

yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")


def confirm(question: str, undone: str) -> None:
    """Raises Refused unless somebody at a terminal says yes; `undone` tells what then did not happen. Not to be called
    in an event loop, which would take the first Ctrl-C for itself."""
    if not is_terminal():
        raise Refused(f"{undone}: nobody confirmed it", hint="give --yes to go on without being asked")
    if not click.confirm(printable(question)):
        raise Refused(f"{undone}: the answer was no")


def is_terminal() -> bool:
    return sys.stdin.isatty()
