"""`lochan tag delete`: a tag goes; the commit stays."""

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import named_uri


@click.command("delete")
@click.argument("tag", metavar="REPO@NAME")
@request_key
@format_option
def command(tag: str, form: str) -> None:
    """Delete a tag.

    \b
    Example:
      lochan tag delete demo@v1
    """
    uri = named_uri(tag)

    async def work(opened: Opened) -> None:
        from lochan.versioning.branches import delete_tag

        await delete_tag(opened.repository, uri.ref, actor=opened.actor)

    work_on(uri, work)
    if form == "json":
        show_record({"deleted": uri.ref}, form)
    else:
        click.echo(f"deleted tag {printable(uri.ref)}")
