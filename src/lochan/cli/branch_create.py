"""`lochan branch create`: a new branch."""

import click

from lochan.cli.commit_record import SHORT
from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import named_uri


@click.command("create")
@click.argument("branch", metavar="REPO@NAME")
@click.option("--from", "source", metavar="REF", help="Where it begins; the default branch unless told.")
@request_key
@format_option
def command(branch: str, source: str | None, form: str) -> None:
    """Create a branch. What is staged on the branch that it comes from stays there.

    \b
    Example:
      lochan branch create demo@dev --from main
    """
    uri = named_uri(branch)

    async def work(opened: Opened) -> str:
        from lochan.versioning.branches import create_branch

        default = opened.repository.repository.default_branch
        return await create_branch(opened.repository, uri.ref, source or default, actor=opened.actor)

    head = work_on(uri, work)
    if form == "json":
        show_record({"name": uri.ref, "head": head}, form)
    else:
        click.echo(f"created branch {printable(uri.ref)} at {head[:SHORT]}")
