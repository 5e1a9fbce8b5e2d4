"""`lochan tag list`: every tag of a repository."""

from typing import Any

import click

from lochan.cli.commit_record import SHORT, title
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, instant, show_records
from lochan.cli.uri import repository_uri


@click.command("list")
@click.argument("repository", metavar="REPO")
@format_option
def command(repository: str, form: str) -> None:
    """List the tags of REPO, by name.

    \b
    Example:
      lochan tag list demo
    """

    async def work(opened: Opened) -> list[dict[str, Any]]:
        refs, _ = await opened.repository.refs()
        found = [(name, id, refs.commit(id)) for name, id in refs.tags()]
        return [
            {"name": name, "commit": id, "date": instant(commit.date), "message": commit.message}
            for name, id, commit in found
        ]

    records = work_on(repository_uri(repository), work)
    if form != "json":
        records = [{**each, "commit": each["commit"][:SHORT], "message": title(each["message"])} for each in records]
    show_records(records, form, columns=("name", "commit", "date", "message"))
