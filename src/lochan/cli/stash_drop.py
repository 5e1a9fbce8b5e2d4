"""`lochan stash drop`: what was put aside goes for good."""

import click

from lochan.cli.confirm import confirm
from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, show_record
from lochan.cli.uri import branch_uri


@click.command("drop")
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.argument("stash", required=False, default="")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@request_key
@format_option
def command(branch: str, stash: str, yes: bool, form: str) -> None:
    """Drop a stash: the one named, or the branch's newest.

    On a terminal it asks first; in a script it wants --yes.

    \b
    Example:
      lochan stash drop demo@main
    """
    uri = branch_uri(branch)
    if not yes:
        which = f"stash {stash}" if stash else f"the newest stash of {uri}"
        confirm(f"Drop {which}, with all changes in it?", f"{which} was not dropped")

    async def work(opened: Opened) -> str:
        from lochan.versioning.stash import drop

        return await drop(opened.repository, opened.ref, stash, actor=opened.actor)

    id = work_on(uri, work)
    if form == "json":
        show_record({"id": id}, form)
    else:
        click.echo(f"dropped stash {id}")
