"""`lochan branch restore`: a deleted branch comes back."""

import click

from lochan.cli.commit_record import SHORT
from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import named_uri


@click.command("restore")
@click.argument("branch", metavar="REPO@NAME")
@request_key
@format_option
def command(branch: str, form: str) -> None:
    """Bring back a deleted branch: the last of that name, with what was staged on it.

    \b
    Example:
      lochan branch restore demo@dev
    """
    uri = named_uri(branch)

    async def work(opened: Opened) -> str:
        from lochan.versioning.branches import restore_branch

        return await restore_branch(opened.repository, uri.ref, actor=opened.actor)

    head = work_on(uri, work)
    if form == "json":
        show_record({"name": uri.ref, "head": head}, form)
    else:
        click.echo(f"restored branch {printable(uri.ref)} at {head[:SHORT]}")
