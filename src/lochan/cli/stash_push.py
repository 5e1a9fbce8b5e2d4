"""`lochan stash push`: what is staged on a branch is put aside."""

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import branch_uri


@click.command("push")
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.option("-m", "--message", default="", help="What it is, for later.")
@request_key
@format_option
def command(branch: str, message: str, form: str) -> None:
    """Put aside all that is staged on a branch.

    \b
    Example:
      lochan stash push demo@main
    """
    uri = branch_uri(branch)

    async def work(opened: Opened) -> str:
        from lochan.versioning.stash import push

        opened.needs_files()
        return await push(opened.repository, opened.ref, message, actor=opened.actor)

    id = work_on(uri, work)
    if form == "json":
        show_record({"id": id}, form)
    else:
        click.echo(f"stashed what was staged on {printable(str(uri))} as {id}")
