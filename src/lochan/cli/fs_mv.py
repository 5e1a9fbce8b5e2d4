"""`lochan fs mv`: objects under other paths."""

from typing import Any

import click

from lochan.cli.fs_cp import folder_uris, same_repository, show_done, target_uri
from lochan.cli.object_record import object_record
from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option
from lochan.cli.uri import object_uri, writable
from lochan.errors import Invalid


@click.command("mv")
@click.argument("source", metavar="REPO[@BRANCH]/PATH")
@click.argument("target", metavar="REPO[@BRANCH]/PATH")
@click.option("-r", "--recursive", is_flag=True, help="All objects in the folder PATH, into the folder PATH.")
@request_key
@format_option
def command(source: str, target: str, recursive: bool, form: str) -> None:
    """Move an object, or with -r a folder, on one branch: nobody sees it twice, or nowhere.

    A target that ends with a slash is a folder.

    \b
    Example:
      lochan fs mv demo@main/a.csv demo@main/data/a.csv
    """
    one, other = folder_uris(source, target) if recursive else (object_uri(source), target_uri(source, target))
    writable(one)
    same_repository(one, other)

    async def work(opened: Opened) -> dict[str, Any]:
        from lochan.versioning.copy import move, move_folder

        opened.needs_files()
        if opened.ref_of(other) != opened.ref:
            raise Invalid(f"{one} and {other} are on different branches", hint="copy it, then remove the source")
        if recursive:
            done = await move_folder(opened.repository, opened.ref, one.path, other.path, actor=opened.actor)
            return {"objects": done.objects, "bytes": done.bytes}
        return object_record(await move(opened.repository, opened.ref, one.path, other.path, actor=opened.actor))

    show_done("moved", one, other, work_on(one, work), recursive, form)
