"""`lochan workspace create`: a place of one's own over a branch."""

from typing import Any

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import branch_uri
from lochan.cli.workspace_record import workspace_record


@click.command("create")
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.option("--note", default="", help="What it is for.")
@click.option("-q", "--quiet", is_flag=True, help="Print only its id.")
@request_key
@format_option
def command(branch: str, note: str, quiet: bool, form: str) -> None:
    """Open a workspace on the head of a branch. It is said how it is named, and where its files go.

    \b
    Example:
      lochan workspace create demo@main
    """
    uri = branch_uri(branch)

    async def work(opened: Opened) -> dict[str, Any]:
        from lochan.versioning.workspaces.registry import open_workspace

        opened.needs_files()
        made = await open_workspace(opened.repository, opened.ref, note, actor=opened.actor)
        return workspace_record(made, opened.repository.folder(made.id).place())

    record = work_on(uri, work)
    if quiet:
        click.echo(record["id"])
    elif form == "json":
        show_record(record, form)
    else:
        click.echo(f"created workspace {record['id']}: {uri.repository}@{printable(record['ref'])}")
        click.echo(f"files go to {printable(record['path'])}")
