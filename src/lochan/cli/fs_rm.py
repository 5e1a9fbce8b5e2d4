"""`lochan fs rm`: objects go from a branch; the history keeps them."""

import click

from lochan.cli.confirm import confirm
from lochan.cli.listed import folder
from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import object_uri, prefix_uri, writable
from lochan.errors import NotFound


@click.command("rm")
@click.argument("where", metavar="REPO[@BRANCH]/PATH")
@click.option("-r", "--recursive", is_flag=True, help="All objects in the folder PATH.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@request_key
@format_option
def command(where: str, recursive: bool, yes: bool, form: str) -> None:
    """Remove an object, or with -r a folder, from a branch.

    With -r it asks first on a terminal, and in a script wants --yes. All of the folder goes at once.

    \b
    Example:
      lochan fs rm -r demo@main/data/old/
    """
    uri = writable(prefix_uri(where) if recursive else object_uri(where))
    if recursive and not yes:
        confirm(f"Remove everything in {uri}?", f"{uri} was not removed")

    async def work(opened: Opened) -> int:
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


async def _remove_folder(opened: Opened, prefix: str) -> int:
    from lochan.versioning.copy import delete_folder

    return (await delete_folder(opened.repository, opened.ref, prefix, actor=opened.actor)).objects
