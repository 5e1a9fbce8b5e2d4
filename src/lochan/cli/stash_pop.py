"""`lochan stash pop`: what was put aside is staged again."""

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import branch_uri


@click.command("pop")
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.argument("stash", required=False, default="")
@request_key
@format_option
def command(branch: str, stash: str, form: str) -> None:
    """Stage on a branch what a stash holds: the one named, or the branch's newest.

    Nothing may be staged there, and where the branch was changed since at a stashed path, it is refused (code 4).

    \b
    Example:
      lochan stash pop demo@main
    """
    uri = branch_uri(branch)

    async def work(opened: Opened) -> str:
        from lochan.versioning.stash import pop

        opened.needs_files()
        return (await pop(opened.repository, opened.ref, stash, actor=opened.actor)).id

    id = work_on(uri, work)
    if form == "json":
        show_record({"id": id}, form)
    else:
        click.echo(f"staged again on {printable(str(uri))} what was stashed as {id}")
