"""`lochan fs download`: objects become files, never outside the folder that was named."""

from pathlib import Path

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, printable, show_record, size
from lochan.cli.uri import object_uri, prefix_uri
from lochan.errors import Refused


@click.command("download")
@click.argument("where", metavar="REPO[@REF]/PATH")
@click.argument("target", default=".")
@click.option("-r", "--recursive", is_flag=True, help="All objects in the folder PATH, into the folder TARGET.")
@click.option("--force", is_flag=True, help="Replace files that are there already.")
@format_option
def command(where: str, target: str, recursive: bool, force: bool, form: str) -> None:
    """Download an object, or with -r all objects in a folder. Without TARGET, to the working folder.

    A file that is there already is not replaced; then nothing is written. With -r, objects that no file can be made of
    (`..`, an empty name, `a` beside `a/b`, a name that is too long) are left out and listed, and the exit code is 5.

    \b
    Example:
      lochan fs download -r demo@main/data/ data
    """
    uri = prefix_uri(where) if recursive else object_uri(where)

    async def work(opened: Opened) -> tuple[int, int, int]:
        from lochan.cli.downloading import Download

        download = Download(opened, Path(target), force=force, bar=form != "json")
        done = await (download.folder(uri.path) if recursive else download.one(uri.path, target))
        return *done, download.skipped

    count, written_bytes, skipped = work_on(uri, work)
    if form == "json":
        show_record({"objects": count, "bytes": written_bytes, "skipped": skipped}, form)
    else:
        what = f"{count} objects" if recursive else printable(str(uri))
        click.echo(f"downloaded {what} ({size(written_bytes)})")
    if skipped:
        were = "object was" if skipped == 1 else "objects were"
        raise Refused(f"{skipped:,} {were} not downloaded", hint="their names cannot be files here")
