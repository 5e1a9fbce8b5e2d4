"""`lochan branch delete`: a branch goes, and can be restored."""

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import named_uri


@click.command("delete")
@click.argument("branch", metavar="REPO@NAME")
@request_key
@format_option
def command(branch: str, form: str) -> None:
    """Delete a branch. `lochan branch restore` brings it back, with what was staged on it.

    \b
    Example:
      lochan branch delete demo@dev
    """
    uri = named_uri(branch)

    async def work(opened: Opened) -> None:
        from lochan.versioning.branches import delete_branch

        default = opened.repository.repository.default_branch
        await delete_branch(opened.repository, uri.ref, default, actor=opened.actor)

    work_on(uri, work)
    if form == "json":
        show_record({"deleted": uri.ref}, form)
    else:
        click.echo(f"deleted branch {printable(uri.ref)}")
