"""`lochan repo list`: every repository of the lake."""

from typing import TYPE_CHECKING

import click

from lochan.cli.repo_record import repository_record
from lochan.cli.shown import format_option, show_records

if TYPE_CHECKING:
    from lochan.versioning.repositories import Repository


@click.command("list")
@format_option
def command(form: str) -> None:
    """List the repositories of the lake, by name.

    \b
    Example:
      lochan repo list
    """
    show_repositories(form)


def show_repositories(form: str) -> None:
    from lochan.cli.session import configuration, open_lake, read

    config = configuration()

    async def work() -> "list[Repository]":
        async with open_lake(config) as lake:
            return await lake.repositories()

    records = [repository_record(each) for each in read(config, work)]
    show_records(records, form, columns=("name", "kind", "default_branch", "created", "created_by"))
