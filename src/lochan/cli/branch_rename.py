"""`lochan branch rename`: the same branch under another name."""

import click

from lochan.cli.commit_record import SHORT
from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import named_uri


@click.command("rename")
@click.argument("branch", metavar="REPO@NAME")
@click.argument("to", metavar="NEW-NAME")
@request_key
@format_option
def command(branch: str, to: str, form: str) -> None:
    """Rename a branch. What is staged on it goes along.

    \b
    Example:
      lochan branch rename demo@dev develop
    """
    uri = named_uri(branch)

    async def work(opened: Opened) -> str:
        from lochan.versioning.branches import rename_branch

        default = opened.repository.repository.default_branch
        return await rename_branch(opened.repository, uri.ref, to, default, actor=opened.actor)

    head = work_on(uri, work)
    if form == "json":
        show_record({"name": to, "head": head}, form)
    else:
        click.echo(f"renamed branch {printable(uri.ref)} to {printable(to)} at {head[:SHORT]}")
