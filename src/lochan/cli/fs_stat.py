"""`lochan fs stat`: what is known of an object."""

from typing import Any

import click

from lochan.cli.object_record import object_record
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, show_record, show_records
from lochan.cli.uri import object_uri


@click.command("stat")
@click.argument("where", metavar="REPO[@REF]/PATH")
@click.option("--blocks", is_flag=True, help="Also the files that its bytes lie in.")
@format_option
def command(where: str, blocks: bool, form: str) -> None:
    """Show what is known of an object.

    \b
    Example:
      lochan fs stat demo@main/data/a.csv
    """
    uri = object_uri(where)

    async def work(opened: Opened) -> dict[str, Any]:
        from lochan.versioning.objects import stat

        entry = await stat(opened.repository, opened.ref, uri.path)
        return {
            **object_record(entry),
            "headers": dict(entry.headers),
            "checksums": dict(entry.checksums),
            "blocks": [
                {"address": each.address, "offset": each.offset, "size": each.size, "sha256": each.sha256.hex()}
                for each in entry.blocks
            ],
        }

    record = work_on(uri, work)
    if form == "json":
        show_record(record, form)
        return
    found = record.pop("blocks")
    show_record({**record, "blocks": len(found)}, form)
    if blocks:
        click.echo()
        show_records(found, form, columns=("offset", "size", "sha256", "address"))
