"""`lochan workspace path`: where others write the files of a workspace."""

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, show_record
from lochan.cli.uri import prefix_uri
from lochan.errors import Invalid
from lochan.versioning.expression import parse


@click.command("path")
@click.argument("where", metavar="REPO@BRANCH+ID[/PATH]")
@format_option
def command(where: str, form: str) -> None:
    """Print where the file or folder of that path is stored: a path of this machine, or a URL.

    Whoever can write there needs nothing else. Folders on a local disk are not made for you.

    \b
    Example:
      lochan workspace path demo@main+17-9f3a6c21/data/a.csv
    """
    uri = prefix_uri(where)
    if not uri.ref or not parse(uri.ref).workspace:
        raise Invalid(f"{where!r} names no workspace", hint="such as demo@main+17-9f3a6c21/data/a.csv")

    async def work(opened: Opened) -> str:
        found = (await opened.repository.resolve(opened.ref, workspaces=True)).workspace
        assert found is not None  # the ref says so
        return opened.repository.folder(found.id).place(uri.path)

    place = work_on(uri, work)
    if form == "json":
        show_record({"path": place}, form)
    else:
        click.echo(place)  # as it is: it is given to another program
