"""`lochan repo read-only`: nothing in a repository may change any more, or again."""

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import repository_uri


@click.command("read-only")
@click.argument("name", metavar="REPO")
@click.option("--on/--off", "on", default=True, help="Only to be read (the default), or to be changed again.")
@request_key
@format_option
def command(name: str, on: bool, form: str) -> None:
    """Make the repository REPO read-only: every change of its branches, tags and objects is refused.

    \b
    Example:
      lochan repo read-only demo
    """
    uri = repository_uri(name)

    async def work(opened: Opened) -> None:
        from lochan.versioning.branch_protection import set_read_only

        await set_read_only(opened.repository, on, actor=opened.actor)

    work_on(uri, work)
    if form == "json":
        show_record({"name": uri.repository, "read_only": on}, form)
    else:
        click.echo(f"{printable(uri.repository)} {'is read-only' if on else 'can be changed again'}")
