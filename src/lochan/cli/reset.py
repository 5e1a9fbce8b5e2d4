"""`lochan reset`: what is staged goes; or a branch goes to another commit."""

import click

from lochan.cli.commit_record import SHORT
from lochan.cli.confirm import confirm
from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import branch_uri


@click.command("reset")
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.option("--hard", "target", metavar="REF", help="Move the branch to that commit as well.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@request_key
@format_option
def command(branch: str, target: str | None, yes: bool, form: str) -> None:
    """Drop what is staged on a branch. With --hard the branch is moved to REF too.

    On a terminal it asks first; in a script it wants --yes.

    \b
    Example:
      lochan reset demo@main
    """
    uri = branch_uri(branch)
    if not yes:
        what = "what is staged on it goes" if target is None else f"it moves to {target}, and what is staged on it goes"
        confirm(f"Reset {uri}: {what}?", f"{uri} was not reset")

    async def work(opened: Opened) -> str:
        from lochan.versioning.branches import hard_reset, reset_staged

        if target is not None:
            return await hard_reset(opened.repository, opened.ref, target, actor=opened.actor)
        await reset_staged(opened.repository, opened.ref, actor=opened.actor)
        return (await opened.repository.resolve(opened.ref)).commit_id

    head = work_on(uri, work)
    if form == "json":
        show_record({"head": head}, form)
    else:
        click.echo(f"reset {printable(str(uri))} to {head[:SHORT]}")
