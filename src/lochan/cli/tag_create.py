"""`lochan tag create`: a name for a commit, which stays."""

import click

from lochan.cli.commit_record import SHORT
from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import named_uri


@click.command("create")
@click.argument("tag", metavar="REPO@NAME")
@click.option("--from", "source", metavar="REF", help="What it names; the head of the default branch unless told.")
@request_key
@format_option
def command(tag: str, source: str | None, form: str) -> None:
    """Give a commit a name.

    \b
    Example:
      lochan tag create demo@v1 --from main
    """
    uri = named_uri(tag)

    async def work(opened: Opened) -> str:
        from lochan.versioning.branches import create_tag

        default = opened.repository.repository.default_branch
        return await create_tag(opened.repository, uri.ref, source or default, actor=opened.actor)

    commit = work_on(uri, work)
    if form == "json":
        show_record({"name": uri.ref, "commit": commit}, form)
    else:
        click.echo(f"created tag {printable(uri.ref)} at {commit[:SHORT]}")
