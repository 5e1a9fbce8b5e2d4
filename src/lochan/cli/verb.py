"""Declares a verb of the command line: its name, examples for its help, and the options of its kind.

@verb("merge", "lochan merge demo@dev demo@main", changes=True)
@click.argument("source", metavar="REPO@SOURCE")
@click.argument("branch", metavar="REPO[@BRANCH]")
def merge_command(source: str, branch: str, form: str) -> None:
    (its help)
"""

from collections.abc import Callable
from inspect import cleandoc

import click

from lochan.cli.request_key import key_option

Declare = Callable[[Callable[..., object]], click.Command]


def verb(name: str, *examples: str, changes: bool = False, form: bool = True) -> Declare:
    """Declares a verb. One that `changes` something takes an idempotency key. One with a `form` prints a table or
    JSON."""

    def declare(function: Callable[..., object]) -> click.Command:
        command = click.command(name, help=cleandoc(function.__doc__ or "") + _format_examples(examples))(function)
        names = {each for parameter in command.params for each in parameter.opts}
        command.params += [key_option(alias="--key" not in names)] if changes else []
        command.params += [format_option()] if form else []
        return command

    return declare


def _format_examples(examples: tuple[str, ...]) -> str:
    title = "Example" if len(examples) == 1 else "Examples"
    return "\n\n\b\n" + "\n  ".join([f"{title}:", *examples])


def format_option() -> click.Option:
    return click.Option(
        ["-f", "--format", "form"],
        type=click.Choice(["table", "json"]),
        default="table",
        show_default=True,
        help="The output format.",
    )
