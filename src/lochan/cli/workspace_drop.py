"""`lochan workspace drop`: a workspace is closed, and nothing of it is committed."""

import click

from lochan.cli.confirm import confirm
from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, show_record
from lochan.cli.workspace_record import named


@click.command("drop")
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@request_key
@format_option
def command(repository: str, id: str, yes: bool, form: str) -> None:
    """Drop a workspace with all changes in it. Garbage collection removes its files.

    On a terminal it asks first; in a script it wants --yes.

    \b
    Example:
      lochan workspace drop demo 17-9f3a6c21
    """
    uri, workspace = named(repository, id)
    if not yes:
        confirm(f"Drop workspace {workspace}, with all changes in it?", f"workspace {workspace} was not dropped")

    async def work(opened: Opened) -> None:
        from lochan.versioning.workspaces.registry import drop

        await drop(opened.repository, workspace, actor=opened.actor)

    work_on(uri, work)
    if form == "json":
        show_record({"id": workspace}, form)
    else:
        click.echo(f"dropped workspace {workspace}")
