"""`lochan fs stat`: what is known of an object."""

from typing import Any

import click

from lochan.cli.object_record import object_record
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, show_record
from lochan.cli.uri import object_uri


@click.command("stat")
@click.argument("where", metavar="REPO[@REF]/PATH")
@format_option
def command(where: str, form: str) -> None:
    """Show what is known of an object."""
    uri = object_uri(where)

    async def work(opened: Opened) -> dict[str, Any]:
        from lochan.versioning.objects import stat

        entry = await stat(opened.repository, opened.ref, uri.path)
        blocks = [{"address": each.address, "offset": each.offset, "size": each.size} for each in entry.blocks]
        return {**object_record(entry), "blocks": blocks}

    record = work_on(uri, work)
    if form != "json":
        record["blocks"] = len(record["blocks"])
    show_record(record, form)
