"""`lochan workspace list`: the workspaces that are open."""

from typing import Any

import click

from lochan.cli.commit_record import SHORT
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, show_records
from lochan.cli.uri import branch_uri
from lochan.cli.workspace_record import workspace_record


@click.command("list")
@click.argument("branch", metavar="REPO[@BRANCH]")
@format_option
def command(branch: str, form: str) -> None:
    """List the open workspaces of a repository or a branch. The oldest comes first.

    \b
    Example:
      lochan workspace list demo
    """
    uri = branch_uri(branch)

    async def work(opened: Opened) -> list[dict[str, Any]]:
        from lochan.versioning.workspaces.registry import opened as open_ones

        return [
            workspace_record(each, opened.repository.folder(each.id).place())
            for each in await open_ones(opened.repository, uri.ref)
        ]

    records = work_on(uri, work)
    if form != "json":
        records = [{**each, "fork": each["fork"][:SHORT]} for each in records]
    show_records(records, form, columns=("id", "branch", "fork", "date", "user", "note"))
