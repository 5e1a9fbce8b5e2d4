"""`lochan workspace add`: what of a workspace is to be committed."""

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.workspace_record import named


@click.command("add")
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
@click.argument("globs", nargs=-1, required=True, metavar="GLOB...")
@request_key
@format_option
def command(repository: str, id: str, globs: tuple[str, ...], form: str) -> None:
    """Say what is to be committed: whatever fits one of the globs, now or when it is written.

    In a glob, * and ? stay within a folder and ** goes across.

    \b
    Example:
      lochan workspace add demo 17-9f3a6c21 'data/*.csv'
    """
    uri, workspace = named(repository, id)

    async def work(opened: Opened) -> list[str]:
        from lochan.versioning.workspaces.registry import find
        from lochan.versioning.workspaces.selection import add

        await add(opened.repository, workspace, globs, actor=opened.actor)
        return list((await find(opened.repository, workspace)).added)

    added = work_on(uri, work)
    if form == "json":
        show_record({"added": added}, form)
    else:
        click.echo(f"to be committed: {printable(' '.join(added))}")
