"""`lochan fs upload`: files, a folder or standard input become objects of a branch."""

from typing import Any

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record, size
from lochan.cli.uri import prefix_uri, writable


@click.command("upload")
@click.argument("source")
@click.argument("target", metavar="REPO[@BRANCH][/PATH]")
@click.option("-r", "--recursive", is_flag=True, help="SOURCE is a folder; all its files go into the folder PATH.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="A note kept with each object; may be repeated.")
@click.option("--content-type", metavar="TYPE", help="Such as text/csv; guessed from the name unless told.")
@click.option("--follow-links", is_flag=True, help="With a folder: take in what links lead to, wherever that is.")
@request_key
@format_option
def command(
    source: str,
    target: str,
    recursive: bool,
    metadata: tuple[str, ...],
    content_type: str | None,
    follow_links: bool,
    form: str,
) -> None:
    """Upload a file, a folder (with -r) or standard input (-) to a branch, where it is staged until it is committed.

    Without a PATH, or where it ends with a slash, a file keeps its name. Of a folder, links to
    files in it are followed, links to folders and links that lead out of it are not, unless --follow-links is given;
    what is left out is said.

    \b
    Example:
      lochan fs upload -r data demo@main/data/
    """
    from lochan.cli.notes import notes
    from lochan.cli.progress import progress
    from lochan.cli.session import configuration, lake_place
    from lochan.cli.uploading import Upload, sources

    uri = writable(prefix_uri(target))
    lake = lake_place(configuration()).folder
    files = sources(source, uri.path, recursive=recursive, lake=lake, follow_links=follow_links)
    said = notes(metadata)
    total = None if source == "-" else sum(each.size for each in files)

    async def work(opened: Opened) -> int:
        opened.needs_files()
        with progress("uploading", total, wanted=form != "json") as advance:
            upload = Upload(opened.repository, opened.ref, opened.actor, said, content_type, advance)
            return await upload.all(files)

    uploaded_bytes = work_on(uri, work)
    record: dict[str, Any] = {"objects": len(files), "bytes": uploaded_bytes}
    if form == "json":
        show_record(record, form)
    else:
        what = printable(files[0].path) if len(files) == 1 else f"{len(files)} objects"
        click.echo(f"uploaded {what} ({size(uploaded_bytes)})")
