"""`lochan repo show`: one repository."""

from typing import TYPE_CHECKING

import click

from lochan.cli.hints import speak_of
from lochan.cli.repo_record import repository_record
from lochan.cli.shown import format_option, show_record

if TYPE_CHECKING:
    from lochan.versioning.repositories import Repository


@click.command("show")
@click.argument("name", metavar="REPO")
@format_option
def command(name: str, form: str) -> None:
    """Show the repository REPO.

    \b
    Example:
      lochan repo show demo
    """
    from lochan.cli.session import configuration, open_lake, read

    config = configuration()

    async def work() -> tuple["Repository", bool]:
        async with open_lake(config) as lake:
            opened = await lake.open_repository(name)
            speak_of(name)
            try:
                refs, _ = await opened.refs()
                return opened.repository, refs.guard.read_only
            finally:
                await opened.close()

    found, read_only = read(config, work)
    show_record({**repository_record(found), "read_only": read_only}, form)
