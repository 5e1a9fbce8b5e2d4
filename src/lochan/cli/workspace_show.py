"""`lochan workspace show`: one workspace, and how much a commit of it would change."""

from typing import Any

import click

from lochan.cli.commit_record import SHORT
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, show_record
from lochan.cli.workspace_record import named, workspace_record


@click.command("show")
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
@format_option
def command(repository: str, id: str, form: str) -> None:
    """Show a workspace: its branch, the commit that it was opened on, what was added, where its files go.

    \b
    Example:
      lochan workspace show demo 17-9f3a6c21
    """
    uri, workspace = named(repository, id)

    async def work(opened: Opened) -> dict[str, Any]:
        from dataclasses import asdict

        from lochan.versioning.diff import count_staged
        from lochan.versioning.workspaces.registry import find

        found = await find(opened.repository, workspace)
        record = workspace_record(found, opened.repository.folder(found.id).place())
        return {**record, "changes": asdict(await count_staged(opened.repository, found.ref))}

    record = work_on(uri, work)
    if form != "json":
        record = {**record, "fork": record["fork"][:SHORT], "added": " ".join(record["added"])}
    show_record(record, form)
