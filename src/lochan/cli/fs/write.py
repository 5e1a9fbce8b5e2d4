"""`lochan fs upload` and `rm`: adds objects to a branch, and removes them."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lochan.cli.error_boundary import print_message
from lochan.cli.options import confirm, notes, yes_option
from lochan.cli.output.progress import progress
from lochan.cli.output.records import count_noun, printable, show_answer, show_record, size
from lochan.cli.target import Target, folder, object_uri, prefix_uri, work_on, writable
from lochan.cli.verb import verb
from lochan.errors import NotFound

if TYPE_CHECKING:
    from lochan.api.object_results import UploadResult


@verb("upload", "lochan fs upload -r data demo@main/data/", changes=True)
@click.argument("source")
@click.argument("target", metavar="REPO[@BRANCH][/PATH]")
@click.option("-r", "--recursive", is_flag=True, help="SOURCE is a folder; all its files go into the folder PATH.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="Metadata of each object; may be repeated.")
@click.option(
    "--content-type", metavar="TYPE", help="The content type, such as text/csv. Default: guessed from the name."
)
@click.option("--follow-links", is_flag=True, help="With -r: also follow links to folders and links out of SOURCE.")
@click.option("--resume", is_flag=True, help="Skip files that are there already, unchanged. Default: send all.")
def upload_command(
    source: str,
    target: str,
    recursive: bool,
    metadata: tuple[str, ...],
    content_type: str | None,
    follow_links: bool,
    resume: bool,
    form: str,
) -> None:
    """Upload a file, a folder (with -r) or standard input (-) to a branch, where it is staged until it is committed.

    If PATH is missing or ends with a slash, a file keeps its name. In a folder, links to its own files are followed.
    Links to folders and links out of SOURCE are left out, and reported, unless --follow-links is given.

    Eight files are sent at a time and staged in batches. After an interruption, --resume sends only what is missing: a
    file is skipped if the object there has the same size, MD5, type and metadata.
    """
    from lochan.api.upload import upload_files
    from lochan.cli.session import configuration
    from lochan.connection import lake_place

    uri = writable(prefix_uri(target))
    given = sys.stdin.buffer if source == "-" else Path(source)
    lake = lake_place(configuration()).folder
    files = upload_files(
        given, uri.path, recursive=recursive, lake=lake, follow_links=follow_links, report=print_message
    )
    pairs = notes(metadata)
    total = None if source == "-" else sum(each.size for each in files)

    async def work(at: Target) -> "UploadResult":
        with progress("uploading", total, visible=form != "json") as advance:
            return await at.writable.upload(
                files, content_type=content_type, metadata=pairs, resume=resume, progress=advance
            )

    done = work_on(uri, work)
    if form == "json":
        skipped = {"skipped": done.skipped} if resume else {}
        show_record({"objects": done.objects, "bytes": done.bytes, **skipped}, form)
    else:
        what = printable(files[0].path) if len(files) == done.objects == 1 else count_noun(done.objects, "object")
        there = f", {done.skipped:,} already there" if resume else ""
        click.echo(f"uploaded {what} ({size(done.bytes)}){there}")


@verb("rm", "lochan fs rm -r demo@main/data/old/", changes=True)
@click.argument("where", metavar="REPO[@BRANCH]/PATH")
@click.option("-r", "--recursive", is_flag=True, help="Remove all objects in the folder PATH.")
@yes_option
def rm_command(where: str, recursive: bool, yes: bool, form: str) -> None:
    """Remove an object, or with -r a folder, from a branch.

    With -r it asks first on a terminal, and a script must give --yes. The whole folder is removed in one step.
    """
    uri = writable(prefix_uri(where) if recursive else object_uri(where))
    if recursive and not yes:
        confirm(f"Remove everything in {uri}?", f"{uri} was not removed")

    async def work(target: Target) -> int:
        if recursive:
            return (await target.writable.delete_folder(folder(uri.path))).objects
        if not await target.writable.delete(uri.path):
            raise NotFound(f"no object {uri}", hint="use -r to remove a whole folder").named(uri.path)
        return 1

    count = work_on(uri, work)
    if not count:
        raise NotFound(f"no objects in {uri}")
    show_answer(
        {"removed": count}, form, f"removed {printable(str(uri))}" + (f": {count} objects" if recursive else "")
    )
