"""`lochan fs mv`: an object under another path."""

from typing import Any

import click

from lochan.cli.fs_cp import target_uri
from lochan.cli.object_record import object_record
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import object_uri, on_branch
from lochan.errors import Invalid


@click.command("mv")
@click.argument("source", metavar="REPO[@BRANCH]/PATH")
@click.argument("target", metavar="REPO[@BRANCH]/PATH")
@format_option
def command(source: str, target: str, form: str) -> None:
    """Move an object on one branch: nobody sees it twice, or nowhere. A target that ends with a slash is a folder."""
    one, other = on_branch(object_uri(source)), target_uri(source, target)

    async def work(opened: Opened) -> dict[str, Any]:
        from lochan.versioning.objects import move

        if opened.ref_of(other) != opened.ref:
            raise Invalid(f"{one} and {other} are on different branches", hint="copy it, then remove the source")
        return object_record(await move(opened.repository, opened.ref, one.path, other.path, actor=opened.actor))

    record = work_on(one, work)
    if form == "json":
        show_record(record, form)
    else:
        click.echo(f"moved {printable(str(one))} to {printable(str(other))}")
