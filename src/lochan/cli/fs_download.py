"""`lochan fs download`: objects become files, never outside the folder that was named."""

from pathlib import Path

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, printable, show_record, size
from lochan.cli.uri import object_uri, prefix_uri


@click.command("download")
@click.argument("where", metavar="REPO[@REF]/PATH")
@click.argument("target", default=".")
@click.option("-r", "--recursive", is_flag=True, help="All objects in the folder PATH, into the folder TARGET.")
@click.option("--force", is_flag=True, help="Replace files that are there already.")
@format_option
def command(where: str, target: str, recursive: bool, force: bool, form: str) -> None:
    """Download an object, or with -r all objects in a folder. Without TARGET, to the working folder.

    A path that would lead out of TARGET is refused, and so is a file that is there already; then nothing is written.
    """
    uri = prefix_uri(where) if recursive else object_uri(where)

    async def work(opened: Opened) -> tuple[int, int]:
        from lochan.cli.downloading import Download

        download = Download(opened, Path(target), force=force, bar=form != "json")
        return await (download.folder(uri.path) if recursive else download.one(uri.path, target))

    count, written_bytes = work_on(uri, work)
    if form == "json":
        show_record({"objects": count, "bytes": written_bytes}, form)
    else:
        what = f"{count} objects" if recursive else printable(str(uri))
        click.echo(f"downloaded {what} ({size(written_bytes)})")
