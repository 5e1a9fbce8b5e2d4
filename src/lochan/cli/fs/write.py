"""`lochan fs upload` and `rm`: objects come to a branch, and go."""

from typing import Any

import click

from lochan.cli.fs.listing import folder
from lochan.cli.open_ref import OpenRef, work_on
from lochan.cli.options.request_key import request_key
from lochan.cli.output.records import format_option, printable, show_record, size
from lochan.cli.prompt import confirm
from lochan.cli.uri import object_uri, prefix_uri, writable
from lochan.errors import NotFound


@click.command("upload")
@click.argument("source")
@click.argument("target", metavar="REPO[@BRANCH][/PATH]")
@click.option("-r", "--recursive", is_flag=True, help="SOURCE is a folder; all its files go into the folder PATH.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="A note kept with each object; may be repeated.")
@click.option("--content-type", metavar="TYPE", help="Such as text/csv; guessed from the name unless told.")
@click.option("--follow-links", is_flag=True, help="With a folder: take in what links lead to, wherever that is.")
@request_key
@format_option
def upload_command(
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
    from lochan.cli.fs.upload_files import Upload, sources
    from lochan.cli.options.values import notes
    from lochan.cli.output.progress import progress
    from lochan.cli.session import configuration, lake_place

    uri = writable(prefix_uri(target))
    lake = lake_place(configuration()).folder
    files = sources(source, uri.path, recursive=recursive, lake=lake, follow_links=follow_links)
    said = notes(metadata)
    total = None if source == "-" else sum(each.size for each in files)

    async def work(opened: OpenRef) -> int:
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


@click.command("rm")
@click.argument("where", metavar="REPO[@BRANCH]/PATH")
@click.option("-r", "--recursive", is_flag=True, help="All objects in the folder PATH.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@request_key
@format_option
def rm_command(where: str, recursive: bool, yes: bool, form: str) -> None:
    """Remove an object, or with -r a folder, from a branch.

    With -r it asks first on a terminal, and in a script wants --yes. All of the folder goes at once.

    \b
    Example:
      lochan fs rm -r demo@main/data/old/
    """
    uri = writable(prefix_uri(where) if recursive else object_uri(where))
    if recursive and not yes:
        confirm(f"Remove everything in {uri}?", f"{uri} was not removed")

    async def work(opened: OpenRef) -> int:
        opened.needs_files()
        if recursive:
            return await _remove_folder(opened, folder(uri.path))
        from lochan.versioning.objects import delete

        if not await delete(opened.repository, opened.ref, [uri.path], actor=opened.actor):
            raise NotFound(f"no object {uri}", hint="with -r a whole folder is removed").named(uri.path)
        return 1

    count = work_on(uri, work)
    if not count:
        raise NotFound(f"no objects in {uri}")
    if form == "json":
        show_record({"removed": count}, form)
    else:
        click.echo(f"removed {printable(str(uri))}" + (f": {count} objects" if recursive else ""))


async def _remove_folder(opened: OpenRef, prefix: str) -> int:
    from lochan.versioning.copying import delete_folder

    return (await delete_folder(opened.repository, opened.ref, prefix, actor=opened.actor)).objects
