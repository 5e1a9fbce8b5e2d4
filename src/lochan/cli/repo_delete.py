"""`lochan repo delete`: a repository goes, once it is confirmed."""

import sys

import click

from lochan.cli.shown import printable
from lochan.errors import Refused


@click.command("delete")
@click.argument("name")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def command(name: str, yes: bool) -> None:
    """Delete the repository NAME: its branches, tags and history.

    On a terminal it asks first; in a script it wants --yes.
    """
    from lochan.cli.session import actor, configuration, open_lake, read, run

    config = configuration()

    async def look() -> None:
        async with open_lake(config) as lake:
            await lake.repository(name)

    async def delete() -> None:
        async with open_lake(config) as lake:
            await lake.delete_repository(name, actor=actor(config))

    if not yes:
        read(config, look)  # so that nobody is asked about a name that is not there
        _ask(name)  # outside of an event loop, which would take the first Ctrl-C for itself
    run(config, delete())
    click.echo(f"deleted repository {printable(name)}")


def _ask(name: str) -> None:
    if not _is_terminal():
        raise Refused(f"repository {name} was not deleted: nobody confirmed it", hint="say --yes to delete it unasked")
    if not click.confirm(f"Delete repository {printable(name)} with all its history?"):
        raise Refused(f"repository {name} was not deleted: the answer was no")


def _is_terminal() -> bool:
    return sys.stdin.isatty()
